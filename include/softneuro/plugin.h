// Out-of-tree routines: the binary interface of SoftNeuro's plugins. C99; includes plugin_host.h
// alone.
//
// A plugin is a shared library that exports sn_plugin_entry. It links nothing of SoftNeuro and is
// loaded only where an application names it: NetOptions::plugins, or SOFTNEURO_PLUGINS in the
// environment. examples/plugin/ is a complete one.
//
// A routine is one way to compute one type of layer. Per layer the runtime calls `applicable`,
// chooses one of the routines that apply (by measuring, or by default_rank), and then calls
//   analyse → default_params → pack_bytes, pack → create → run … run → destroy, and release.
// A tuner asks `propose` for parameters between these, measures a kernel for each, and tells the
// times with the next question. What was packed serves all kernels of the layer with equal
// parameters; after a tuning it is packed anew.
//
// Versions. SN_PLUGIN_ABI_VERSION is raised only when older plugins can no longer be loaded. Until
//   then structs grow at their ends: each begins with its size in bytes, as its owner was compiled,
//   and a field beyond it is absent: the runtime reads it as zero. No field is removed
//   or changed.
// Ownership. Nothing that one side allocates is freed by the other. What a pointer parameter
//   points to is valid during the call, unless it says otherwise. The plugin's tables and their
//   texts stay valid while the library is loaded: from dlopen until the last net, plan and session
//   made with it is gone.
// Threads. All functions may be called from several threads at once, also on one routine or
//   kernel. Threads that a plugin starts itself must have ended when the library is unloaded.
// Errors. A function that can fail returns SN_PLUGIN_OK or another status and then writes one
//   human-readable line into `message`: UTF-8 that ends with a 0, at most message_size bytes with
//   it (512); say what was found and what is wanted. The runtime adds the names of layer, routine
//   and plugin. A status beyond SN_PLUGIN_INTERNAL, or a negative one, counts as that; those
//   between without a name here mean what status.h says. No C++ exception and no longjmp may leave
//   the plugin; it must not print, exit or abort.
#ifndef SOFTNEURO_PLUGIN_H
#define SOFTNEURO_PLUGIN_H

#include "softneuro/plugin_host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sn_plugin_routine sn_plugin_routine;
// `self` is the plugin's own table entry. Functions marked optional may be NULL.
struct sn_plugin_routine {
  uint32_t struct_size;
  int32_t version;  // raised whenever results or speed may change
  // Where nothing is measured: of the routines that apply in one layout, that of the highest rank
  // is taken. A plugin's counts as free of cost if its rank is above 0, so that its layout (plain
  // or channels-last) is preferred, conversions counted. cpu/naive has 0, built-in ones up to 40;
  // negative: where nothing is measured only if no other applies.
  int32_t default_rank;
  const char* layer_type;  // "dense": `softneuro inspect` and the documentation list them
  // "cpu[:data_type[:layout]]/algorithm". data_type: float32, float16, bfloat16, qint8 …; layout:
  // plain, nhwc (channels last, of any rank), nchw<B>c; the algorithm in a-z, 0-9 and _,
  // unique within this layer type. Constants come plain, in the model's type; integers, booleans
  // and float64 keep theirs. Other tensors come in this layout (plain if their rank is below 3)
  // and, on tuned paths, in this type (left out: float32); in plans that are not tuned, in the
  // model's types. Quantised tensors come only if the type is qint8, and layouts have been checked.
  // `applicable` must check the data type of each tensor, constants included.
  const char* descriptor;

  // 1 if the routine computes the problem correctly, whatever the speed; else 0 and the reason, one
  // short sentence that `explain` shows (a text like `message`). Asked for each layer and format of
  // every plan: cheap, without effects, and the same each time.
  int32_t (*applicable)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                        char* reason, size_t reason_size);
  // Optional: 1 if the kernel does the problem's post-ops too. Without, the runtime applies them
  // after the kernel, and the routine sees problems without post-ops only.
  int32_t (*supports_post_ops)(const sn_plugin_routine* self, const sn_plugin_problem* problem);
  // Optional: sets the routine's own parameters for a problem (a tile size), in constant time.
  // Where nothing is tuned, pack and create get these.
  void (*default_params)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                         sn_plugin_params* params);
  // Optional, both or none: constants pre-packed in the kernel's memory layout, made once and
  // shared by all kernels of a layer whose routine parameters are equal. So they must not depend on
  // inputs that are not constant, nor on their shapes, but through those parameters. *bytes is
  // initialised to 0; if it stays 0, nothing is packed. pack_bytes is called more than once for one
  // packing, and gives the same number each time. pack writes every byte of `packed`, whose
  // contents are undefined before (files store them), and which is aligned to SN_PLUGIN_ALIGNMENT.
  sn_plugin_status (*pack_bytes)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                 const sn_plugin_params* params, size_t* bytes, char* message,
                                 size_t message_size);
  sn_plugin_status (*pack)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                           const sn_plugin_params* params, void* packed, size_t bytes,
                           char* message, size_t message_size);
  // Fills in *kernel. `packed` (NULL if nothing is) stays valid until destroy, which is not called
  // after an error: `create` then frees what it made.
  sn_plugin_status (*create)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                             const sn_plugin_params* params, const void* packed,
                             size_t packed_bytes, sn_plugin_kernel* kernel, char* message,
                             size_t message_size);
  // Optional: frees what `create` made; called once for each kernel that it made.
  void (*destroy)(const sn_plugin_routine* self, sn_plugin_kernel* kernel);
  // Computes the outputs. Allocates nothing, and leaves the floating-point environment as it was.
  // Everything was checked before but what depends on data (an index out of range: an error).
  sn_plugin_status (*run)(const sn_plugin_routine* self, const sn_plugin_kernel* kernel,
                          const sn_plugin_context* context, char* message, size_t message_size);

  // Optional: what takes a while to find out about a problem that the routine applies to (choices
  // of a library, generated code) and is found out once: the functions above get it in
  // problem->analysis, but for applicable and supports_post_ops. It may be used by several threads
  // at once. An error with status SN_PLUGIN_UNSUPPORTED: the routine does not apply after all.
  sn_plugin_status (*analyse)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                              void** analysis, char* message, size_t message_size);
  // Optional: frees what `analyse` made, when neither layer nor tuner needs it. Kernels may live
  // longer.
  void (*release)(const sn_plugin_routine* self, void* analysis);

  // Optional, both or none: a parameter space. `propose` writes what a tuner should measure next
  // over `params`, which hold the default, and returns 1; or returns 0: nothing more is worth it.
  // `trials` are those tried so far, the default first. The same trials lead to the same proposal;
  // one that was tried ends the search. A tuner asks at most some ten times per problem.
  int32_t (*propose)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                     const sn_plugin_trial* const* trials, size_t trial_count,
                     sn_plugin_params* params);
  // 1 if pack and create take `params`, which may come from a file and are of the default's names
  // and kinds; else 0 and the reason. Not asked about the default.
  int32_t (*accepts)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                     const sn_plugin_params* params, char* reason, size_t reason_size);

  // Optional: the routine is a childnet, a net of layers that have routines of their own, which a
  // tuner chooses one by one. Adds the layers in topological order, and writes the tensors that are
  // the problem's outputs to outputs[0 … output_count-1]. Tensors inside have the descriptor's
  // layout where they have three dimensions or more. What depends on constants alone is computed
  // once, ahead of runs. Of the functions above it goes with `applicable` and default_params.
  sn_plugin_status (*build)(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                            const sn_plugin_params* params, sn_plugin_net* net, int32_t* outputs,
                            char* message, size_t message_size);
};

typedef struct sn_plugin {
  uint32_t struct_size;
  uint32_t abi_version;  // SN_PLUGIN_ABI_VERSION; first two fields: the same in every ABI version
  const char* name;      // for messages
  const char* version;   // the plugin's own
  uint32_t routine_count;
  const sn_plugin_routine* const* routines;
} sn_plugin;

#if defined(_WIN32)
#define SN_PLUGIN_EXPORT __declspec(dllexport)
#else
#define SN_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

// The one function that a plugin exports; its signature is the same in every ABI version. Called
// for each net, and again while one is tuned or saved packed: on any thread. It returns
// - the plugin's table, also to a runtime of another ABI version, which then reports the mismatch;
// - NULL, and writes the reason into `message`, to make loading fail.
// If only hardware is missing, it returns the table, and `applicable` refuses.
SN_PLUGIN_EXPORT const sn_plugin* sn_plugin_entry(const sn_plugin_host* host, char* message,
                                                  size_t message_size);

#ifdef __cplusplus
}
#endif

#endif  // SOFTNEURO_PLUGIN_H
