// CUDA's driver, NVRTC, cuBLASLt and cuDNN made of host memory, threads and the host's compiler:
// what the plugin `cuda` does is tested where no GPU is. Only what the plugin calls is there. A
// stream works late, in a thread of its own; calls that need a context fail in a thread that has
// none.
#pragma once

#include <functional>
#include <memory>

#include "plugins/cuda/routines.h"

namespace softneuro::test {

const cuda::Driver& fake_driver();
// unsupported where there is no compiler for generated kernels.
Result<const cuda::Nvrtc*> fake_nvrtc();
Result<const cuda::CublasLt*> fake_cublaslt();
#if defined(SOFTNEURO_HAS_CUDNN)
Result<const cuda::Cudnn*> fake_cudnn();
// Plans that it has made so far.
int fake_cudnn_plans();
#endif

// All of these.
cuda::Toolkit fake_toolkit();

// The device "cuda" with the plugin's routines, started: a real GPU where there is one, else over
// these, unless SOFTNEURO_TEST_GPU is set. The registry must not have it.
Status add_gpu_or_fake(Registry& registry);

// For the library among them: puts `work` into the stream; false if that takes none.
bool put_into(CUstream stream, std::function<void()> work);

// Graphs that the fake driver has launched so far, and those that are not destroyed.
int fake_graph_launches();
int live_fake_graphs();

}  // namespace softneuro::test
