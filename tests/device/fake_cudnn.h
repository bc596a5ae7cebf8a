// A cuDNN whose graphs are one convolution with element-wise steps behind it: what it computes.
#pragma once
#if defined(SOFTNEURO_HAS_CUDNN)

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "plugins/cuda/libraries/cudnn.h"

namespace softneuro::test {

struct FakeTensor {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::array<std::int64_t, 4> dims{}, strides{};
  bool is_virtual = false;

  std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

struct FakeStep {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  double most = 0;
  FakeTensor operand;  // of an addition
};

struct FakeGraph {
  bool is_gradient = false;  // of the convolution by its input
  // The convolution's: of a gradient `image` is what is computed, else `result` is.
  FakeTensor image, filter, result;
  std::array<std::int64_t, 2> before{}, after{}, strides{}, dilations{};
  std::vector<FakeStep> steps;
  FakeTensor output;

  const FakeTensor& read() const { return is_gradient ? result : image; }
  const FakeTensor& made() const { return is_gradient ? image : result; }
  // Whether the sizes fit each other.
  bool is_consistent() const;
};

struct FakeEngine {
  std::int64_t number = 0;
  std::vector<std::pair<cudnnBackendKnobType_t, std::int64_t>> knobs;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::int64_t workspace_bytes = 0;
  bool refuses = false;         // once its plan is to be made
  bool is_wrong = false;        // what it computes must never be seen
  bool rounds_factors = false;  // to eleven bits
  bool is_reversed = false;     // adds channels from the last to the first
};

// In float32, rounded where it is stored.
void compute(const FakeGraph& graph, const FakeEngine& engine,
             const std::map<std::int64_t, void*>& places);

}  // namespace softneuro::test
#endif
