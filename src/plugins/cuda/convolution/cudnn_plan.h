// Plans of cuDNN's for convolutions: made once per process, run in any stream.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/cuda/convolution/cudnn_graph.h"
#include "plugins/cuda/device/cuda_stream.h"

namespace softneuro::cuda {

// Plans that want more workspace are not made.
inline constexpr std::int64_t kMostCudnnWorkspaceBytes = std::int64_t{256} << 20;

struct CudnnPlan {
  CudnnDescriptor plan;
  std::size_t steps = 0;  // of the spec that it does: all, or none
  std::size_t workspace_bytes = 0;
};

// The ways in which cuDNN computes one convolution on one card. Thread safe.
class CudnnConvolution {
 public:
  // `card`'s parts must outlive the object. Asks heuristics; compiles nothing. unsupported if there
  // is no engine. The GPU's context must be current, as for plan().
  static Result<std::shared_ptr<CudnnConvolution>> create(const CudnnCard& card,
                                                          const ConvolutionSpec& spec,
                                                          const Precision& precision);

  // Best first, as the heuristics say: engines that do the steps, too ("fused_eng34_k2.5"), then
  // those of the convolution alone ("eng17"). Not empty.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // Made at the first call, which may take seconds. unsupported if the engine refuses after all,
  // or if there is none of that name.
  Result<std::shared_ptr<const CudnnPlan>> plan(std::string_view name);
  // That of the first name that can be made.
  Result<std::shared_ptr<const CudnnPlan>> default_plan();

 private:
  struct Way {
    CudnnEngine engine;
    std::size_t steps = 0;
    std::shared_ptr<const CudnnPlan> plan;  // once it is made
    Status problem;                         // why it cannot be made
  };
  explicit CudnnConvolution(const CudnnCard& card) : card_(card) {}
  Status add_ways(const ConvolutionSpec& spec, const Precision& precision);
  Result<std::shared_ptr<const CudnnPlan>> make(Way& way);

  const CudnnCard card_;
  std::vector<CudnnGraph> graphs_;  // of the engines
  std::vector<std::string> names_;
  std::mutex mutex_;       // for what follows
  std::vector<Way> ways_;  // as names_
};

// cuDNN on one GPU. Thread safe; never destroyed, like the Gpu.
class CudnnGpu {
 public:
  // Always the same object for the same two.
  static Result<CudnnGpu*> find(Gpu& gpu, const Cudnn& cudnn);
  CudnnGpu(const CudnnGpu&) = delete;
  CudnnGpu& operator=(const CudnnGpu&) = delete;

  Gpu& gpu() const noexcept { return gpu_; }
  // Asked for at the first call with equal arguments.
  Result<std::shared_ptr<CudnnConvolution>> convolution(const ConvolutionSpec& spec,
                                                        const Precision& precision);
  // Puts the plan's work into the stream. `ids` name the tensors at `places`.
  Status execute(const CudnnPlan& plan, CudaStream& stream, std::span<const std::int64_t> ids,
                 std::span<const void* const> places, void* workspace) noexcept;

 private:
  CudnnGpu(Gpu& gpu, const Cudnn& cudnn) : gpu_(gpu), cudnn_(cudnn) {}
  ~CudnnGpu() = default;

  Gpu& gpu_;
  const Cudnn& cudnn_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex
      execution_;     // a handle has one stream at a time, and plans may not be shared by threads
  std::mutex mutex_;  // for what follows
  struct Known {
    std::shared_ptr<CudnnConvolution> convolution;
    Status problem;  // where there is none
  };
  std::map<std::string, Known> known_;
};

}  // namespace softneuro::cuda
