// Whether a net passes the range of its types on given inputs: what it then computes depends on
// where a kernel rounds, and says nothing about whether the kernel is right.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/runtime.h"
#include "verify/inner_values.h"

namespace softneuro {

// Not thread-safe.
class OverflowScan {
 public:
  // Looks at `graph` (verified, sorted) as it runs with default choices.
  OverflowScan(std::shared_ptr<Runtime> runtime, std::shared_ptr<const Graph> graph,
               std::span<const Shape> shapes)
      : runtime_(std::move(runtime)),
        graph_(std::move(graph)),
        shapes_(shapes.begin(), shapes.end()) {}

  // Whether a layer, or a stage of one (post-ops), gives numbers for finite inputs that its type
  // does not hold and a wider one does. Infinities and NaN that are expected, as the logarithm of
  // zero, are none of these. `inputs` and `outputs`: of one run. The inside of nets that have no
  // 16-bit tensors is looked at only where their outputs are not finite.
  Result<bool> passes_range(std::span<const Tensor> inputs, std::span<const Tensor> outputs);

 private:
  Status find_parts();
  Tensor value(TensorId id, std::span<const Tensor> inputs) const;
  bool passes_range(const Layer& layer, std::span<const Tensor> inputs) const;

  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Shape> shapes_;
  std::vector<InnerPart> parts_;       // of layers
  std::optional<InnerValues> values_;  // of the part that is looked at
};

}  // namespace softneuro
