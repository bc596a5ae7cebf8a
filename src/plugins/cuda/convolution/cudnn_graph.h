// Convolutions as operation graphs of cuDNN, and the engines that compute them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/routine/precision.h"
#include "plugins/cuda/libraries/cudnn.h"
#include "softneuro/types.h"

namespace softneuro::cuda {

// A descriptor of cuDNN's, destroyed with this object. The first call that fails is kept: those
// behind it do nothing, and finalize() returns it.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type) noexcept;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  cudnnBackendDescriptor_t get() const noexcept { return descriptor_; }
  const Status& status() const noexcept { return status_; }

  CudnnDescriptor& set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                       std::int64_t count, const void* values) noexcept;
  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                       const T& value) noexcept {
    return set(attribute, type, 1, &value);
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t attribute, const CudnnDescriptor& part) noexcept;
  template <std::size_t Count>
  CudnnDescriptor& set(cudnnBackendAttributeName_t attribute,
                       const std::array<std::int64_t, Count>& values) noexcept {
    return set(attribute, CUDNN_TYPE_INT64, Count, values.data());
  }
  Status finalize() noexcept;

  // How many values there are, of which at most `room` are written.
  Result<std::int64_t> read(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                            std::int64_t room, void* values) const noexcept;

 private:
  const Cudnn* cudnn_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  Status status_;
};

// For which GPU engines are chosen and plans are made: that of a handle, or one that is described.
struct CudnnCard {
  const Cudnn* cudnn = nullptr;
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* description = nullptr;  // CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
};
// The description from cuDNN's JSON of a GPU, which need not be there.
Result<CudnnDescriptor> describe_card(const Cudnn& cudnn, const std::string& json);

// What is done to each element of a convolution's result, in float32.
struct FusedStep {
  enum class Kind {
    add_channel,  // a float32 number of each channel: the bias
    add_tensor,   // a tensor like y
    relu,         // limited to at most `most`; NaN stays NaN
  };
  Kind kind = Kind::relu;
  float most = 0;         // of relu; infinity: no limit
  std::size_t input = 0;  // of the layer: where the operand is
};

// Of two spatial axes.
struct ConvolutionSpec {
  DataType type = DataType::float32;  // of x, w and y
  bool is_channels_last = false;
  bool is_transposed = false;
  std::array<std::int64_t, 4> x{}, w{}, y{};  // in the layer's order: N, C, H, W; M, C/group, R, S
  std::array<std::int64_t, 2> pads_before{}, pads_after{}, strides{}, dilations{};  // > 0 or >= 0
  std::vector<FusedStep> steps;

  // Equal for equal specs: the key of plans.
  std::string str() const;
};

// Names of tensors in graphs and variant packs.
inline constexpr std::int64_t kXId = 1, kWId = 2, kYId = 3, kFirstOperandId = 10;

// x, w and the operands of steps -> y as one graph, finalised. Immutable.
class CudnnGraph {
 public:
  static Result<CudnnGraph> create(const CudnnCard& card, const ConvolutionSpec& spec);
  const CudnnDescriptor& operations() const noexcept { return parts_.back(); }

 private:
  CudnnGraph() = default;
  std::vector<CudnnDescriptor> parts_;  // the graph is the last
};

// An engine with the values of its knobs.
struct CudnnEngine {
  std::string name;  // "eng34_k2.5_k13.1"
  CudnnDescriptor config;
};

// Those that cuDNN's heuristics name for the graph, best first, as far as they are deterministic
// and compute in that precision: without factors rounded to fewer digits or sums kept in fewer, and
// without transforms (Winograd, FFT), whose errors are bound by the largest element and which
// spread NaN and infinity. Empty: there is none.
Result<std::vector<CudnnEngine>> find_engines(const CudnnCard& card, const CudnnGraph& graph,
                                              const Precision& precision);

// The engine's kernels for the card, finalised. unsupported if the engine does not take the graph
// after all.
Result<CudnnDescriptor> make_plan(const CudnnCard& card, const CudnnEngine& engine);

}  // namespace softneuro::cuda
