/* The C API's sessions: one thread's memory over one plan. c_api.h says how structs, strings and
 * errors work. */
#ifndef SOFTNEURO_C_SESSION_H_
#define SOFTNEURO_C_SESSION_H_

#include "softneuro/c_net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- sessions: one thread's memory over one plan ------------------------------------------------
 */

typedef struct sn_session sn_session;

/* An input or output that the caller has on a device ("cuda"): Net::plan in net.h. */
typedef struct sn_tensor_place {
  size_t struct_size;
  const char* name;
  const char* device;
} sn_tensor_place;
#define SN_TENSOR_PLACE_INIT SN_INIT(sn_tensor_place)

typedef struct sn_session_options {
  size_t struct_size;
  const sn_allocator* allocator; /* for the arena, and, during runs, for tensors and workspace whose
                                    size depends on data; null: the net's */
  const char* const* extra_outputs; /* intermediate tensors, appended to the net's own outputs; a
                                       name that is an output already adds none */
  size_t extra_output_count;
  const sn_cancel* cancel; /* stops the planning, which then gives SN_CANCELLED */
  /* Inputs and outputs that are on a device, also after sn_session_set_shapes; all others are on
   * the host. SN_NOT_FOUND: no such tensor or device; SN_UNSUPPORTED: an output that cannot be
   * there. */
  const sn_tensor_place* places;
  size_t place_count;
} sn_session_options;
#define SN_SESSION_OPTIONS_INIT SN_INIT(sn_session_options)

/* For given input shapes (null and 0 where the model, or the net's first tuned path, fixes all of
 * them). The net may be freed before its sessions. Errors: those of sn_net_prepare; SN_NOT_FOUND
 * also for an extra output; SN_CANCELLED. */
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
/* Of the session's plan; `dynamic` (data-dependent shapes) is that of this session.
 * Errors: SN_OUT_OF_MEMORY. */
SN_API sn_status sn_session_memory_report(const sn_session* session, sn_memory_report* report);

/* One step that has just run. Names are valid as long as the session keeps its shapes; with
 * sn_net_run_for during the call only. */
typedef struct sn_step_trace {
  size_t struct_size; /* set by the library */
  size_t index;       /* in the order of the plan */
  size_t count;       /* steps of the plan */
  const char* layer;
  const char* layer_type;
  const char* routine; /* descriptor; "chosen at run time" where shapes depend on data */
  int64_t begin_ns;    /* of a steady clock */
  int64_t end_ns;
} sn_step_trace;
typedef void (*sn_trace_callback)(void* context, const sn_step_trace* step);

typedef struct sn_run_options {
  size_t struct_size;
  const sn_cancel* cancel; /* the run then gives SN_CANCELLED; checked between layers and inside
                              long built-in kernels (session.h) */
  sn_trace_callback trace; /* called on the running thread after each step, in order */
  void* trace_context;
} sn_run_options;
#define SN_RUN_OPTIONS_INIT SN_INIT(sn_run_options)

/* Runs the net. Inputs and outputs in the session's order, all of them, with the planned data types
 * and shapes; inputs are read in place. An output with data is written in place. Exceptions, copied
 * after the last step: an output that is an input, a constant, a duplicate of another output, or a
 * view of one of these, or whose shape depends on data (checked after the run, which then fails).
 * An output without (data null; its other members but struct_size and name are ignored) becomes a
 * view of the session's memory, valid until the next run, sn_session_set_shapes or sn_session_free.
 * Such a view counts as an output with data if it is passed again: set its data to null after
 * sn_session_set_shapes, and where the shape depends on data, since its memory may be gone.
 * Inputs and outputs must not overlap. Allocates nothing where no shape depends on data and oneDNN
 * computes no layer (docs/plugins.md).
 * Errors: SN_INVALID_ARGUMENT (number, name, data type or shape of a tensor; a run is in flight;
 * values that a layer cannot take, such as an index out of range), SN_CANCELLED, SN_DEVICE_FAILED,
 * what a plugin's kernel returns; with data-dependent shapes also SN_OUT_OF_MEMORY,
 * SN_INVALID_MODEL, SN_UNSUPPORTED. The session stays usable; outputs are undefined. */
SN_API sn_status sn_session_run(sn_session* session, const sn_tensor* inputs, size_t input_count,
                                sn_tensor* outputs, size_t output_count,
                                const sn_run_options* options);

/* --- by name -------------------------------------------------------------------------------------
 */

/* Binds a tensor to the input that it names, for all runs to come of sn_session_run_bound. The
 * memory stays the caller's, must stay valid, and is read anew by each run.
 * SN_NOT_FOUND: no such input; SN_INVALID_ARGUMENT: no name (null), another data type or shape, a
 * run is in flight. */
SN_API sn_status sn_session_set_input(sn_session* session, const sn_tensor* tensor);
/* Likewise an output, with the same errors, written as by sn_session_run; data null: the session's
 * memory, as at first. A shape that depends on data is checked after the run, which then fails
 * (SN_INVALID_ARGUMENT). */
SN_API sn_status sn_session_set_output(sn_session* session, const sn_tensor* tensor);
/* Runs on what is bound; all else as for sn_session_run. SN_INVALID_ARGUMENT if an input is not. */
SN_API sn_status sn_session_run_bound(sn_session* session, const sn_run_options* options);
/* What the last sn_session_run_bound, or sn_session_run_async and sn_session_wait, gave under that
 * name: a view, valid until the next run, sn_session_set_shapes or sn_session_free.
 * SN_NOT_FOUND: no such output; SN_INVALID_ARGUMENT: no such run, it failed, or is in flight. */
SN_API sn_status sn_session_output(const sn_session* session, const char* name, sn_tensor* tensor);

/* --- asynchronously ------------------------------------------------------------------------------
 */

/* Like sn_session_run_bound, but returns while other devices are at work: their steps are put into
 * their streams. Steps on the host are computed by the call itself; before one that reads what a
 * device writes, it waits. So everything has been computed when it returns if all layers run on the
 * host; likewise with a trace, which waits for all steps. The options, and what they point to, are
 * used by this call alone, not by sn_session_wait.
 * Afterwards a run is in flight, until sn_session_wait: what is bound must stay valid, inputs must
 * not be written, outputs neither read nor written. Meanwhile all calls that run the session, bind,
 * change its shapes or give an output are SN_INVALID_ARGUMENT, and change nothing. Freeing the
 * session waits for the streams first.
 * An error, SN_CANCELLED included: the streams are empty, no run is in flight, and the session
 * stays usable. */
SN_API sn_status sn_session_run_async(sn_session* session, const sn_run_options* options);
/* Waits for the run in flight and completes its outputs; sn_session_output gives them then.
 * Returns the first error that a stream reported, else that of completing the outputs. In either
 * case no run is in flight afterwards. SN_INVALID_ARGUMENT if none was. */
SN_API sn_status sn_session_wait(sn_session* session);

/* --- other shapes --------------------------------------------------------------------------------
 */

/* Switches the session to other shapes, which the net plans, or has planned before (max_plans).
 * Inputs whose shape the model or the first tuned path fixes may be left out. The host's arena
 * stays if it is large enough; otherwise, and on other devices, the new one is allocated before the
 * old one is freed. What was bound has to be bound anew, and what sn_session_input_info and
 * sn_session_output_info gave is no longer valid. Cancel may be null. Errors: those of
 * sn_session_create; SN_INVALID_ARGUMENT also while a run is in flight. After an error the session
 * is as before. */
SN_API sn_status sn_session_set_shapes(sn_session* session, const sn_shape* shapes,
                                       size_t shape_count, const sn_cancel* cancel);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SOFTNEURO_C_SESSION_H_ */
