#include "verify/inner_values.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"

namespace softneuro {

Result<InnerValues> InnerValues::create(const std::shared_ptr<Runtime>& core,
                                        const std::shared_ptr<const Graph>& graph,
                                        std::span<const Shape> shapes,
                                        std::span<const TensorId> wanted) {
  auto extended = std::make_shared<Graph>(*graph);
  std::vector<TensorId>& kept = extended->outputs;
  for (const TensorId id : wanted)
    if (std::ranges::find(kept, id) == kept.end()) kept.push_back(id);
  SN_ASSIGN_OR_RETURN(auto plan, build_plan(core, extended, shapes));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  InnerValues values(std::move(plan), std::move(session));
  values.own_ = graph->outputs.size();
  values.kept_ = kept;
  return values;
}

Status InnerValues::run(std::span<const Tensor> inputs) {
  values_.assign(kept_.size(), Tensor());
  return session_.run(inputs, values_);
}

Tensor InnerValues::find(TensorId id) const {
  const auto place = std::ranges::find(kept_, id);
  return place == kept_.end() ? Tensor() : values_[static_cast<std::size_t>(place - kept_.begin())];
}

std::span<const Tensor> InnerValues::outputs() const {
  return std::span(values_).first(own_);
}

Result<std::vector<std::vector<TensorId>>> in_parts(const std::shared_ptr<Runtime>& core,
                                                    const std::shared_ptr<const Graph>& graph,
                                                    std::span<const Shape> shapes,
                                                    std::span<const TensorId> wanted) {
  SN_ASSIGN_OR_RETURN(const auto outline, outline_plan(core, graph, shapes));
  std::vector<std::vector<TensorId>> parts;
  std::size_t bytes = 0;
  for (const TensorId id : wanted) {
    const PlannedTensor& planned = outline->tensors[id];
    const auto own =
        planned.storage == Storage::data_dependent
            ? 0
            : static_cast<std::size_t>(planned.shape.elements()) * size_of(planned.type);
    if (parts.empty() || bytes + own > kInnerBytesAtOnce) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(id);
    bytes += own;
  }
  return parts;
}

}  // namespace softneuro
