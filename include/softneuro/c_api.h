/* The C API: nets from C, and from every language that can call C. C99; also valid C++.
 *
 * Compatibility. Functions, constants and members of structs are only ever appended. Every struct
 * begins with struct_size, which the caller sets to sizeof of the struct that it was compiled with
 * (the SN_..._INIT macros do); the library reads and writes no byte beyond. Members that a caller
 * does not know are taken as zero, and zero is always the default. A caller newer than the library
 * gets SN_INVALID_ARGUMENT if it sets a member that the library does not know. Elements of arrays
 * of structs lie struct_size of the first element apart, and all carry the same struct_size.
 *
 * Errors. Functions that can fail return a status; sn_last_error() then gives the message. It
 * belongs to the calling thread and stays until the next failing call of that thread: read it
 * before a green thread or coroutine may move to another one. A failing call leaves its results
 * (handles: null) as if it had not been made. A null pointer where an object is needed is
 * SN_INVALID_ARGUMENT, never a crash; the *_free functions ignore null.
 *
 * Threads. A net may be used by any number of threads at once. A session, and a result, by one at a
 * time. Different handles are independent, and may be freed in any order.
 *
 * Callbacks must return normally: no longjmp, no exception. What they are given is valid during
 * the call only, unless stated otherwise.
 */
#ifndef SOFTNEURO_C_API_H_
#define SOFTNEURO_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "softneuro/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SN_MAX_RANK 8

/* --- status ------------------------------------------------------------------------------------
 */

typedef int32_t sn_status;
enum {
  SN_OK = 0,
  SN_INVALID_ARGUMENT = 1, /* the caller's input is wrong: name, shape, data type, option */
  SN_INVALID_MODEL = 2,    /* a model or .dnn file contradicts itself */
  SN_UNSUPPORTED = 3,      /* meaningful, but nothing here can do it */
  SN_NOT_FOUND = 4,        /* a file, layer, tensor or routine of that name does not exist */
  SN_OUT_OF_MEMORY = 5,    /* an allocator refused */
  SN_IO_ERROR = 6,         /* the operating system refused a file operation */
  SN_CORRUPT_FILE = 7,     /* a file is truncated or its checksum does not match */
  SN_CANCELLED = 8,        /* the caller asked to stop */
  SN_INCOMPATIBLE = 9,     /* a file or plugin of another version */
  SN_INTERNAL = 10         /* a defect of SoftNeuro: please report it with the message */
};

/* One line for people: what failed, where, what to do. Empty if no call of this thread has failed.
 * Cut off after 1023 bytes. */
SN_API const char* sn_last_error(void);
/* "invalid_argument", ...; "unknown" for other numbers. Static. */
SN_API const char* sn_status_name(sn_status status);
/* "0.1.0". Static. */
SN_API const char* sn_version(void);

/* --- tensors -----------------------------------------------------------------------------------
 */

typedef int32_t sn_data_type;
enum {
  SN_UNDEFINED = 0,
  SN_FLOAT32 = 1,
  SN_FLOAT16 = 2,  /* IEEE 754 binary16 */
  SN_BFLOAT16 = 3, /* upper half of a float32 */
  SN_FLOAT64 = 4,
  SN_INT8 = 5,
  SN_UINT8 = 6,
  SN_INT16 = 7,
  SN_UINT16 = 8,
  SN_INT32 = 9,
  SN_UINT32 = 10,
  SN_INT64 = 11,
  SN_UINT64 = 12,
  SN_BOOLEAN = 13, /* one byte, 0 or 1 */
  SN_QINT8 = 14    /* 8 bits that mean scale * (q - zero_point) */
};

/* Bytes of one element; 0 for undefined and unknown ones. */
SN_API size_t sn_data_type_size(sn_data_type type);
/* "float32", ...; "undefined". Static. */
SN_API const char* sn_data_type_name(sn_data_type type);

/* A view of the caller's or the library's memory: row-major in the order of dims, without gaps,
 * aligned to the element size at least. Owns nothing. */
typedef struct sn_tensor {
  size_t struct_size;
  const char* name; /* given to the library: null, or must be that of the input or output */
  sn_data_type data_type;
  int32_t rank; /* 0: a scalar */
  int64_t dims[SN_MAX_RANK];
  void* data;   /* the library never writes through those of inputs */
  size_t bytes; /* of all elements */
} sn_tensor;

/* What is known of an input or output. Pointers are valid as long as the handle that was asked. */
typedef struct sn_tensor_info {
  size_t struct_size;
  const char* name;
  sn_data_type data_type;
  int32_t rank;                     /* -1: not known before a run */
  int64_t dims[SN_MAX_RANK];        /* -1: not known before a run, or chosen by the caller */
  const char* symbols[SN_MAX_RANK]; /* "batch", ...; equal symbols are equal sizes; null: none */
} sn_tensor_info;

/* The shape to plan for one input. */
typedef struct sn_shape {
  size_t struct_size;
  const char* name;
  int32_t rank;
  int64_t dims[SN_MAX_RANK];
} sn_shape;

#define SN_TENSOR_INIT \
  { sizeof(sn_tensor), 0, 0, 0, {0}, 0, 0 }
#define SN_TENSOR_INFO_INIT                 \
  {                                         \
    sizeof(sn_tensor_info), 0, 0, 0, {0}, { \
      0                                     \
    }                                       \
  }
#define SN_SHAPE_INIT         \
  {                           \
    sizeof(sn_shape), 0, 0, { \
      0                       \
    }                         \
  }

/* --- what a host may bring -----------------------------------------------------------------------
 */

/* Memory for tensors, weights and arenas. Copied when it is given: the functions and the context
 * must stay valid until every handle made with it is freed. Called from any thread. */
typedef struct sn_allocator {
  size_t struct_size;
  void* context;
  /* At least `bytes` (> 0) bytes aligned to `alignment` (a power of two), or null. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* pointer, size_t bytes);
} sn_allocator;

/* The host's threads. Copied, and valid for as long, as an allocator. */
typedef struct sn_thread_pool {
  size_t struct_size;
  void* context;
  /* The most threads that work at once for one caller, the calling thread included (>= 1). */
  int32_t (*concurrency)(void* context);
  /* Calls task(task_context, i) exactly once for each i in [0, count), in any order and on any
   * thread, and returns when all are done. May be called by several threads at once, and from
   * within a task. */
  void (*run)(void* context, size_t count, void (*task)(void* task_context, size_t index),
              void* task_context);
} sn_thread_pool;

typedef int32_t sn_log_level;
enum { SN_LOG_DEBUG = 0, SN_LOG_INFO = 1, SN_LOG_WARNING = 2 };
/* Called from any thread that uses the net. */
typedef void (*sn_log_callback)(void* context, sn_log_level level, const char* message);

enum {
  SN_VERIFY_FULL = 0,     /* every byte of a .dnn file is compared with its checksum */
  SN_VERIFY_STRUCTURE = 1 /* header and graph are; weights are not read before they are needed */
};

/* --- nets --------------------------------------------------------------------------------------
 */

typedef struct sn_net sn_net;

/* A request to stop, which any thread may make at any time. It must outlive the calls that look at
 * it. */
typedef struct sn_cancel sn_cancel;
SN_API sn_status sn_cancel_create(sn_cancel** cancel);
SN_API void sn_cancel_request(sn_cancel* cancel);
SN_API void sn_cancel_reset(sn_cancel* cancel);
SN_API void sn_cancel_free(sn_cancel* cancel);

typedef struct sn_net_options {
  size_t struct_size;
  int32_t
      threads; /* the most that work for this net, the caller's included; 0: one per processor */
  int32_t verify;
  const sn_allocator* allocator;     /* null: the system's */
  const sn_thread_pool* thread_pool; /* null: the library's own; else `threads` is ignored */
  sn_log_callback log;
  void* log_context;
  const char* const* schemas; /* patterns of schemas that routines may have; none: all */
  size_t schema_count;
  const char* const* plugins; /* libraries with routines, in order */
  size_t plugin_count;
  size_t max_plans;        /* plans for other shapes that sn_net_run keeps; 0: 8 */
  const sn_cancel* cancel; /* stops an import, which then gives SN_CANCELLED */
} sn_net_options;
#define SN_NET_OPTIONS_INIT \
  { sizeof(sn_net_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Options may be null everywhere. Loads a .dnn file; weights are mapped, not copied. */
SN_API sn_status sn_net_load(const char* path, const sn_net_options* options, sn_net** net);
/* From the bytes of a .dnn file. They must stay as they are until the net, its sessions and its
 * results are freed. Not copied where they are aligned to 64. */
SN_API sn_status sn_net_load_memory(const void* data, size_t bytes, const sn_net_options* options,
                                    sn_net** net);
/* From a model file (.onnx). In libsoftneuro_import. */
SN_API sn_status sn_net_import(const char* path, const sn_net_options* options, sn_net** net);
/* From a model in memory, which is not needed afterwards; external data is looked for in `folder`
 * (null: refused). In libsoftneuro_import. */
SN_API sn_status sn_net_import_memory(const void* data, size_t bytes, const char* folder,
                                      const sn_net_options* options, sn_net** net);
/* Writes a .dnn file, whole or not at all. */
SN_API sn_status sn_net_save(const sn_net* net, const char* path);
SN_API void sn_net_free(sn_net* net);

/* 0 for null. */
SN_API size_t sn_net_input_count(const sn_net* net);
SN_API size_t sn_net_output_count(const sn_net* net);
SN_API sn_status sn_net_input_info(const sn_net* net, size_t index, sn_tensor_info* info);
SN_API sn_status sn_net_output_info(const sn_net* net, size_t index, sn_tensor_info* info);

/* Plans ahead, so that sn_net_run on these shapes is quick from the first time on. Inputs whose
 * shape the model fixes may be left out. */
SN_API sn_status sn_net_prepare(const sn_net* net, const sn_shape* shapes, size_t shape_count);

/* In bytes, but for the last two. */
typedef struct sn_memory_report {
  size_t struct_size;
  size_t weights;        /* constants as loaded; mapped files count here */
  size_t packed_weights; /* copies in the order of the kernels */
  size_t arena;          /* activations and workspace of one session */
  size_t arena_minimum;  /* the most that is alive at one time: no plan needs less */
  size_t dynamic;        /* grown so far for shapes that depend on data */
  size_t sessions;       /* idle sessions that the net keeps for sn_net_run */
  size_t plans;          /* plans that the net keeps */
} sn_memory_report;
#define SN_MEMORY_REPORT_INIT \
  { sizeof(sn_memory_report), 0, 0, 0, 0, 0, 0, 0 }
SN_API sn_status sn_net_memory_report(const sn_net* net, sn_memory_report* report);

/* --- the simple way: inputs in, result out -------------------------------------------------------
 */

typedef struct sn_result sn_result;

/* Inputs in the net's order, or in any order if each carries its name. */
SN_API sn_status sn_net_run(const sn_net* net, const sn_tensor* inputs, size_t input_count,
                            sn_result** result);
/* Outputs in the net's order. 0 for null. */
SN_API size_t sn_result_count(const sn_result* result);
/* A view, valid until the result is freed. */
SN_API sn_status sn_result_get(const sn_result* result, size_t index, sn_tensor* tensor);
SN_API void sn_result_free(sn_result* result);

/* --- sessions: one thread's memory over one plan ------------------------------------------------
 */

typedef struct sn_session sn_session;

typedef struct sn_session_options {
  size_t struct_size;
  const sn_allocator* allocator;    /* for the arena; null: the net's */
  const char* const* extra_outputs; /* inner tensors, given behind the net's own outputs */
  size_t extra_output_count;
  const sn_cancel* cancel; /* stops the planning, which then gives SN_CANCELLED */
} sn_session_options;
#define SN_SESSION_OPTIONS_INIT \
  { sizeof(sn_session_options), 0, 0, 0, 0 }

/* For given input shapes (null and 0 where the model fixes all of them). The net may be freed
 * before its sessions. */
SN_API sn_status sn_session_create(const sn_net* net, const sn_shape* shapes, size_t shape_count,
                                   const sn_session_options* options, sn_session** session);
SN_API void sn_session_free(sn_session* session);

/* As for nets, with the shapes that were planned. */
SN_API size_t sn_session_input_count(const sn_session* session);
SN_API size_t sn_session_output_count(const sn_session* session);
SN_API sn_status sn_session_input_info(const sn_session* session, size_t index,
                                       sn_tensor_info* info);
SN_API sn_status sn_session_output_info(const sn_session* session, size_t index,
                                        sn_tensor_info* info);
/* Of the session's plan. */
SN_API sn_status sn_session_memory_report(const sn_session* session, sn_memory_report* report);

/* One step that has just run. Names are valid as long as the session. */
typedef struct sn_step_trace {
  size_t struct_size; /* set by the library */
  size_t index;       /* in the order of the plan */
  size_t count;       /* steps of the plan */
  const char* layer;
  const char* layer_type;
  const char* routine; /* descriptor */
  int64_t begin_ns;    /* of a steady clock */
  int64_t end_ns;
} sn_step_trace;
typedef void (*sn_trace_callback)(void* context, const sn_step_trace* step);

typedef struct sn_run_options {
  size_t struct_size;
  const sn_cancel* cancel; /* the run then gives SN_CANCELLED; looked at between
                              layers and within long ones (but not those of oneDNN and XNNPACK) */
  sn_trace_callback trace; /* called on the running thread after each step */
  void* trace_context;
} sn_run_options;
#define SN_RUN_OPTIONS_INIT \
  { sizeof(sn_run_options), 0, 0, 0 }

/* Runs the net. Inputs and outputs in the session's order, all of them, with the planned data types
 * and shapes; inputs are read in place. An output with data is written in place. An output without
 * (data null; its other members but struct_size and name are ignored) becomes a view of the
 * session's memory, valid until the next run. Inputs and outputs must not overlap. Allocates
 * nothing where no shape depends on data. */
SN_API sn_status sn_session_run(sn_session* session, const sn_tensor* inputs, size_t input_count,
                                sn_tensor* outputs, size_t output_count,
                                const sn_run_options* options);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SOFTNEURO_C_API_H_ */
