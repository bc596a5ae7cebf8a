// Values of inner tensors of a graph, as runs with default choices give them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/plan/runtime.h"
#include "softneuro/session.h"

namespace softneuro {

// Inner tensors that one InnerValues keeps should take no more together.
inline constexpr std::size_t kInnerBytesAtOnce = std::size_t{256} << 20;

// Not thread-safe.
class InnerValues {
 public:
  // Plans `graph` (verified, sorted) with default choices such that `wanted` is kept.
  static Result<InnerValues> create(const std::shared_ptr<Runtime>& core,
                                    const std::shared_ptr<const Graph>& graph,
                                    std::span<const Shape> shapes,
                                    std::span<const TensorId> wanted);
  // Inputs are in the order of the graph's. What was read before is invalid afterwards.
  Status run(std::span<const Tensor> inputs);
  // Of the last run: plain, in the model's data types. find(): empty where it is not wanted.
  Tensor find(TensorId id) const;
  std::span<const Tensor> outputs() const;  // the graph's own
  // While it is kept, packed weights are.
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  InnerValues(std::shared_ptr<const Plan> plan, Session session)
      : plan_(std::move(plan)), session_(std::move(session)) {}

  std::shared_ptr<const Plan> plan_;
  Session session_;
  std::size_t own_ = 0;         // outputs of the graph itself
  std::vector<TensorId> kept_;  // all outputs of the plan
  std::vector<Tensor> values_;
};

// `wanted` in parts, in order, each of which one InnerValues may keep.
Result<std::vector<std::vector<TensorId>>> in_parts(const std::shared_ptr<Runtime>& core,
                                                    const std::shared_ptr<const Graph>& graph,
                                                    std::span<const Shape> shapes,
                                                    std::span<const TensorId> wanted);

}  // namespace softneuro
