#include "profiler/select/selection.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

std::string key_of(TensorId tensor, const Format& from, const Format& to) {
  return fmt::format("{}|{}|{}", tensor, from.str(), to.str());
}

// A standard deviation of the low quartile of n samples is 1.36 of theirs over √n, and theirs 1.48
// of half the distance between their quartiles.
constexpr double kTwoDeviations = 2 * 1.36 * 1.48;

// Of candidate `c` inside the net: the mean over the layers with the same problem, `alike`.
MeanTime time_inside(const std::vector<const LayerCandidates*>& alike, std::size_t c) {
  MeanTime time;
  for (const LayerCandidates* layer : alike)
    if (const MeanTime& known = layer->candidates[c].inside; known.samples > 0)
      time.add(known.us, known.samples);
  return time;
}

// How much slower the layer is inside the net than alone, from the candidates measured in both.
double net_ratio(const LayerCandidates& layer) {
  double sum = 0;
  int count = 0;
  for (const Candidate& c : layer.candidates)
    if (c.inside.us > 0 && c.unit_us > 0 && std::isfinite(c.unit_us)) {
      sum += c.inside.us / c.unit_us;
      ++count;
    }
  return count == 0 ? 1
                    : std::clamp(sum / count, 1 - constants::kUnmeasured, constants::kMostRatio);
}

class Mapper {
 public:
  Mapper(const Graph& graph, const std::vector<LayerCandidates>& layers, AdaptTimes& adapts,
         const SelectionRules& rules)
      : graph_(graph), layers_(layers), adapts_(adapts), rules_(rules), alike_(layers.size()) {
    for (const LayerCandidates& layer : layers) alike_[layer.same_as].push_back(&layer);
  }

  Result<Selections> run() {
    add_tensors();
    SN_RETURN_IF_ERROR(add_layers());
    SN_RETURN_IF_ERROR(add_adapts());
    problem_.formats = static_cast<int>(formats_.size());
    dprs::Limits limits;
    limits.k = rules_.k;
    if (rules_.work > 0) limits.work = rules_.work;
    limits.max_memory = rules_.counts_memory ? rules_.max_memory : 0;
    limits.least_memory = rules_.least_memory;
    if (rules_.counts_memory) add_sizes();
    SN_ASSIGN_OR_RETURN(const dprs::Solution solution, dprs::solve(problem_, limits));
    Selections selections;
    selections.gap = solution.gap;
    for (const dprs::Path& path : solution.paths) {
      Selection selection;
      selection.cost_us = path.cost;
      selection.memory = path.memory;
      selection.choice.assign(layers_.size(), -1);
      for (std::size_t l = 0; l < rows_.size(); ++l)
        if (rows_[l].layer >= 0)
          selection.choice[static_cast<std::size_t>(rows_[l].layer)] =
              rows_[l].candidates[static_cast<std::size_t>(path.choice[l])];
      selections.paths.push_back(std::move(selection));
    }
    return selections;
  }

 private:
  // A layer of the solver: which of ours it is (−1: a fixed one), and its candidates' indices.
  struct Row {
    int layer = -1;
    std::vector<int> candidates;
  };

  int format_index(const Format& format) {
    const auto found = std::find(formats_.begin(), formats_.end(), format);
    if (found != formats_.end()) return static_cast<int>(found - formats_.begin());
    formats_.push_back(format);
    return static_cast<int>(formats_.size()) - 1;
  }
  Format model_format(TensorId id) const { return {graph_.tensor(id).type, Layout::plain}; }

  void add_tensors() {
    problem_.tensors.resize(graph_.tensor_count());
    made_.resize(graph_.tensor_count());
    wanted_.resize(graph_.tensor_count());
    // Constants computed while planning have no producer here: like inputs, they are given.
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph_.tensor(id).is_constant()) continue;
      problem_.tensors[id].fixed_format = format_index(model_format(id));
      made_[id] = {problem_.tensors[id].fixed_format};
    }
  }

  Status add_layers() {
    std::unordered_map<LayerId, std::size_t> index;
    for (std::size_t l = 0; l < layers_.size(); ++l) index[layers_[l].layer.layer->id] = l;
    std::vector<bool> computed(graph_.tensor_count(), false);
    for (const Layer& layer : graph_.layers()) {
      const auto found = index.find(layer.id);
      // Folded while planning, unused, or dynamic: the model's formats on all sides.
      if (found == index.end()) {
        for (const TensorId id : layer.inputs)
          if (is_variable(id)) want(id, format_index(model_format(id)));
        continue;
      }
      SN_RETURN_IF_ERROR(add_layer(layer, static_cast<int>(found->second)));
    }
    for (const TensorId id : graph_.outputs)
      if (!graph_.tensor(id).is_constant()) {
        want(id, format_index(model_format(id)));
      }
    return {};
  }

  bool is_variable(TensorId id) const {
    return id != kNoTensor && !graph_.tensor(id).is_constant();
  }

  // A consumer outside of the solver's layers wants the tensor in that format.
  void want(TensorId id, int format) {
    auto& list = problem_.tensors[id].wanted;
    if (std::find(list.begin(), list.end(), format) == list.end()) list.push_back(format);
    wanted_[id].insert(format);
  }

  bool may_take(const LayerCandidates& entry, const Candidate& candidate) const {
    return candidate.is_usable() && (!rules_.allowed || rules_.allowed(entry, candidate));
  }

  // Whether any candidate that may be taken was measured inside the net.
  bool has_inside_times(const LayerCandidates& entry) const {
    for (std::size_t c = 0; c < entry.candidates.size(); ++c)
      if (may_take(entry, entry.candidates[c]) && time_inside(alike_[entry.same_as], c).samples > 0)
        return true;
    return false;
  }

  Status add_layer(const Layer& layer, int l) {
    const LayerCandidates& entry = layers_[static_cast<std::size_t>(l)];
    dprs::Layer row;
    for (const TensorId id : layer.inputs)
      row.inputs.push_back(is_variable(id) ? static_cast<int>(id) : -1);
    for (const TensorId id : layer.outputs) {
      row.outputs.push_back(id == kNoTensor ? -1 : static_cast<int>(id));
      if (id == kNoTensor) continue;
      problem_.tensors[id].fixed_format = -1;
      made_[id].clear();
    }
    Row ours;
    ours.layer = l;
    const double ratio = net_ratio(entry);
    const bool may_guess = rules_.cost || rules_.counts_memory || !has_inside_times(entry);
    for (std::size_t c = 0; c < entry.candidates.size(); ++c) {
      const Candidate& candidate = entry.candidates[c];
      if (!may_take(entry, candidate)) continue;
      const MeanTime inside = time_inside(alike_[entry.same_as], c);
      const bool optimistic = rules_.optimistic && rules_.optimistic(entry, candidate);
      if (candidate.routine != nullptr && inside.samples == 0 && !optimistic && !may_guess)
        continue;
      dprs::Candidate option;
      option.time = rules_.cost          ? rules_.cost(entry, candidate)
                    : inside.samples > 0 ? inside.us
                                         : candidate.unit_us * ratio;
      if (optimistic) option.time *= 1 - uncertainty(inside, rules_.noise);
      if (rules_.counts_memory) {
        option.workspace = candidate.workspace;
        option.resident = candidate.packed;
      }
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const bool variable = is_variable(layer.inputs[i]);
        const int format = variable ? format_index(candidate.formats.inputs[i]) : -1;
        option.inputs.push_back(format);
        if (variable) wanted_[layer.inputs[i]].insert(format);
      }
      for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
        const bool present = layer.outputs[o] != kNoTensor;
        const int format = present ? format_index(candidate.formats.outputs[o]) : -1;
        option.outputs.push_back(format);
        if (present) made_[layer.outputs[o]].insert(format);
      }
      row.candidates.push_back(std::move(option));
      ours.candidates.push_back(static_cast<int>(c));
    }
    if (row.candidates.empty())
      return unsupported(
          "layer '{}': no candidate is left (all wrong, excluded or not measured): allow more "
          "schemas, or more time",
          layer.name);
    problem_.layers.push_back(std::move(row));
    rows_.push_back(std::move(ours));
    return {};
  }

  // What each tensor takes in each format; layouts that its rank does not have take nothing.
  void add_sizes() {
    const auto add = [&](TensorId id, const TensorSpec& spec) {
      if (!is_variable(id) || !problem_.tensors[id].bytes.empty()) return;
      for (const Format& format : formats_)
        problem_.tensors[id].bytes.push_back(
            static_cast<std::size_t>(storage_bytes(format.type, spec.shape, format.layout)));
    };
    for (const LayerCandidates& entry : layers_) for_each_tensor(entry.layer, add);
  }

  // Only adapts that some pair of candidates asks for are measured.
  Status add_adapts() {
    const std::size_t n = formats_.size();
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      dprs::Tensor& tensor = problem_.tensors[id];
      if (wanted_[id].empty() || made_[id].empty()) continue;
      tensor.adapt.assign(n * n, dprs::kInfinity);
      for (std::size_t f = 0; f < n; ++f) tensor.adapt[f * n + f] = 0;
      for (const int from : made_[id])
        for (const int to : wanted_[id]) {
          if (from == to) continue;
          SN_ASSIGN_OR_RETURN(const AdaptChoice choice,
                              adapts_.of(id, formats_[static_cast<std::size_t>(from)],
                                         formats_[static_cast<std::size_t>(to)]));
          tensor.adapt[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)] =
              choice.time_us;
        }
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<LayerCandidates>& layers_;
  AdaptTimes& adapts_;
  const SelectionRules& rules_;
  std::vector<std::vector<const LayerCandidates*>> alike_;  // by LayerCandidates::same_as
  dprs::Problem problem_;
  std::vector<Format> formats_;
  std::vector<std::set<int>> made_, wanted_;  // per tensor: formats that candidates make and want
  std::vector<Row> rows_;
};

}  // namespace

double uncertainty(const MeanTime& inside, double noise) {
  if (inside.samples <= 0) return constants::kUnmeasured;
  return std::min(constants::kUnmeasured, kTwoDeviations * noise / std::sqrt(inside.samples));
}

Result<AdaptChoice> AdaptTimes::of(TensorId tensor, const Format& from, const Format& to) {
  const std::string key = key_of(tensor, from, to);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  SN_ASSIGN_OR_RETURN(AdaptChoice choice, measure_(tensor, from, to));
  choice.tensor = tensor;
  choice.from = from;
  choice.to = to;
  known_.emplace(key, choice);
  return choice;
}

void AdaptTimes::set_net_time(TensorId tensor, const Format& from, const Format& to, double us) {
  if (const auto found = known_.find(key_of(tensor, from, to)); found != known_.end())
    found->second.time_us = us;
}

Result<Selections> select_paths(const Graph& graph, const std::vector<LayerCandidates>& layers,
                                AdaptTimes& adapts, const SelectionRules& rules) {
  return guarded([&] { return Mapper(graph, layers, adapts, rules).run(); });
}

Result<RoutinePath> make_path(const Graph& graph, const std::vector<LayerCandidates>& layers,
                              AdaptTimes& adapts, const Selection& selection) {
  RoutinePath path;
  std::vector<Format> made(graph.tensor_count());
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    made[id] = {graph.tensor(id).type, Layout::plain};
  std::set<std::string> seen;
  const auto adapt = [&](TensorId id, const Format& to) -> Status {
    if (!to.present() || made[id] == to || !seen.insert(key_of(id, made[id], to)).second) return {};
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
