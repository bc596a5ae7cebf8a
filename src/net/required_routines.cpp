#include "net/required_routines.h"

#include <map>

#include "core/base/error.h"
#include "core/childnet/childnet.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "core/routine/evaluate.h"
#include "net/make_runtime.h"
#include "routines/builtin.h"

namespace softneuro {
namespace {

using Key = std::pair<std::string, std::string>;  // layer type or folder, descriptor

// The folder of each of this library's routines.
std::map<Key, std::string> builtin_folders() {
  std::map<Key, std::string> folders;
  for (std::size_t i = 0; i < builtin_routine_count; ++i) {
    Registry registry(builtin_layer_types());
    if (!builtin_routines[i].add(registry).ok()) continue;
    const std::string_view name = builtin_routines[i].name;
    for (const Routine* routine : registry.all())
      folders[{routine->layer_type(), routine->descriptor().str()}] =
          name.substr(0, name.find('/'));
  }
  return folders;
}

class Collector {
 public:
  explicit Collector(const Registry& registry) : registry_(registry) {}

  Status add_path(const NetProblems& problems, const RoutinePath& path) {
    for (const LayerProblem& layer : problems.layers)
      if (const auto choice = path.layers.find(layer.layer->id); choice != path.layers.end())
        SN_RETURN_IF_ERROR(add_choice(layer, choice->second, path.threads));
    for (const AdaptChoice& adapt : path.adapts) {
      if (adapt.routine.empty()) continue;  // a view
      add("adapt", adapt.routine, problems.graph->tensor(adapt.tensor).name);
    }
    return {};
  }

  std::vector<RequiredRoutine> take() {
    std::vector<RequiredRoutine> list;
    for (auto& [key, routine] : taken_) list.push_back(std::move(routine));
    return list;
  }

 private:
  void add(const std::string& layer_type, const std::string& descriptor, const std::string& layer) {
    const auto folder = folders_.find({layer_type, descriptor});
    const bool is_builtin = folder != folders_.end() && descriptor.starts_with("cpu");
    const std::string& place = is_builtin ? folder->second : layer_type;
    RequiredRoutine& taken = taken_[{place, descriptor}];
    taken.folder = place;
    taken.routine = descriptor;
    taken.is_builtin = is_builtin;
    taken.layers.insert(layer);
  }

  Status add_choice(const LayerProblem& layer, const Choice& choice, int threads) {
    if (choice.routine.empty()) return {};  // a view, or the default choice
    const std::string& name = layer.layer->name;
    add(layer.layer->type->name, choice.routine, name);
    const Routine* routine = registry_.find(layer.layer->type->name, choice.routine);
    if (routine == nullptr) return {};
    Status inside = add_inside(*routine, RoutineContext(registry_, threads),
                               with_formats(layer.problem, choice.formats), choice.params, name);
    if (inside.ok()) return {};
    return std::move(inside).with_context(fmt::format(
        "layer '{}': the inner layers of {} cannot be determined on this machine (run this on the "
        "machine that tuned the net)",
        name, choice.routine));
  }

  // Of a childnet: its layers, and those that its constants are computed by.
  Status add_inside(const Routine& routine, const RoutineContext& context, const Problem& problem,
                    const RoutineParams& params, const std::string& name) {
    if (!routine.facts().is_childnet) return {};
    SN_ASSIGN_OR_RETURN(const ImplementationPtr implementation,
                        context.implement(routine, problem));
    SN_ASSIGN_OR_RETURN(const auto expanded, implementation->as_childnet()->expand(params));
    for (const ChildnetLayer& layer : expanded->layers) {
      if (layer.view) continue;
      const Routine& inner = layer.implementation->routine();
      add(layer.problem.type->name, inner.descriptor().str(), name);
      SN_RETURN_IF_ERROR(
          add_inside(inner, context.inside_childnet(), layer.problem, layer.params, name));
    }
    for (const std::size_t index : expanded->folded) {
      const Layer& layer = expanded->graph.layers()[index];
      std::vector<TensorSpec> inputs;
      for (const TensorId id : layer.inputs)
        inputs.push_back(id == kNoTensor ? TensorSpec{} : expanded->specs[id]);
      SN_ASSIGN_OR_RETURN(Problem folded, make_problem(layer, std::move(inputs)));
      SN_ASSIGN_OR_RETURN(const ImplementationPtr chosen,
                          RoutineContext(registry_).default_choice(std::move(folded)));
      add(layer.type->name, chosen->routine().descriptor().str(), name);
    }
    return {};
  }

  const Registry& registry_;
  const std::map<Key, std::string> folders_ = builtin_folders();
  std::map<Key, RequiredRoutine> taken_;
};

// In the order of the graph's inputs.
Result<std::vector<Shape>> shapes_of(const Graph& graph, const RoutinePath& path) {
  std::vector<Shape> shapes;
  for (const TensorId id : graph.inputs) {
    const auto shape = path.shapes.find(graph.tensor(id).name);
    if (shape == path.shapes.end())
      return make_error(StatusCode::invalid_model, "a tuned path lacks the shape of input '{}'",
                        graph.tensor(id).name);
    shapes.push_back(shape->second);
  }
  return shapes;
}

}  // namespace

Result<std::vector<RequiredRoutine>> required_routines(Graph graph,
                                                       std::span<const RoutinePath> paths) {
  return guarded([&]() -> Result<std::vector<RequiredRoutine>> {
    SN_RETURN_IF_ERROR(graph.sort());
    SN_RETURN_IF_ERROR(graph.infer_shapes());
    const auto shared = std::make_shared<const Graph>(std::move(graph));
    NetOptions options;
    options.threads = 1;
    SN_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> runtime, make_runtime(options));
    // Without plugins, as inside of childnets.
    SN_ASSIGN_OR_RETURN(const Registry registry, make_builtin_registry());
    Collector collector(registry);
    for (const RoutinePath& path : paths) {
      SN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, shapes_of(*shared, path));
      SN_ASSIGN_OR_RETURN(const NetProblems problems, infer_problems(runtime, shared, shapes));
      SN_RETURN_IF_ERROR(collector.add_path(problems, path));
    }
    return collector.take();
  });
}

}  // namespace softneuro
