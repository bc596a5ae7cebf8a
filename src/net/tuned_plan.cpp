#include "net/tuned_plan.h"

#include <algorithm>
#include <fstream>

#include "adapt/insert_adapts.h"
#include "core/base/checksum.h"
#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/childnet/childnet.h"

namespace softneuro {
namespace {

// The processor's own name; where the system does not tell it, its architecture.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) != 0 || colon == std::string::npos) continue;
    std::string name = line.substr(colon + 1);
    name.erase(0, name.find_first_not_of(" \t"));
    name.erase(name.find_last_not_of(" \t") + 1);
    // What separates fields elsewhere.
    for (char& c : name)
      if (c == ',' || c == '\t' || c == '|') c = ' ';
    if (!name.empty()) return name;
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown processor";
#endif
}

std::string describe(const Quantization& q) {
  std::string text = q.is_signed ? "s" : "u";
  text += std::to_string(q.axis);
  return fmt::format("{}:{:x}", text,
                     checksum(q.scales.data(), q.scales.size() * sizeof(float)) * 31 +
                         checksum(q.zero_points.data(), q.zero_points.size() * sizeof(int)));
}

// Type, shape and the borders of the bytes: constants can be hundreds of megabytes.
std::string describe(const Tensor& constant) {
  constexpr std::size_t kBorder = 4096;
  const auto* const bytes = static_cast<const std::byte*>(constant.data());
  const std::size_t head = std::min(constant.bytes(), kBorder);
  return fmt::format("{}[{}]{:x}.{:x}", to_string(constant.data_type()), constant.shape().str(),
                     checksum(bytes, head), checksum(bytes + constant.bytes() - head, head));
}

Status replace_unfit_choices(const Registry& registry, const NetProblems& problems,
                             RoutinePath& path, std::vector<std::string>* replaced) {
  for (const LayerProblem& layer : problems.layers) {
    const auto found = path.layers.find(layer.layer->id);
    if (found == path.layers.end()) continue;
    const Applicability fits = check_choice(registry, layer.problem, found->second);
    if (fits.ok()) continue;
    if (replaced != nullptr)
      replaced->push_back(fmt::format("layer '{}': {} is replaced by a default choice: {}",
                                      layer.layer->name, found->second.routine, fits.reason()));
    path.layers.erase(found);
  }
  // Layers that are no step of this plan: folded, dynamic, or of another graph.
  std::erase_if(path.layers, [&](const auto& entry) {
    return std::none_of(problems.layers.begin(), problems.layers.end(),
                        [&](const LayerProblem& l) { return l.layer->id == entry.first; });
  });
  return {};
}

// Adapt routines that do not apply here: the default ones serve.
void forget_unfit_adapts(const Registry& registry, RoutinePath& path) {
  std::erase_if(path.adapts, [&](const AdaptChoice& adapt) {
    return registry.find("adapt", adapt.routine) == nullptr;
  });
}

// The level; and if features are masked, what is left beyond it, which makes another machine of it.
std::string instructions() {
  const std::string level = to_string(current_isa());
  if (usable_features() == processor_features()) return level;
  const std::string more = to_string(usable_features() - allowed_features(level));
  return level + (more.empty() ? " alone" : " with " + more);
}

}  // namespace

const std::string& machine_name() {
  static const std::string name = processor_name() + ", " + instructions();
  return name;
}

std::uint64_t graph_key(const Graph& graph) {
  std::string text;
  for (const Layer& layer : graph.layers()) {
    text += fmt::format("L{} {} {}", layer.id, layer.type->name, layer.params.str());
    for (const PostOp& op : layer.post_ops) text += '+' + op.str();
    for (const TensorId id : layer.inputs) text += fmt::format(" {}", id);
    text += " ->";
    for (const TensorId id : layer.outputs) text += fmt::format(" {}", id);
    text += '\n';
  }
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const TensorDef& def = graph.tensor(id);
    text += fmt::format("T{} {} {}", id, to_string(def.type), def.shape.str());
    if (def.quantization) text += ' ' + describe(*def.quantization);
    if (def.is_constant()) text += ' ' + describe(def.constant);
    text += '\n';
  }
  for (const TensorId id : graph.inputs) text += fmt::format("I{} ", id);
  for (const TensorId id : graph.outputs) text += fmt::format("O{} ", id);
  return checksum(text.data(), text.size());
}

Result<NetProblems> problems_of(std::shared_ptr<NetCore> core, std::shared_ptr<const Graph> graph,
                                std::span<const Shape> input_shapes,
                                const std::atomic<bool>* cancel) {
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<PlanImpl> outline,
                      outline_plan(std::move(core), graph, input_shapes, cancel));
  NetProblems problems;
  for (const Step& step : outline->steps) {
    if (step.dynamic) continue;
    LayerProblem layer;
    layer.layer = step.layer;
    SN_ASSIGN_OR_RETURN(layer.problem, problem_of(*outline, *step.layer));
    for (const TensorId id : step.inputs)
      if (id != kNoTensor && outline->slots[id].home == Home::constant &&
          !graph->tensor(id).is_constant())
        layer.shareable = false;
    problems.layers.push_back(std::move(layer));
  }
  problems.graph = std::move(graph);
  return problems;
}

Applicability check_choice(const Registry& registry, const Problem& model_problem,
                           const Choice& choice) {
  if (choice.formats.inputs.size() != model_problem.inputs.size() ||
      choice.formats.outputs.size() != model_problem.outputs.size())
    return Applicability::no("it was made for another number of inputs or outputs");
  const Problem problem = with_formats(model_problem, choice.formats);
  if (model_problem.type->is_view) {
    const bool kept = choice.formats.inputs[0] == choice.formats.outputs[0] &&
                      choice.formats.inputs[0].layout == Layout::plain;
    return kept ? Applicability::yes()
                : Applicability::no("a view takes one plain format and gives the same");
  }
  const Routine* routine = registry.find(model_problem.type->name, choice.routine);
  if (routine == nullptr) return Applicability::no("no such routine is here");
  const std::vector<FormatTuple> known = routine->formats(model_problem);
  if (std::find(known.begin(), known.end(), choice.formats) == known.end())
    return Applicability::no("the routine does not offer the formats " + choice.formats.str());
  if (Applicability fits = registry.check(*routine, problem); !fits) return fits;
  const bool usual = choice.params == routine->default_params(problem);
  if (const ChildnetRoutine* childnet = routine->as_childnet(); childnet != nullptr && !usual)
    return childnet->check_params(problem, choice.params);
  const ParamSpace space = routine->param_space(problem);
  if (!usual && (space.axes.empty() || !space.contains(choice.params)))
    return Applicability::no("the routine does not have the parameters " + choice.params.str());
  return Applicability::yes();
}

Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<NetCore> core,
                                               std::shared_ptr<const Graph> graph,
                                               std::span<const Shape> input_shapes,
                                               const RoutinePath& path,
                                               std::vector<std::string>* replaced,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    RoutinePath fitting = path;
    SN_ASSIGN_OR_RETURN(const NetProblems problems, problems_of(core, graph, input_shapes, cancel));
    SN_RETURN_IF_ERROR(replace_unfit_choices(core->registry(), problems, fitting, replaced));
    forget_unfit_adapts(core->registry(), fitting);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, fitting));
    return build_plan(std::move(core), std::move(adapted.graph), input_shapes,
                      std::move(adapted.choices), cancel);
  });
}

}  // namespace softneuro
