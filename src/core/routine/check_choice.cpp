#include "core/routine/check_choice.h"

#include <algorithm>

namespace softneuro {

Applicability check_choice(const Registry& registry, const Problem& model_problem,
                           const Choice& choice) {
  if (choice.formats.inputs.size() != model_problem.inputs.size() ||
      choice.formats.outputs.size() != model_problem.outputs.size())
    return Applicability::no("the tuned choice is for another number of inputs or outputs");
  const Problem problem = with_formats(model_problem, choice.formats);
  if (model_problem.type->is_view) {
    const bool kept = choice.formats.inputs[0] == choice.formats.outputs[0] &&
                      choice.formats.inputs[0].layout == Layout::plain;
    const DeviceId device = choice.formats.inputs[0].device;
    if (!device.is_host() && registry.device(device) == nullptr)
      return Applicability::no(std::string("there is no device ") + device.c_str());
    return kept ? Applicability::yes()
                : Applicability::no(
                      "a view (reshape, flatten…) must have the same plain format at its input and "
                      "output");
  }
  const Routine* routine = registry.find(model_problem.type->name, choice.routine);
  if (routine == nullptr)
    return Applicability::no("this build has no such routine, or its plugin is not loaded");
  const std::vector<FormatTuple> known = routine->formats(model_problem);
  if (std::find(known.begin(), known.end(), choice.formats) == known.end())
    return Applicability::no("the routine does not offer the formats " + choice.formats.str());
  if (Applicability fits = registry.check(*routine, problem); !fits) return fits;
  return routine->check_params(problem, choice.params);
}

}  // namespace softneuro
