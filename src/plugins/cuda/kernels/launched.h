// A program of generated kernels on one GPU.
#pragma once

#include <vector>

#include "core/routine/routine.h"
#include "plugins/cuda/device/cuda_device.h"
#include "plugins/cuda/device/cuda_stream.h"
#include "plugins/cuda/generate/program.h"
#include "plugins/cuda/kernels/packed_constants.h"

namespace softneuro::cuda {

// Compiled launches. Immutable; the GPU is never destroyed.
class Launched {
 public:
  Launched() = default;  // does nothing
  // Compiles what the process has not compiled before.
  static Result<Launched> create(CudaDevice& device, const Program& program);

  // Puts the work into the context's stream. `constants` of the program's problem; its workspace
  // is the context's, from `workspace` on.
  Status launch(Context& context, const PackedConstants& constants,
                std::size_t workspace = 0) const noexcept;

 private:
  struct Step {
    CUfunction kernel = nullptr;
    std::vector<Argument> arguments;
    unsigned blocks = 0, threads = 0;
    bool reports = false;  // a Fault
  };
  std::vector<Step> steps_;
};

}  // namespace softneuro::cuda
