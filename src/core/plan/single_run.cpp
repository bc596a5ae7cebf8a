#include "core/plan/single_run.h"

#include <cstring>

#include "core/base/error.h"
#include "core/routine/kernel_run.h"

namespace softneuro {

Result<std::vector<Tensor>> run_once(Runtime& runtime, const Kernel& kernel, const Routine& routine,
                                     const Problem& problem, std::vector<Tensor> inputs) {
  Device* const device = runtime.registry().device(routine.descriptor().device);
  SN_ASSIGN_OR_RETURN(KernelRun run, KernelRun::create(kernel, problem, device, std::move(inputs),
                                                       runtime.allocator()));
  for (Tensor& output : run.outputs())
    if (output.bytes() > 0) std::memset(output.mutable_data(), 0, output.bytes());
  SN_RETURN_IF_ERROR(run.start(runtime.pool()));
  SN_RETURN_IF_ERROR(run.finish());
  return std::move(run.outputs());
}

Result<std::vector<Tensor>> run_once(Runtime& runtime, const Implementation& implementation,
                                     std::vector<Tensor> inputs) {
  const RoutineParams params = implementation.default_params();
  SN_ASSIGN_OR_RETURN(PackedWeights packed,
                      implementation.pack_weights(params, runtime.allocator()));
  SN_RETURN_IF_ERROR(runtime.registry().upload(implementation.routine(), packed));
  SN_ASSIGN_OR_RETURN(const auto kernel, implementation.create(params, packed));
  return run_once(runtime, *kernel, implementation.routine(), implementation.whole_problem(),
                  std::move(inputs));
}

Problem adapt_problem(Runtime& runtime, TensorSpec tensor, const Format& from, const Format& to) {
  Problem problem;
  problem.type = runtime.registry().layer_types().find("adapt");
  problem.layer_name = "adapt";
  problem.layer_inputs = 1;
  tensor.constant = false;
  tensor.value = Tensor();
  set_format(tensor, from);
  problem.inputs = {tensor};
  set_format(tensor, to);
  problem.outputs = {std::move(tensor)};
  return problem;
}

Result<Tensor> in_format(Runtime& runtime, const Tensor& tensor, const Format& to,
                         const std::optional<Quantization>& quantization) {
  if (tensor.data_type() == to.type && tensor.layout() == to.layout) return tensor;
  TensorSpec spec;
  spec.shape = tensor.shape();
  spec.quantization = quantization;
  Problem problem = adapt_problem(runtime, spec, {tensor.data_type(), tensor.layout()},
                                  {to.type, to.layout});  // both on the host
  SN_ASSIGN_OR_RETURN(const ImplementationPtr usual,
                      runtime.routine_context().default_choice(std::move(problem)));
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, run_once(runtime, *usual, {tensor}));
  return outputs[0];
}

}  // namespace softneuro
