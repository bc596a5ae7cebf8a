#include "profiler/select/search_space.h"

#include <algorithm>

namespace softneuro {

Kind kind_of(const Candidate& candidate) {
  const RoutineDescriptor& descriptor = candidate.routine->descriptor();
  return {descriptor.device, descriptor.precision()};
}

void SearchSpace::make_index() {
  for (std::size_t l = 0; l < layers.size(); ++l) index_of[layers[l].layer.layer->id] = l;
}

std::set<Kind> SearchSpace::kinds(bool fallbacks) const {
  std::set<Kind> kinds;
  for (const LayerCandidates& layer : layers)
    for (const Candidate& c : layer.candidates)
      if (c.routine != nullptr && (fallbacks || !layer.fallback)) kinds.insert(kind_of(c));
  return kinds;
}

std::function<bool(const LayerCandidates&, const Candidate&)> only_kind(const Kind& kind) {
  return [kind](const LayerCandidates& layer, const Candidate& candidate) {
    if (candidate.routine == nullptr) return true;
    const auto has = [&](const Kind& wanted) {
      return std::ranges::any_of(layer.candidates, [&](const Candidate& c) {
        return c.routine != nullptr && kind_of(c) == wanted && c.is_usable();
      });
    };
    for (const Kind& wanted :
         {kind, Kind(kind.first, kind.second.type), Kind(kind.first, DataType::float32)})
      if (has(wanted)) return kind_of(candidate) == wanted;
    return kind_of(candidate) == Kind(DeviceId(), DataType::float32);
  };
}

bool only_float32(const LayerCandidates& layer, const Candidate& candidate) {
  return candidate.is_float32() || std::ranges::none_of(layer.candidates, [](const Candidate& c) {
           return c.is_float32() && c.is_usable();
         });
}

}  // namespace softneuro
