#include "core/plan/segments.h"

#include <algorithm>

namespace softneuro {

bool stays_on_device(const PlanImpl& plan, const Step& step) {
  if (step.device == 0 || step.kernel == nullptr || step.needs_sync ||
      step.kernel->host_workspace_bytes() > 0)
    return false;
  // Kernels of devices have their constants there.
  const auto is_there = [&](TensorId id) {
    if (id == kNoTensor) return true;
    const PlannedTensor& root = plan.tensors[plan.tensors[id].alias_of];
    return root.storage == Storage::constant ||
           (root.storage == Storage::arena && root.device == step.device);
  };
  return std::ranges::all_of(step.inputs, is_there) && std::ranges::all_of(step.outputs, is_there);
}

void set_segments(PlanImpl& plan) {
  constexpr std::size_t kFewest = 2;  // steps: to play one costs the host no less than to run it
  if (plan.devices.size() == 1) return;
  for (std::size_t s = 0; s < plan.steps.size();) {
    const std::size_t first = s;
    const std::uint32_t device = plan.steps[first].device;
    while (s < plan.steps.size() && plan.steps[s].device == device &&
           stays_on_device(plan, plan.steps[s]))
      ++s;
    if (s - first >= kFewest) plan.segments.push_back({first, s - 1, device});
    if (s == first) ++s;
  }
}

}  // namespace softneuro
