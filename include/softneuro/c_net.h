/* The C API's nets: load, import, save, run. c_api.h says how structs, strings and errors work. */
#ifndef SOFTNEURO_C_NET_H_
#define SOFTNEURO_C_NET_H_

#include "softneuro/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- nets --------------------------------------------------------------------------------------
 */

typedef struct sn_net sn_net;

/* A request to stop, which any thread may make at any time. It must stay alive until every call
 * that was given it has returned. */
typedef struct sn_cancel sn_cancel;
/* Errors: SN_OUT_OF_MEMORY. */
SN_API sn_status sn_cancel_create(sn_cancel** cancel);
/* Calls that were given it end with SN_CANCELLED, where RunOptions::cancel (session.h) says. Null
 * is ignored, here and below. */
SN_API void sn_cancel_request(sn_cancel* cancel);
/* Withdraws the request, so that the object can be used again; not while a call that was given it
 * runs. */
SN_API void sn_cancel_reset(sn_cancel* cancel);
SN_API void sn_cancel_free(sn_cancel* cancel);

typedef struct sn_net_options {
  size_t struct_size;
  /* Maximum number of threads that work for one caller, the calling thread included; 0: one for
   * each physical core that this process may use; at most 1024; negative: SN_INVALID_ARGUMENT.
   * Several callers at once share the workers: NetOptions::threads in net.h. */
  int32_t threads;
  int32_t verify;                    /* checksums of .dnn files: SN_VERIFY_FULL or ..._STRUCTURE */
  const sn_allocator* allocator;     /* null: the system's; NetOptions::allocator in net.h says for
                                        what */
  const sn_thread_pool* thread_pool; /* null: the library's own; else `threads` is ignored */
  sn_log_callback log;               /* warnings of loading, planning and tuning, too; null: none */
  void* log_context;
  const char* const* schemas; /* schemas for layers without a tuned choice (net.h); none: all;
                                 SN_INVALID_ARGUMENT for one that no routine here has. They restrict
                                 and do not convert: an untuned net is computed in the model's data
                                 types */
  size_t schema_count;
  /* Libraries with routines, by path, in order; "none": not the library's own plugins. An empty
   * list: SOFTNEURO_PLUGINS of the environment. If one cannot be loaded, the call fails. net.h says
   * more. */
  const char* const* plugins;
  size_t plugin_count;
  size_t max_plans; /* maximum number of plans that the net caches; 0: 8 */
  /* For imports alone; sn_net_load and sn_net_load_memory refuse the lists. */
  const sn_cancel* cancel; /* stops an import, which then gives SN_CANCELLED */
  /* Shapes for inputs with dynamic dimensions: all dimensions of each. The size of a symbol also
   * holds in the other inputs that name it; a contradiction is SN_INVALID_ARGUMENT. */
  const sn_shape* shapes;
  size_t shape_count;
  const char* const* disabled_passes; /* to disable, by name; "all": every one */
  size_t disabled_pass_count;
  /* Inputs that always have the same value, with their names: the net does not have them, and
   * branches that depend on them are settled (ImportOptions::constants in net.h). Copied. */
  const sn_tensor* constants;
  size_t constant_count;
  int32_t verify_import; /* 1: compare the graph after the passes with the model as it is written;
                          * SN_INTERNAL names the pass that changes it (ImportOptions::verify) */
  /* Where layers without a tuned choice run as far as there are routines for them: "cuda",
   * "cuda=1"; null, "" or "cpu": this processor (NetOptions::device in net.h). SN_NOT_FOUND if it
   * is not here. */
  const char* device;
  size_t device_memory; /* the most bytes on each device but the host; 0: as many as there are
                         * (NetOptions::device_memory) */
} sn_net_options;
#define SN_NET_OPTIONS_INIT SN_INIT(sn_net_options)

/* Options may be null everywhere. Loads a .dnn file; weights are mapped, not copied. Until the net
 * and all that comes from it is freed, the file may be replaced (renamed over, as sn_net_save does,
 * also of this net) or removed, but neither written in place nor truncated.
 * Errors, as of Net::load (net.h): SN_NOT_FOUND and SN_IO_ERROR (the file, a plugin),
 * SN_CORRUPT_FILE, SN_INCOMPATIBLE, SN_UNSUPPORTED, SN_INVALID_MODEL, SN_INVALID_ARGUMENT
 * (options), SN_OUT_OF_MEMORY, SN_DEVICE_FAILED (a plugin). */
SN_API sn_status sn_net_load(const char* path, const sn_net_options* options, sn_net** net);
/* From the bytes of a .dnn file. They must stay as they are until the net, its sessions and its
 * results are freed. Not copied where they are aligned to 64. Errors: as of sn_net_load. */
SN_API sn_status sn_net_load_memory(const void* data, size_t bytes, const sn_net_options* options,
                                    sn_net** net);
/* From a model file (.onnx). In libsoftneuro_import. Files with external data are mapped: for them
 * holds what sn_net_load says of its file.
 * Errors, as of Net::import (net.h): SN_NOT_FOUND and SN_IO_ERROR (a file), SN_INVALID_MODEL,
 * SN_UNSUPPORTED, SN_INVALID_ARGUMENT (options, a .dnn file), SN_OUT_OF_MEMORY, SN_CANCELLED; of
 * plugins as of sn_net_load. */
SN_API sn_status sn_net_import(const char* path, const sn_net_options* options, sn_net** net);
/* From a model in memory, which is not needed afterwards; external data is looked for in `folder`
 * (null: refused). In libsoftneuro_import. Errors: as of sn_net_import. */
SN_API sn_status sn_net_import_memory(const void* data, size_t bytes, const char* folder,
                                      const sn_net_options* options, sn_net** net);
/* Writes a .dnn file, whole or not at all; allowed during a tuning, and then writes the state
 * before it. Errors: SN_IO_ERROR, SN_UNSUPPORTED (larger than the format allows),
 * SN_INVALID_ARGUMENT (the net is from a packed_only file), SN_OUT_OF_MEMORY. */
SN_API sn_status sn_net_save(const sn_net* net, const char* path);

typedef struct sn_save_options {
  size_t struct_size;
  /* 1: also the weights, pre-packed in the memory layout of each kernel of this machine's tuned
   * paths. Loading then packs nothing; the file grows by about the size of the weights. */
  int32_t packed_weights;
  /* 1: these, and of the model's own weights only those that such a kernel reads. The file runs
   * where each kernel finds its packed weights (SaveOptions::packed_only), and cannot be tuned. */
  int32_t packed_only;
} sn_save_options;
#define SN_SAVE_OPTIONS_INIT SN_INIT(sn_save_options)
/* Errors: those of sn_net_save; SN_INVALID_ARGUMENT also for packed_only where no tuned path is for
 * this machine; with packed weights those of sn_net_prepare, too. */
SN_API sn_status sn_net_save_with(const sn_net* net, const char* path,
                                  const sn_save_options* options);
SN_API void sn_net_free(sn_net* net);

/* 0 for null. */
SN_API size_t sn_net_input_count(const sn_net* net);
SN_API size_t sn_net_output_count(const sn_net* net);
/* Fill in *info. SN_INVALID_ARGUMENT if `index` is not below the count. */
SN_API sn_status sn_net_input_info(const sn_net* net, size_t index, sn_tensor_info* info);
SN_API sn_status sn_net_output_info(const sn_net* net, size_t index, sn_tensor_info* info);

/* Plans ahead, so that sn_net_run on these shapes is quick from the first time on. Inputs whose
 * shape the model or the first tuned path fixes may be left out. Cannot be cancelled:
 * sn_session_create can, and plans likewise. Plan::describe (session.h) is not given in C; a trace
 * callback (c_session.h) names the routine of each layer. Errors: SN_NOT_FOUND (no such input),
 * SN_INVALID_ARGUMENT (a shape does not fit, or is missing), SN_INVALID_MODEL (a layer cannot take
 * these shapes), SN_UNSUPPORTED (no routine for a layer), SN_OUT_OF_MEMORY, SN_DEVICE_FAILED. */
SN_API sn_status sn_net_prepare(const sn_net* net, const sn_shape* shapes, size_t shape_count);

/* In bytes, but for sessions and plans. Of a net, or of a session's plan: session.h says how they
 * differ, and what is not counted. */
typedef struct sn_memory_report {
  size_t struct_size;
  size_t weights;        /* constants of the graph, mapped or not; not those that a packed_only
                            file lacks */
  size_t packed_weights; /* in the kernels' memory layouts, on the host; always of the whole net */
  size_t arena;          /* of one session on the host, output buffers included (session.h) */
  size_t arena_minimum;  /* lower bound of the arena without the output buffers (session.h) */
  size_t dynamic;        /* data-dependent shapes: what sessions took for them so far */
  size_t sessions;       /* idle sessions that the net keeps for sn_net_run */
  size_t plans;          /* plans that the net keeps */
  size_t device_arenas;  /* of one session on other devices */
  size_t device_packed_weights; /* on other devices; always of the whole net */
  size_t device_kept;           /* of a net: what devices keep for later: see sn_net_trim */
} sn_memory_report;
#define SN_MEMORY_REPORT_INIT SN_INIT(sn_memory_report)
/* Errors: SN_OUT_OF_MEMORY. */
SN_API sn_status sn_net_memory_report(const sn_net* net, sn_memory_report* report);
/* Frees what nobody uses: idle sessions that sn_net_run keeps, and memory of devices that was given
 * back and waits for its next use. Plans and packed weights stay. */
SN_API sn_status sn_net_trim(const sn_net* net);

/* --- tuned paths ---------------------------------------------------------------------------------
 */

/* One of the tuned paths that a net carries: one per machine, threads and shapes, in the order in
 * which they were made; one that replaces another has its place. The first gives sn_net_prepare the
 * shapes that are left out. Pointers are valid until the list is freed. */
typedef struct sn_tuned_path {
  size_t struct_size;
  const char* machine; /* processor, features, caches; devices that the path uses */
  int32_t threads;
  const sn_shape* shapes; /* of all inputs, in order of their names */
  size_t shape_count;
  const char* const* schemas; /* patterns that were allowed */
  size_t schema_count;
  double time_us;    /* of one run; 0: not measured */
  double untuned_us; /* of one run of the default plan, measured beside it */
  double error;      /* RMS(out - ref) / RMS(ref) against float32; 0: not measured */
} sn_tuned_path;
#define SN_TUNED_PATH_INIT SN_INIT(sn_tuned_path)

typedef struct sn_tuned_paths sn_tuned_paths;
/* A list of what the net carries now; later tuning does not change it. Errors: SN_OUT_OF_MEMORY. */
SN_API sn_status sn_net_tuned_paths(const sn_net* net, sn_tuned_paths** paths);
/* 0 for null. */
SN_API size_t sn_tuned_paths_count(const sn_tuned_paths* paths);
/* Fills in *path. SN_INVALID_ARGUMENT if `index` is not below the count. */
SN_API sn_status sn_tuned_paths_get(const sn_tuned_paths* paths, size_t index, sn_tuned_path* path);
SN_API void sn_tuned_paths_free(sn_tuned_paths* paths);

/* --- in one call: inputs in, result out ----------------------------------------------------------
 */

typedef struct sn_result sn_result;

/* Inputs in the net's order, or in any order if each carries its name.
 * Errors: those of sn_net_prepare; SN_INVALID_ARGUMENT also for an input that is missing, given
 * twice or of another data type, and for values that a layer cannot take; what a plugin's kernel
 * returns. */
SN_API sn_status sn_net_run(const sn_net* net, const sn_tensor* inputs, size_t input_count,
                            sn_result** result);
/* The same for chosen tensors: outputs and intermediate tensors, by name, in this order; an empty
 * list: the net's outputs, which are computed in any case. Run options
 * (c_session.h) may be null; their cancel stops the planning, too. Errors: those of sn_net_run;
 * SN_NOT_FOUND also for a tensor; SN_CANCELLED. */
struct sn_run_options;
SN_API sn_status sn_net_run_for(const sn_net* net, const sn_tensor* inputs, size_t input_count,
                                const char* const* outputs, size_t output_count,
                                const struct sn_run_options* options, sn_result** result);
/* Outputs in the net's order, or that of sn_net_run_for. 0 for null. */
SN_API size_t sn_result_count(const sn_result* result);
/* A view, valid until the result is freed. SN_INVALID_ARGUMENT if `index` is not below the count.
 */
SN_API sn_status sn_result_get(const sn_result* result, size_t index, sn_tensor* tensor);
/* The same by name; SN_NOT_FOUND if the result has none of it. */
SN_API sn_status sn_result_find(const sn_result* result, const char* name, sn_tensor* tensor);
SN_API void sn_result_free(sn_result* result);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SOFTNEURO_C_NET_H_ */
