#include "profiler/select/selection.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/base/error.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

// A standard deviation of the low quartile of n samples is 1.36 of theirs over √n, and theirs 1.48
// of half the distance between their quartiles.
constexpr double kTwoDeviations = 2 * 1.36 * 1.48;

// Of candidate `c` inside the net: the mean over the layers with the same problem, `alike`.
MeanTime time_in_net(const std::vector<const LayerCandidates*>& alike, std::size_t c) {
  MeanTime time;
  for (const LayerCandidates* layer : alike)
    if (const MeanTime& known = layer->candidates[c].in_net; known.samples > 0)
      time.add(known.us, known.samples);
  return time;
}

// How much slower the layer is inside the net than alone, from the candidates measured in both.
double net_ratio(const LayerCandidates& layer) {
  double sum = 0;
  int count = 0;
  for (const Candidate& c : layer.candidates)
    if (c.in_net.us > 0 && c.isolated_us > 0 && std::isfinite(c.isolated_us)) {
      sum += c.in_net.us / c.isolated_us;
      ++count;
    }
  return count == 0 ? 1
                    : std::clamp(sum / count, 1 - constants::kUnmeasured, constants::kMostRatio);
}

// The layer's candidates that the solver may choose from. `alike`: all layers with its problem.
LayerOptions options_of(const LayerCandidates& entry,
                        const std::vector<const LayerCandidates*>& alike,
                        const SelectionRules& rules) {
  const auto may_take = [&](const Candidate& candidate) {
    return candidate.is_usable() && (!rules.allowed || rules.allowed(entry, candidate));
  };
  bool has_times_in_net = false;  // any that may be taken
  for (std::size_t c = 0; c < entry.candidates.size() && !has_times_in_net; ++c)
    has_times_in_net = may_take(entry.candidates[c]) && time_in_net(alike, c).samples > 0;
  const bool may_guess = rules.cost || rules.counts_memory || !has_times_in_net;
  const double ratio = net_ratio(entry);
  LayerOptions layer{&entry.layer, {}};
  for (std::size_t c = 0; c < entry.candidates.size(); ++c) {
    const Candidate& candidate = entry.candidates[c];
    if (!may_take(candidate)) continue;
    const MeanTime in_net = time_in_net(alike, c);
    const bool optimistic = rules.optimistic && rules.optimistic(entry, candidate);
    if (candidate.routine != nullptr && in_net.samples == 0 && !optimistic && !may_guess) continue;
    LayerOption option{static_cast<int>(c), &candidate.formats};
    option.cost = rules.cost           ? rules.cost(entry, candidate)
                  : in_net.samples > 0 ? in_net.us
                                       : candidate.isolated_us * ratio;
    if (optimistic) option.cost *= 1 - uncertainty(in_net, rules.noise);
    if (rules.counts_memory) {
      option.workspace = candidate.workspace;
      option.packed = candidate.packed;
    }
    layer.options.push_back(option);
  }
  return layer;
}

}  // namespace

double uncertainty(const MeanTime& in_net, double noise) {
  if (in_net.samples <= 0) return constants::kUnmeasured;
  return std::min(constants::kUnmeasured, kTwoDeviations * noise / std::sqrt(in_net.samples));
}

Result<Selections> select_paths(const Graph& graph, const std::vector<LayerCandidates>& layers,
                                AdaptTimes& adapts, const SelectionRules& rules) {
  return guarded([&]() -> Result<Selections> {
    std::vector<std::vector<const LayerCandidates*>> alike(layers.size());  // by same_as
    for (const LayerCandidates& layer : layers) alike[layer.same_as].push_back(&layer);
    std::vector<LayerOptions> options;
    options.reserve(layers.size());
    for (const LayerCandidates& layer : layers)
      options.push_back(options_of(layer, alike[layer.same_as], rules));
    dprs::Limits limits;
    limits.k = rules.k;
    limits.max_memory = rules.counts_memory ? rules.max_memory : 0;
    limits.least_memory = rules.least_memory;
    return solve_paths(graph, options, adapts, limits, rules.counts_memory);
  });
}

Result<RoutinePath> make_path(const Graph& graph, const std::vector<LayerCandidates>& layers,
                              AdaptTimes& adapts, const Selection& selection) {
  RoutinePath path;
  std::vector<Format> made(graph.tensor_count());
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    made[id] = {graph.tensor(id).type, Layout::plain};
  std::set<std::tuple<TensorId, std::string, std::string>> seen;
  const auto adapt = [&](TensorId id, const Format& to) -> Status {
    if (!to.present() || made[id] == to || !seen.emplace(id, made[id].str(), to.str()).second)
      return {};
    SN_ASSIGN_OR_RETURN(AdaptChoice choice, adapts.of(id, made[id], to));
    path.adapts.push_back(std::move(choice));
    return {};
  };
  std::unordered_map<LayerId, std::size_t> index;
  for (std::size_t l = 0; l < layers.size(); ++l) index[layers[l].layer.layer->id] = l;
  for (const Layer& layer : graph.layers()) {
    const auto found = index.find(layer.id);
    const Candidate* candidate = nullptr;
    if (found != index.end())
      candidate = &layers[found->second]
                       .candidates[static_cast<std::size_t>(selection.choice[found->second])];
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const TensorId id = layer.inputs[i];
      if (id == kNoTensor || graph.tensor(id).is_constant()) continue;
      const Format model = {graph.tensor(id).type, Layout::plain};
      SN_RETURN_IF_ERROR(adapt(id, candidate != nullptr ? candidate->formats.inputs[i] : model));
    }
    if (candidate == nullptr) continue;
    for (std::size_t o = 0; o < layer.outputs.size(); ++o)
      if (layer.outputs[o] != kNoTensor) made[layer.outputs[o]] = candidate->formats.outputs[o];
    path.layers.emplace(layer.id, candidate->choice());
  }
  for (const TensorId id : graph.outputs)
    if (!graph.tensor(id).is_constant())
      SN_RETURN_IF_ERROR(adapt(id, {graph.tensor(id).type, Layout::plain}));
  return path;
}

}  // namespace softneuro
