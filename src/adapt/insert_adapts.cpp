#include "adapt/insert_adapts.h"

#include <map>

#include "core/base/error.h"
#include "core/layers/builtin_layers.h"

namespace softneuro {
namespace {

class Inserter {
 public:
  Inserter(const Graph& graph, const RoutinePath& path)
      : path_(path), graph_(std::make_shared<Graph>(graph)), produced_(graph.tensor_count()) {}

  Result<AdaptedGraph> run() {
    adapt_type_ = builtin_layer_types().find("adapt");
    if (adapt_type_ == nullptr) return internal_error("there is no layer type adapt");
    for (TensorId id = 0; id < produced_.size(); ++id) produced_[id] = model_format(id);
    for (const TensorId id : graph_->inputs) produced_[id] = callers_format(id);

    std::vector<Layer> layers = std::move(graph_->layers());
    std::vector<Layer> done;
    for (Layer& layer : layers) {
      const auto found = path_.layers.find(layer.id);
      const Choice* choice = found == path_.layers.end() ? nullptr : &found->second;
      if (choice != nullptr) {
        if (choice->formats.inputs.size() != layer.inputs.size() ||
            choice->formats.outputs.size() != layer.outputs.size())
          return internal_error("layer '{}': the choice has formats for other inputs or outputs",
                                layer.name);
        choices_.emplace(layer.id, *choice);
      }
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        const TensorId id = layer.inputs[i];
        if (id == kNoTensor || graph_->tensor(id).is_constant()) continue;
        layer.inputs[i] =
            in_format(id, choice != nullptr ? choice->formats.inputs[i] : model_format(id), done);
      }
      for (std::size_t o = 0; o < layer.outputs.size(); ++o)
        if (choice != nullptr && layer.outputs[o] != kNoTensor)
          produced_[layer.outputs[o]] = choice->formats.outputs[o];
      done.push_back(std::move(layer));
    }
    give_outputs(done);
    graph_->layers() = std::move(done);
    return AdaptedGraph{std::move(graph_), std::move(choices_)};
  }

 private:
  Format model_format(TensorId id) const { return {graph_->tensor(id).type, Layout::plain}; }
  Format callers_format(TensorId id) const {
    return {graph_->tensor(id).type, Layout::plain, graph_->tensor(id).device};
  }

  // The tensor that holds `id` in `wanted`; makes the layer that computes it, if need be.
  TensorId in_format(TensorId id, const Format& wanted, std::vector<Layer>& done) {
    if (!wanted.present() || wanted == produced_[id]) return id;
    const std::string key = wanted.str();
    const auto [place, is_new] = adapted_.emplace(std::pair(id, key), kNoTensor);
    if (!is_new) return place->second;

    const TensorDef& source = graph_->tensor(id);
    TensorDef def;
    def.name = graph_->unique_tensor_name(source.name + '@' + key);
    def.type = source.type;
    def.shape = source.shape;
    def.quantization = source.quantization;
    const std::string name = def.name;
    const TensorId made = graph_->add_tensor(std::move(def));
    produced_.push_back(wanted);

    Layer layer;
    layer.id = graph_->next_layer_id();
    graph_->set_next_layer_id(layer.id + 1);
    layer.type = adapt_type_;
    layer.name = "adapt " + name;
    layer.inputs = {id};
    layer.outputs = {made};
    layer.layer_inputs = 1;
    choices_.emplace(layer.id, adapt_choice(id, produced_[id], wanted));
    done.push_back(std::move(layer));
    place->second = made;
    return made;
  }

  Choice adapt_choice(TensorId id, const Format& from, const Format& to) const {
    Choice choice;
    choice.formats = {{from}, {to}};
    for (const AdaptChoice& known : path_.adapts)
      if (known.tensor == id && known.from == from && known.to == to) {
        choice.routine = known.routine;
        choice.params = known.params;
        choice.time_us = known.time_us;
      }
    return choice;
  }

  // The adapted tensor takes over the output's name.
  void give_outputs(std::vector<Layer>& done) {
    for (TensorId& output : graph_->outputs) {
      const TensorId made = in_format(output, callers_format(output), done);
      if (made == output) continue;
      const std::string name = graph_->tensor(output).name;
      if (graph_->tensor(made).name != name) {
        graph_->rename_tensor(output, name + '@' + produced_[output].str());
        graph_->rename_tensor(made, name);
      }
      output = made;
    }
  }

  const RoutinePath& path_;
  std::shared_ptr<Graph> graph_;
  const LayerType* adapt_type_ = nullptr;
  std::vector<Format> produced_;  // per tensor: the format that it has
  std::map<std::pair<TensorId, std::string>, TensorId> adapted_;
  Choices choices_;
};

}  // namespace

Result<AdaptedGraph> insert_adapts(const Graph& graph, const RoutinePath& path) {
  return guarded([&] { return Inserter(graph, path).run(); });
}

}  // namespace softneuro
