#include "verify/inner_values.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro {

Result<InnerValues> InnerValues::create(const std::shared_ptr<Runtime>& runtime,
                                        const std::shared_ptr<const Graph>& graph,
                                        std::span<const Shape> shapes,
                                        std::span<const TensorId> wanted) {
  auto extended = std::make_shared<Graph>(*graph);
  std::vector<TensorId>& kept = extended->outputs;
  for (const TensorId id : wanted)
    if (std::ranges::find(kept, id) == kept.end()) kept.push_back(id);
  SN_ASSIGN_OR_RETURN(auto plan, build_plan(runtime, extended, shapes));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  InnerValues values(std::move(plan), std::move(session));
  values.outputs_ = graph->outputs.size();
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
  return std::span(values_).first(outputs_);
}

std::vector<InnerPart> in_parts(
    std::size_t items,
    const std::function<std::size_t(std::size_t item, std::vector<TensorId>& wanted)>& want) {
  std::vector<InnerPart> parts;
  std::size_t bytes = kInnerBytesAtOnce;
  for (std::size_t item = 0; item < items; ++item) {
    if (bytes >= kInnerBytesAtOnce) {
      parts.push_back({item, item, {}});
      bytes = 0;
    }
    bytes += want(item, parts.back().wanted);
    parts.back().end = item + 1;
  }
  for (InnerPart& part : parts) {
    std::ranges::sort(part.wanted);
    part.wanted.erase(std::unique(part.wanted.begin(), part.wanted.end()), part.wanted.end());
  }
  return parts;
}

std::size_t plain_bytes(const PlannedTensor& planned) {
  return planned.storage == Storage::data_dependent
             ? 0
             : static_cast<std::size_t>(planned.shape.elements()) * size_of(planned.type);
}

}  // namespace softneuro
