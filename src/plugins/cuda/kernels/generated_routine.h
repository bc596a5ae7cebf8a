// Routines whose kernels are generated sources alone.
#pragma once

#include <initializer_list>

#include "core/routine/registry.h"
#include "plugins/cuda/device/cuda_device.h"
#include "plugins/cuda/generate/program.h"

namespace softneuro::cuda {

// What computes `problem`, or unsupported. A pure function; its post-ops are part of the problem if
// supports_tail() takes them, else there are none. Formats are those of the routine's schema;
// constants have the model's.
using Generate = Result<Program> (*)(const Problem& problem);

struct GeneratedRoutine {
  const char* layer_type = nullptr;
  const char* algorithm = nullptr;  // "nvrtc", "direct"
  Generate generate = nullptr;
  bool fuses_post_ops = true;  // generate() takes them
};
inline constexpr bool kNoPostOps = false;  // for fuses_post_ops

// The schemas of routines for tensors of any type, in plain order; and in channels-last order, too.
inline constexpr std::initializer_list<const char*> kPlainSchemas = {"cuda", "cuda:float16",
                                                                     "cuda:bfloat16"};
inline constexpr std::initializer_list<const char*> kAllSchemas = {"cuda",
                                                                   "cuda:float16",
                                                                   "cuda:bfloat16",
                                                                   "cuda:float32:nhwc",
                                                                   "cuda:float16:nhwc",
                                                                   "cuda:bfloat16:nhwc"};

// A routine in each of the schemas.
Status add_generated(Registry& registry, CudaDevice& device, const GeneratedRoutine& routine,
                     std::initializer_list<const char*> schemas);

}  // namespace softneuro::cuda
