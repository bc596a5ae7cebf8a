#include "core/routine/implement_choice.h"

#include <algorithm>

#include "core/base/error.h"

namespace softneuro {

Result<ImplementationPtr> implement_choice(const RoutineContext& context,
                                           const Problem& model_problem, const Choice& choice) {
  const Registry& registry = context.registry();
  if (choice.formats.inputs.size() != model_problem.inputs.size() ||
      choice.formats.outputs.size() != model_problem.outputs.size())
    return unsupported("the tuned choice is for another number of inputs or outputs");
  if (model_problem.type->is_view) {
    const bool kept = choice.formats.inputs[0] == choice.formats.outputs[0] &&
                      choice.formats.inputs[0].layout == Layout::plain;
    const DeviceId device = choice.formats.inputs[0].device;
    if (!device.is_host()) SN_RETURN_IF_ERROR(registry.started_device(device).status());
    if (!kept)
      return unsupported(
          "a view (reshape, flatten…) must have the same plain format at its input and output");
    return ImplementationPtr();
  }
  const Routine* routine = registry.find(model_problem.type->name, choice.routine);
  if (routine == nullptr)
    return unsupported("this build has no such routine, or its plugin is not loaded");
  const std::vector<FormatTuple> known = routine->formats(model_problem);
  if (std::find(known.begin(), known.end(), choice.formats) == known.end())
    return unsupported("the routine does not offer the formats {}", choice.formats.str());
  return context.implement(*routine, with_formats(model_problem, choice.formats), choice.params);
}

}  // namespace softneuro
