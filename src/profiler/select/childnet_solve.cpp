#include "profiler/select/childnet_solve.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "dprs/dprs.h"
#include "profiler/measure/kernel_bench.h"

namespace softneuro {
namespace {

// One layer that is computed inside, with what may compute it.
struct Inside {
  ChildnetLayer* layer = nullptr;
  std::vector<Candidate> candidates;  // empty: a view
};

bool is_usable(const Candidate& candidate) {
  return !candidate.wrong && std::isfinite(candidate.unit_us);
}

// The layer as a problem that can be packed and run alone; `folded` are its constants that have no
// values yet.
Result<Problem> standalone(const Problem& outer, const ChildnetLayer& layer, Allocator& allocator,
                           std::vector<std::size_t>& folded) {
  Problem problem = layer.problem;
  problem.layer_name = outer.layer_name + '/' + layer.problem.layer_name;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    TensorSpec& spec = problem.inputs[i];
    if (!spec.present() || !spec.constant || !spec.value.empty()) continue;
    SN_ASSIGN_OR_RETURN(spec.value, Tensor::create(spec.type, spec.shape, allocator));
    if (is_float(spec.type))
      folded.push_back(i);
    else
      fill_random(spec, spec.value);  // may say what the work is
  }
  return problem;
}

// The inside as the solver sees it. Every tensor has one format there, that of the expanded
// childnet, so nothing is adapted between layers.
class Model {
 public:
  Model(const ExpandedChildnet& expanded, const std::vector<Inside>& layers)
      : expanded_(expanded), layers_(layers) {}

  dprs::Childnet build(std::size_t own_ports) {
    net_.problem.tensors.resize(expanded_.graph.tensor_count());
    net_.inputs.assign(own_ports, -1);
    for (TensorId id = 0; id < expanded_.graph.tensor_count(); ++id) {
      const std::int32_t outer_input = expanded_.outer_inputs[id];
      if (outer_input >= 0 && is_variable(id))
        net_.inputs[static_cast<std::size_t>(outer_input)] = static_cast<int>(id);
    }
    for (const TensorId id : expanded_.graph.outputs) net_.outputs.push_back(static_cast<int>(id));
    for (const Inside& inside : layers_) add(inside);
    net_.problem.formats = static_cast<int>(formats_.size());
    return std::move(net_);
  }

  // The only format of each tensor on a border; empty where a port is left out.
  std::vector<std::vector<int>> border(const std::vector<int>& tensors) {
    std::vector<std::vector<int>> formats;
    for (const int id : tensors) {
      formats.emplace_back();
      if (id >= 0) formats.back() = {format_of(static_cast<TensorId>(id))};
    }
    return formats;
  }

  // Which of a layer's candidates the solver's row `layer` stands for.
  std::size_t candidate(std::size_t layer, int choice) const {
    return rows_[layer][static_cast<std::size_t>(choice)];
  }

 private:
  bool is_variable(TensorId id) const { return id != kNoTensor && !expanded_.specs[id].constant; }

  int format_of(TensorId id) {
    const Format format = softneuro::format_of(expanded_.specs[id]);
    const auto found = std::find(formats_.begin(), formats_.end(), format);
    if (found != formats_.end()) return static_cast<int>(found - formats_.begin());
    formats_.push_back(format);
    return static_cast<int>(formats_.size()) - 1;
  }

  void add(const Inside& inside) {
    const Layer& layer = expanded_.graph.layers()[inside.layer->index];
    dprs::Layer row;
    dprs::Candidate option;
    for (const TensorId id : layer.inputs) {
      row.inputs.push_back(is_variable(id) ? static_cast<int>(id) : -1);
      option.inputs.push_back(is_variable(id) ? format_of(id) : -1);
    }
    for (const TensorId id : layer.outputs) {
      row.outputs.push_back(id == kNoTensor ? -1 : static_cast<int>(id));
      option.outputs.push_back(id == kNoTensor ? -1 : format_of(id));
    }
    std::vector<std::size_t> of;
    for (std::size_t c = 0; c < inside.candidates.size(); ++c) {
      if (!is_usable(inside.candidates[c])) continue;
      option.time = inside.candidates[c].unit_us;
      row.candidates.push_back(option);
      of.push_back(c);
    }
    if (inside.layer->view) {
      row.candidates.push_back(option);
      of.push_back(0);
    }
    net_.problem.layers.push_back(std::move(row));
    rows_.push_back(std::move(of));
  }

  const ExpandedChildnet& expanded_;
  const std::vector<Inside>& layers_;
  dprs::Childnet net_;
  std::vector<Format> formats_;
  std::vector<std::vector<std::size_t>> rows_;  // per layer: index of each usable candidate
};

// Gives the expanded childnet's layers what the best path takes.
Status choose_best_path(const Problem& problem, ExpandedChildnet& expanded,
                        const std::vector<Inside>& layers) {
  Model model(expanded, layers);
  const dprs::Childnet net = model.build(problem.inputs.size());
  const auto inputs = model.border(net.inputs), outputs = model.border(net.outputs);
  SN_ASSIGN_OR_RETURN(const std::vector<dprs::ChildnetRow> rows,
                      dprs::solve_childnet(net, inputs, outputs));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].layer->view) continue;
    const Candidate& best = layers[l].candidates[model.candidate(l, rows[0].path.choice[l])];
    layers[l].layer->routine = best.routine;
    layers[l].layer->params = best.params;
  }
  return {};
}

}  // namespace

Result<ChildnetInside> solve_inside(const Registry& registry, const ChildnetRoutine& childnet,
                                    const Problem& problem, const RoutineParams& own,
                                    const CandidateRules& rules, double bound_us,
                                    Allocator& allocator, const MeasureInside& measure) {
  SN_ASSIGN_OR_RETURN(ExpandedChildnet expanded, childnet.expand(problem, own));
  ChildnetInside result;
  std::vector<Inside> layers;
  for (ChildnetLayer& layer : expanded.layers) {
    Inside& inside = layers.emplace_back();
    inside.layer = &layer;
    if (layer.view) continue;
    std::vector<std::size_t> folded;
    SN_ASSIGN_OR_RETURN(Problem alone, standalone(problem, layer, allocator, folded));
    inside.candidates = list_fixed_candidates(registry, alone, rules);
    const FillConstants fill = [&] {
      for (const std::size_t i : folded) fill_random(alone.inputs[i], alone.inputs[i].value);
    };
    SN_RETURN_IF_ERROR(measure(alone, inside.candidates, fill));
    double best = INFINITY;
    for (const Candidate& candidate : inside.candidates)
      if (is_usable(candidate)) best = std::min(best, candidate.unit_us);
    if (!std::isfinite(best)) return result;
    result.time_us += best;
    result.within_bound = result.time_us <= bound_us;
    if (!result.within_bound) return result;
  }
  SN_RETURN_IF_ERROR(choose_best_path(problem, expanded, layers));
  result.known = true;
  result.inner = ChildnetRoutine::inner_text(expanded);
  return result;
}

}  // namespace softneuro
