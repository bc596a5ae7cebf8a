// Values of inner tensors of a graph, as runs with default choices give them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/plan_impl.h"
#include "softneuro/session.h"

namespace softneuro {

// Inner tensors that one InnerValues keeps should take no more together.
inline constexpr std::size_t kInnerBytesAtOnce = std::size_t{256} << 20;

// Not thread-safe.
class InnerValues {
 public:
  // Plans `graph` (verified, sorted) with default choices such that `wanted` is kept.
  static Result<InnerValues> create(const std::shared_ptr<Runtime>& runtime,
                                    const std::shared_ptr<const Graph>& graph,
                                    std::span<const Shape> shapes,
                                    std::span<const TensorId> wanted);
  // Inputs are in the order of the graph's. What was read before is invalid afterwards.
  Status run(std::span<const Tensor> inputs);
  // Of the last run: plain, in the model's data types. find(): empty where it is not wanted.
  Tensor find(TensorId id) const;
  std::span<const Tensor> outputs() const;  // of the graph
  // While it is kept, packed weights are.
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  InnerValues(std::shared_ptr<const Plan> plan, Session session)
      : plan_(std::move(plan)), session_(std::move(session)) {}

  std::shared_ptr<const Plan> plan_;
  Session session_;
  std::size_t outputs_ = 0;     // of the graph itself
  std::vector<TensorId> kept_;  // all outputs of the plan
  std::vector<Tensor> values_;
};

// Consecutive items of a list, and the tensors that they want: what one InnerValues may keep.
struct InnerPart {
  std::size_t begin = 0, end = 0;
  std::vector<TensorId> wanted;  // each once, in order of their numbers
};
// `want` adds the tensors of an item and gives their bytes.
std::vector<InnerPart> in_parts(
    std::size_t items,
    const std::function<std::size_t(std::size_t item, std::vector<TensorId>& wanted)>& want);
// Of a tensor in the model's type; 0 where its shape depends on data.
std::size_t plain_bytes(const PlannedTensor& planned);

}  // namespace softneuro
