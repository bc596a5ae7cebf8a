#include "profiler/tune/inner_values.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{256} << 20;  // of inner tensors that one run keeps

}  // namespace

InnerValues::InnerValues(std::shared_ptr<Runtime> core, std::shared_ptr<const Graph> graph,
                         std::span<const Shape> shapes)
    : core_(std::move(core)), graph_(std::move(graph)), shapes_(shapes.begin(), shapes.end()) {}

// A session whose outputs hold the tensors of `part`.
Status InnerValues::prepare(std::span<const TensorId> part) {
  if (session_ && std::ranges::equal(part_, part)) return {};
  session_.reset();  // its weights are not needed beside those of the next one
  auto extended = std::make_shared<Graph>(*graph_);
  const auto own = static_cast<std::ptrdiff_t>(graph_->outputs.size());
  part_.assign(part.begin(), part.end());
  places_.clear();
  for (const TensorId id : part) {
    auto& all = extended->outputs;
    const auto found = std::find(all.begin(), all.begin() + own, id);
    places_.push_back(static_cast<std::size_t>(found - all.begin()));
    if (found == all.begin() + own) {
      places_.back() = all.size();
      all.push_back(id);
    }
  }
  SN_ASSIGN_OR_RETURN(const auto plan, build_plan(core_, std::move(extended), shapes_));
  SN_ASSIGN_OR_RETURN(session_, Session::create(plan));
  return {};
}

Status InnerValues::read_part(std::span<const Tensor> inputs, std::span<const TensorId> part,
                              const std::function<Status(TensorId, const Tensor&)>& see) {
  SN_RETURN_IF_ERROR(prepare(part));
  std::vector<Tensor> outputs(session_->plan().outputs().size());
  SN_RETURN_IF_ERROR(session_->run(inputs, outputs));
  for (std::size_t i = 0; i < part.size(); ++i)
    SN_RETURN_IF_ERROR(see(part[i], outputs[places_[i]]));
  return {};
}

Status InnerValues::read(std::span<const Tensor> inputs, std::span<const TensorId> wanted,
                         const std::function<Status(TensorId, const Tensor&)>& see) {
  if (outline_ == nullptr) {
    SN_ASSIGN_OR_RETURN(outline_, outline_plan(core_, graph_, shapes_));
  }
  std::size_t begin = 0, bytes = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const PlannedTensor& planned = outline_->tensors[wanted[i]];
    const auto own =
        planned.storage == Storage::dynamic
            ? 0
            : static_cast<std::size_t>(planned.shape.elements()) * size_of(planned.type);
    if (bytes + own > kBytesAtOnce && i > begin) {
      SN_RETURN_IF_ERROR(read_part(inputs, wanted.subspan(begin, i - begin), see));
      begin = i;
      bytes = 0;
    }
    bytes += own;
  }
  if (begin == wanted.size()) return {};
  return read_part(inputs, wanted.subspan(begin), see);
}

}  // namespace softneuro
