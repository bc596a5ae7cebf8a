// What the runtime shows plugins and does for them: a part of plugin.h, which says how the two work
// together, and who owns what.
#ifndef SOFTNEURO_PLUGIN_HOST_H
#define SOFTNEURO_PLUGIN_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SN_PLUGIN_ABI_VERSION 1
#define SN_PLUGIN_MAX_RANK 8
// What workspace and packed weights are aligned to.
#define SN_PLUGIN_ALIGNMENT 64

typedef int32_t sn_plugin_status;
enum {
  SN_PLUGIN_OK = 0,
  SN_PLUGIN_INVALID_ARGUMENT = 1,  // the caller's tensors are wrong (an index out of range)
  SN_PLUGIN_INVALID_MODEL = 2,     // the layer is malformed or inconsistent
  SN_PLUGIN_UNSUPPORTED = 3,       // valid, but not supported by this build or on this machine
  SN_PLUGIN_NOT_FOUND = 4,         // something that the routine needs is not there
  SN_PLUGIN_OUT_OF_MEMORY = 5,
  SN_PLUGIN_IO_ERROR = 6,
  SN_PLUGIN_INTERNAL = 10  // a bug in the plugin
};

enum {
  SN_PLUGIN_UNDEFINED = 0,  // an optional tensor that is left out
  SN_PLUGIN_FLOAT32 = 1,
  SN_PLUGIN_FLOAT16 = 2,
  SN_PLUGIN_BFLOAT16 = 3,
  SN_PLUGIN_FLOAT64 = 4,
  SN_PLUGIN_INT8 = 5,
  SN_PLUGIN_UINT8 = 6,
  SN_PLUGIN_INT16 = 7,
  SN_PLUGIN_UINT16 = 8,
  SN_PLUGIN_INT32 = 9,
  SN_PLUGIN_UINT32 = 10,
  SN_PLUGIN_INT64 = 11,
  SN_PLUGIN_UINT64 = 12,
  SN_PLUGIN_BOOLEAN = 13,  // one byte, 0 or 1
  SN_PLUGIN_QINT8 = 14     // 8 bits that mean scale * (q - zero_point); sn_plugin_spec::is_signed
};

// How a tensor's dimensions N, C, spatial... are stored. Its dims are always in that order.
// SN_PLUGIN_LAYOUT(order, block): an order of the dimensions, and channels per block; 1: no blocks.
// nchw<B>c, B from 2 to SN_PLUGIN_MAX_BLOCK, is SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, B): N, ceil(C/B),
// spatial..., B; a kernel writes the lanes beyond C as zero bytes, in qint8, too.
#define SN_PLUGIN_LAYOUT(order, block) ((order) + (((block)-1) << 8))
#define SN_PLUGIN_BLOCK_OF(layout) (((layout) >> 8) + 1)
#define SN_PLUGIN_MAX_BLOCK 1024
enum {
  SN_PLUGIN_PLAIN = 0,          // row-major
  SN_PLUGIN_CHANNELS_LAST = 1,  // N, spatial..., C; without blocks
  SN_PLUGIN_NCHW8C = SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, 8),
  SN_PLUGIN_NCHW16C = SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, 16)
};

// The runtime that loads the plugin (not the host of a device), as a table of functions.
typedef struct sn_plugin_host sn_plugin_host;
// Named values: a layer's parameters, or a routine's own. Opaque.
typedef struct sn_plugin_params sn_plugin_params;
// The net inside of a routine, while `build` adds its layers. Opaque.
typedef struct sn_plugin_net sn_plugin_net;

// --- the problem: what a routine may look at before it says whether it applies -------------------

// An input or output of a problem.
typedef struct sn_plugin_spec {
  uint32_t struct_size;  // set by the plugin before the call; the runtime fills what fits
  int32_t type;          // SN_PLUGIN_UNDEFINED: left out, and nothing else below means anything
  int32_t layout;
  int32_t rank;  // 0: a scalar
  int64_t dims[SN_PLUGIN_MAX_RANK];
  int32_t is_constant;  // weights: the value never changes
  // The value, in the plain layout: of constants, and of inputs whose values shape the work (the
  // shape of `reshape`); else NULL.
  const void* data;
  size_t bytes;  // of data
  // Of a quantised tensor: one scale and zero point, or one per index of an axis.
  uint32_t scale_count;  // 0: the tensor is not quantised
  int32_t scale_axis;    // -1: one for the tensor
  int32_t is_signed;     // whether its 8 bits are
  const float* scales;
  const int32_t* zero_points;  // as many
} sn_plugin_spec;

// What is to be done to output 0, element by element, after the layer's own work.
typedef struct sn_plugin_post_op {
  uint32_t struct_size;  // set by the plugin before the call; the runtime fills what fits
  int32_t is_binary;     // 0: y = op(y; alpha, beta); 1: y = op(y, x)
  const char* op;        // as in the layer types unary and binary: "relu", "clip", "add". A static
                         // string of the runtime, never freed
  float alpha;
  float beta;
  uint32_t input;      // binary: x is this input of the problem; it broadcasts to y
  int32_t is_swapped;  // binary: y = op(x, y)
} sn_plugin_post_op;

// A layer with concrete shapes. Made and owned by the runtime; valid during the call.
typedef struct sn_plugin_problem {
  uint32_t struct_size;
  uint32_t input_count;        // the layer type's own inputs, then those of post-ops
  uint32_t own_input_count;    // omitted optional inputs included
  uint32_t output_count;       // likewise
  uint32_t post_op_count;      // 0 unless the routine said supports_post_ops
  const sn_plugin_host* host;  // runtime functions
  const char* layer_type;
  const char* layer_name;          // for messages
  const sn_plugin_params* params;  // the layer's parameters, complete: defaults are filled in
  void* analysis;  // what sn_plugin_routine::analyse made of this problem, else NULL
} sn_plugin_problem;

// Parameters of a routine that were measured.
typedef struct sn_plugin_trial {
  uint32_t struct_size;
  const sn_plugin_params* params;
  double time_us;  // of one run; infinity: not measured, it failed, or its results are wrong
} sn_plugin_trial;

// --- running -------------------------------------------------------------------------------------

typedef struct sn_plugin_tensor {
  uint32_t struct_size;
  int32_t type;  // SN_PLUGIN_UNDEFINED: left out
  int32_t layout;
  int32_t rank;
  int64_t dims[SN_PLUGIN_MAX_RANK];
  // Aligned to the element only, not to SN_PLUGIN_ALIGNMENT. Of an input: read only. May be NULL
  // where there is no element.
  void* data;
} sn_plugin_tensor;

// What a running kernel may touch. Owned by the runtime; valid during the call.
typedef struct sn_plugin_context {
  uint32_t struct_size;
  uint32_t input_count;  // as in the problem
  uint32_t output_count;
  const sn_plugin_host* host;
  const sn_plugin_tensor* const* inputs;
  const sn_plugin_tensor* const* outputs;
  void* workspace;  // sn_plugin_kernel::workspace_bytes, contents undefined
} sn_plugin_context;

// A routine prepared for one problem, filled in by `create`. It must not change afterwards: any
// number of threads run it at once.
typedef struct sn_plugin_kernel {
  uint32_t struct_size;  // of the runtime's struct: write no field beyond
  int32_t
      in_place_input;  // index of an input whose memory output 0 may share; initialised to -1: none
  size_t workspace_bytes;  // initialised to 0
  void* state;             // the plugin's own; initialised to NULL
} sn_plugin_kernel;

typedef void (*sn_plugin_task)(void* data, size_t index);

// The runtime's functions: valid while the plugin is loaded. Only the setters and allocate_output
// allocate. Where a result is "1, or 0", 0 means that nothing is written through the last pointer.
struct sn_plugin_host {
  uint32_t struct_size;
  uint32_t abi_version;  // first two fields: the same in every ABI version
  const char* version;   // of SoftNeuro: "0.1.0"

  // Input, output or post-op number `index` of a problem: 1, or 0 if there is none.
  int32_t (*input)(const sn_plugin_problem* problem, uint32_t index, sn_plugin_spec* spec);
  int32_t (*output)(const sn_plugin_problem* problem, uint32_t index, sn_plugin_spec* spec);
  int32_t (*post_op)(const sn_plugin_problem* problem, uint32_t index, sn_plugin_post_op* op);

  // A parameter: 1, or 0 if there is none of that name and kind. Lists and texts are borrowed until
  // the plugin's function returns: copy what `run` needs.
  int32_t (*get_integer)(const sn_plugin_params* params, const char* name, int64_t* value);
  int32_t (*get_real)(const sn_plugin_params* params, const char* name, double* value);
  int32_t (*get_text)(const sn_plugin_params* params, const char* name, const char** value);
  int32_t (*get_integers)(const sn_plugin_params* params, const char* name, size_t* count,
                          const int64_t** values);
  int32_t (*get_reals)(const sn_plugin_params* params, const char* name, size_t* count,
                       const double** values);
  // One text of a list; 0 also past the end.
  int32_t (*get_text_at)(const sn_plugin_params* params, const char* name, size_t index,
                         const char** value);
  // For default_params, propose and net_params: adds or replaces.
  sn_plugin_status (*set_integer)(sn_plugin_params* params, const char* name, int64_t value);
  sn_plugin_status (*set_text)(sn_plugin_params* params, const char* name, const char* value);

  // Calls task(data, i) once for each i < count on the net's threads, the calling one included,
  // in any order, and returns when all are done. May be called from within a task. How work is
  // partitioned must not depend on the number of threads where that could change a bit of the
  // result.
  void (*parallel_for)(const sn_plugin_context* context, size_t count, sn_plugin_task task,
                       void* data);
  // For layer types whose output shapes depend on data (nonzero, unique...): gives that output
  // its shape and memory; the context's tensor then shows both.
  sn_plugin_status (*allocate_output)(const sn_plugin_context* context, uint32_t index,
                                      int32_t rank, const int64_t* dims);

  // For `build`. A tensor is a number, -1 one that is left out or could not be made: the runtime
  // says why when `build` returns. Input `index` of the problem's own.
  int32_t (*net_input)(const sn_plugin_net* net, uint32_t index);
  // A constant in the plain layout. Its bytes are copied.
  int32_t (*net_constant)(sn_plugin_net* net, int32_t type, int32_t rank, const int64_t* dims,
                          const void* data);
  // The parameters of the layer that net_layer adds next, to be set; those that are not set have
  // the layer type's defaults.
  sn_plugin_params* (*net_params)(sn_plugin_net* net);
  // Adds a layer, whose name is unique in the net, and fills in the numbers of its outputs.
  void (*net_layer)(sn_plugin_net* net, const char* layer_type, const char* name,
                    uint32_t input_count, const int32_t* inputs, uint32_t output_count,
                    int32_t* outputs);
  sn_plugin_status (*set_real)(sn_plugin_params* params, const char* name, double value);
  sn_plugin_status (*set_integers)(sn_plugin_params* params, const char* name, size_t count,
                                   const int64_t* values);
};

#ifdef __cplusplus
}
#endif

#endif  // SOFTNEURO_PLUGIN_HOST_H
