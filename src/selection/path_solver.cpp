#include "selection/path_solver.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/error.h"

namespace softneuro {
namespace {

std::string adapt_key(TensorId tensor, const Format& from, const Format& to) {
  return fmt::format("{}|{}|{}", tensor, from.str(), to.str());
}

class Mapper {
 public:
  Mapper(const Graph& graph, const std::vector<LayerOptions>& layers, AdaptTimes& adapts)
      : graph_(graph), layers_(layers), adapts_(adapts) {}

  Result<Selections> solve(const dprs::Limits& limits, bool counts_memory) {
    add_tensors();
    SN_RETURN_IF_ERROR(add_layers());
    SN_RETURN_IF_ERROR(add_adapts());
    problem_.formats = static_cast<int>(formats_.size());
    if (counts_memory) add_sizes();
    SN_ASSIGN_OR_RETURN(const dprs::Solution solution, dprs::solve(problem_, limits));
    Selections selections;
    selections.gap = solution.gap;
    for (const dprs::Path& path : solution.paths) {
      Selection selection;
      selection.cost_us = path.cost;
      selection.memory = path.memory;
      selection.choice.assign(layers_.size(), -1);
      for (std::size_t r = 0; r < rows_.size(); ++r)
        selection.choice[rows_[r]] =
            layers_[rows_[r]].options[static_cast<std::size_t>(path.choice[r])].number;
      selections.paths.push_back(std::move(selection));
    }
    return selections;
  }

 private:
  int format_index(const Format& format) {
    const auto found = std::find(formats_.begin(), formats_.end(), format);
    if (found != formats_.end()) return static_cast<int>(found - formats_.begin());
    formats_.push_back(format);
    return static_cast<int>(formats_.size()) - 1;
  }
  Format model_format(TensorId id) const { return {graph_.tensor(id).type, Layout::plain}; }
  // Of an input or output.
  Format callers_format(TensorId id) const {
    return {graph_.tensor(id).type, Layout::plain, graph_.tensor(id).device};
  }

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
    for (const TensorId id : graph_.inputs) {
      problem_.tensors[id].fixed_format = format_index(callers_format(id));
      made_[id] = {problem_.tensors[id].fixed_format};
    }
  }

  Status add_layers() {
    std::unordered_map<LayerId, std::size_t> index;
    for (std::size_t l = 0; l < layers_.size(); ++l) index[layers_[l].layer->layer->id] = l;
    for (const Layer& layer : graph_.layers()) {
      const auto found = index.find(layer.id);
      // Folded while planning, unused, or data-dependent: the model's formats on all sides.
      if (found == index.end()) {
        for (const TensorId id : layer.inputs)
          if (is_variable(id)) want(id, format_index(model_format(id)));
        continue;
      }
      SN_RETURN_IF_ERROR(add_layer(layer, found->second));
    }
    for (const TensorId id : graph_.outputs)
      if (!graph_.tensor(id).is_constant()) want(id, format_index(callers_format(id)));
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

  Status add_layer(const Layer& layer, std::size_t l) {
    if (layers_[l].options.empty())
      return unsupported(
          "layer '{}': no candidate is left (all wrong, excluded or not measured): allow more "
          "schemas, or more time",
          layer.name);
    dprs::Layer row;
    for (const TensorId id : layer.inputs)
      row.inputs.push_back(is_variable(id) ? static_cast<int>(id) : -1);
    for (const TensorId id : layer.outputs) {
      row.outputs.push_back(id == kNoTensor ? -1 : static_cast<int>(id));
      if (id == kNoTensor) continue;
      problem_.tensors[id].fixed_format = -1;
      made_[id].clear();
    }
    for (const LayerOption& option : layers_[l].options) {
      dprs::Candidate candidate;
      candidate.time = option.cost;
      candidate.workspace = option.workspace;
      candidate.resident = option.packed;
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const bool variable = is_variable(layer.inputs[i]);
        const int format = variable ? format_index(option.formats->inputs[i]) : -1;
        candidate.inputs.push_back(format);
        if (variable) wanted_[layer.inputs[i]].insert(format);
      }
      for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
        const bool present = layer.outputs[o] != kNoTensor;
        const int format = present ? format_index(option.formats->outputs[o]) : -1;
        candidate.outputs.push_back(format);
        if (present) made_[layer.outputs[o]].insert(format);
      }
      row.candidates.push_back(std::move(candidate));
    }
    problem_.layers.push_back(std::move(row));
    rows_.push_back(l);
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
    for (const LayerOptions& entry : layers_) for_each_tensor(*entry.layer, add);
  }

  // Only adapts that some pair of options asks for are asked about.
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
  const std::vector<LayerOptions>& layers_;
  AdaptTimes& adapts_;
  dprs::Problem problem_;
  std::vector<Format> formats_;
  std::vector<std::set<int>> made_, wanted_;  // per tensor: formats that options make and want
  std::vector<std::size_t> rows_;             // per layer of the solver: the index in layers_
};

}  // namespace

Result<AdaptChoice> AdaptTimes::of(TensorId tensor, const Format& from, const Format& to) {
  const std::string key = adapt_key(tensor, from, to);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  SN_ASSIGN_OR_RETURN(AdaptChoice choice, measure_(tensor, from, to));
  choice.tensor = tensor;
  choice.from = from;
  choice.to = to;
  known_.emplace(key, choice);
  return choice;
}

void AdaptTimes::set_net_time(TensorId tensor, const Format& from, const Format& to, double us) {
  if (const auto found = known_.find(adapt_key(tensor, from, to)); found != known_.end())
    found->second.time_us = us;
}

Result<Selections> solve_paths(const Graph& graph, const std::vector<LayerOptions>& layers,
                               AdaptTimes& adapts, const dprs::Limits& limits, bool counts_memory) {
  return guarded([&] { return Mapper(graph, layers, adapts).solve(limits, counts_memory); });
}

}  // namespace softneuro
