#include "quantization/sharing.h"

#include <algorithm>
#include <numeric>

#include "core/graph/layer_type.h"
#include "quantization/tensor_roles.h"

namespace softneuro {
namespace {

// How much wider than its own range a tensor's shared range may be: two bits.
constexpr double kWidest = 4;

ValueRange choose_range(const Histogram& histogram, const CalibrationOptions& options) {
  switch (options.range) {
    case RangeChoice::percentile:
      return percentile_range(histogram, options.percentile);
    case RangeChoice::mse:
      return mse_range(histogram);
    case RangeChoice::min_max:
      break;
  }
  return min_max_range(histogram);
}

// Tensors that share one quantisation, as trees.
class Groups {
 public:
  Groups(const Graph& graph, const std::vector<Histogram>& histograms,
         const CalibrationOptions& options)
      : graph_(graph), options_(options), histograms_(histograms), parents_(histograms.size()) {
    std::iota(parents_.begin(), parents_.end(), TensorId{0});
    narrowest_.resize(histograms.size());
    for (std::size_t id = 0; id < histograms.size(); ++id)
      narrowest_[id] = width_of(histograms[id]);
  }

  TensorId root(TensorId id) const {
    while (parents_[id] != id) id = parents_[id];
    return id;
  }
  const Histogram& histogram(TensorId id) const { return histograms_[root(id)]; }

  // Elements that moved are those of `from`: its range serves.
  void follow(TensorId id, TensorId from) {
    if (!usable(from) || !usable(id)) return;
    parents_[id] = root(from);
  }

  void join(const Layer& concat) {
    const TensorId y = concat.outputs[0];
    std::vector<TensorId> members;
    bool has_constants = false;
    for (const TensorId id : concat.inputs)
      if (id != kNoTensor && graph_.tensor(id).is_constant())
        has_constants = true;
      else if (id != kNoTensor)
        members.push_back(root(id));
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (members.empty() ||
        !std::all_of(members.begin(), members.end(), [&](TensorId id) { return usable(id); }))
      return;
    Histogram all = histograms_[members[0]];
    double narrowest = narrowest_[members[0]];
    for (std::size_t i = 1; i < members.size(); ++i) {
      all.merge(histograms_[members[i]]);
      narrowest = std::min(narrowest, narrowest_[members[i]]);
    }
    if (has_constants) {  // they were seen in the result alone
      if (!usable(y)) return;
      all.merge(histograms_[y]);
    }
    if (width_of(all) > kWidest * narrowest) return;
    for (const TensorId id : members) parents_[id] = members[0];
    parents_[y] = members[0];
    histograms_[members[0]] = std::move(all);
    narrowest_[members[0]] = narrowest;
  }

 private:
  // Was seen, and the model does not say otherwise.
  bool usable(TensorId id) const {
    const Histogram& h = histograms_[root(id)];
    return h.count() > 0 && h.not_finite() == 0 && !graph_.tensor(id).quantization;
  }
  double width_of(const Histogram& histogram) const {
    const ValueRange range = choose_range(histogram, options_);
    return range.high - range.low;
  }

  const Graph& graph_;
  const CalibrationOptions& options_;
  std::vector<Histogram> histograms_;
  std::vector<TensorId> parents_;
  std::vector<double> narrowest_;  // of the members' own ranges
};

}  // namespace

std::vector<std::optional<Quantization>> choose_quantizations(
    const Graph& graph, const std::vector<Histogram>& histograms,
    const CalibrationOptions& options) {
  Groups groups(graph, histograms, options);
  for (const Layer& layer : graph.layers()) {
    if (layer.outputs.empty() || layer.outputs[0] == kNoTensor) continue;
    if (moves_elements(layer)) {
      for (const TensorId id : layer.outputs)
        if (id != kNoTensor && graph.tensor(id).type == graph.tensor(layer.inputs[0]).type)
          groups.follow(id, layer.inputs[0]);
    } else if (joins_elements(layer)) {
      groups.join(layer);
    }
  }
  std::vector<std::optional<Quantization>> chosen(graph.tensor_count());
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Histogram& histogram = groups.histogram(id);
    const Histogram& unshared = histograms[id];
    if (unshared.count() == 0 || unshared.not_finite() > 0 || histogram.not_finite() > 0) continue;
    chosen[id] = quantization_for(choose_range(histogram, options));
  }
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).quantization && !graph.tensor(id).is_constant())
      chosen[id] = graph.tensor(id).quantization;
  for (const Layer& layer : graph.layers()) {  // what moves keeps the model's levels
    if (!moves_elements(layer)) continue;
    const std::optional<Quantization>& source = graph.tensor(layer.inputs[0]).quantization;
    const TensorId y = layer.outputs[0];
    if (source && source->axis < 0 && y != kNoTensor && chosen[y] &&
        !graph.tensor(y).quantization) {
      chosen[y] = source;
      chosen[y]->channel_means.clear();
    }
  }
  return chosen;
}

}  // namespace softneuro
