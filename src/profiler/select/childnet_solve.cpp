#include "profiler/select/childnet_solve.h"

#include "core/base/error.h"
#include "core/childnet/childnet_text.h"
#include "verify/random_inputs.h"

namespace softneuro {
namespace {

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

}  // namespace

Result<ChildnetInside> solve_inside(const RoutineContext& context,
                                    const ChildnetImplementation& childnet,
                                    const RoutineParams& outer_params, const CandidateRules& rules,
                                    double bound_us, Allocator& allocator,
                                    const MeasureInside& measure) {
  SN_ASSIGN_OR_RETURN(const auto expanded, childnet.expand(outer_params));
  ChildnetInside result;
  std::vector<InnerChoice> choices;
  // Every tensor has one format inside, so nothing is adapted there, and the best path takes each
  // layer's fastest candidate.
  for (const ChildnetLayer& layer : expanded->layers) {
    if (layer.view) continue;
    std::vector<std::size_t> folded;
    SN_ASSIGN_OR_RETURN(Problem alone, standalone(childnet.problem(), layer, allocator, folded));
    std::vector<Candidate> candidates = list_fixed_candidates(context, alone, rules);
    const FillConstants fill = [&] {
      for (const std::size_t i : folded) fill_random(alone.inputs[i], alone.inputs[i].value);
    };
    SN_RETURN_IF_ERROR(measure(alone, candidates, fill));
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates)
      if (candidate.is_usable() && (best == nullptr || candidate.isolated_us < best->isolated_us))
        best = &candidate;
    if (best == nullptr) return result;
    choices.push_back(
        {layer.problem.layer_name, best->routine->descriptor().str(), print_params(best->params)});
    result.time_us += best->isolated_us;
    result.within_bound = result.time_us <= bound_us;
    if (!result.within_bound) return result;
  }
  result.known = true;
  result.inner = print_inner(choices);
  return result;
}

}  // namespace softneuro
