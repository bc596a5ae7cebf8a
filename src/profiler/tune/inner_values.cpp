#include "profiler/tune/inner_values.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"

namespace softneuro {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{256} << 20;  // of inner tensors that one run keeps

// A run of one part of the wanted tensors.
Status read_part(const std::shared_ptr<Runtime>& core, const Graph& graph,
                 std::span<const Shape> shapes, std::span<const Tensor> inputs,
                 std::span<const TensorId> part,
                 const std::function<Status(TensorId, const Tensor&)>& see) {
  auto extended = std::make_shared<Graph>(graph);
  const auto own = static_cast<std::ptrdiff_t>(graph.outputs.size());
  std::vector<std::size_t> places;  // among the outputs
  for (const TensorId id : part) {
    auto& all = extended->outputs;
    const auto found = std::find(all.begin(), all.begin() + own, id);
    places.push_back(static_cast<std::size_t>(found - all.begin()));
    if (found == all.begin() + own) {
      places.back() = all.size();
      all.push_back(id);
    }
  }
  SN_ASSIGN_OR_RETURN(const auto plan, build_plan(core, std::move(extended), shapes));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  std::vector<Tensor> outputs(plan->outputs().size());
  SN_RETURN_IF_ERROR(session.run(inputs, outputs));
  for (std::size_t i = 0; i < part.size(); ++i)
    SN_RETURN_IF_ERROR(see(part[i], outputs[places[i]]));
  return {};
}

}  // namespace

Status read_inner_values(const std::shared_ptr<Runtime>& core,
                         const std::shared_ptr<const Graph>& graph, std::span<const Shape> shapes,
                         std::span<const Tensor> inputs, std::span<const TensorId> wanted,
                         const std::function<Status(TensorId, const Tensor&)>& see) {
  SN_ASSIGN_OR_RETURN(const auto outline, outline_plan(core, graph, shapes));
  std::size_t begin = 0, bytes = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const PlannedTensor& planned = outline->tensors[wanted[i]];
    const auto own =
        planned.storage == Storage::dynamic
            ? 0
            : static_cast<std::size_t>(planned.shape.elements()) * size_of(planned.type);
    if (bytes + own > kBytesAtOnce && i > begin) {
      SN_RETURN_IF_ERROR(
          read_part(core, *graph, shapes, inputs, wanted.subspan(begin, i - begin), see));
      begin = i;
      bytes = 0;
    }
    bytes += own;
  }
  if (begin == wanted.size()) return {};
  return read_part(core, *graph, shapes, inputs, wanted.subspan(begin), see);
}

}  // namespace softneuro
