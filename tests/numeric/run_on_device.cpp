// Running one routine that does not work on the host.
#include "core/routine/kernel_run.h"
#include "numeric/check_routine.h"

namespace softneuro::test {

void put_on_device(DeviceId device, Problem& problem) {
  for (TensorSpec& spec : problem.inputs) {
    spec.constant = spec.constant || !spec.value.empty();
    if (spec.present() && !spec.constant) spec.device = device;
  }
  for (TensorSpec& spec : problem.outputs)
    if (spec.present()) spec.device = device;
}

RunResult run_on_device(const Kernel& kernel, Device& device, const PreparedCase& prepared,
                        ThreadPool& pool, bool in_place, bool* ran_in_place) {
  const int shared = in_place ? kernel.in_place_input() : -1;
  if (ran_in_place != nullptr) *ran_in_place = shared >= 0;
  RunResult result;
  auto run =
      KernelRun::create(kernel, prepared.problem, &device, prepared.inputs, default_allocator());
  result.status = run.status();
  if (!run.ok()) return result;
  if (shared >= 0) run->work_in_place();
  result.status = run->start(pool);
  if (result.status.ok()) result.status = run->finish();
  if (result.status.ok()) result.outputs = std::move(run->outputs());
  return result;
}

}  // namespace softneuro::test
