// Running one routine that does not work on the host.
#include <fmt/format.h>

#include "core/base/error.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// The tensors of one run on the device.
struct Buffers {
  std::vector<DeviceMemory> inputs, outputs;
  std::vector<TensorView> input_views, output_views;
};

Result<Buffers> make_buffers(Device& device, const PreparedCase& prepared, int shared) {
  const Problem& problem = prepared.problem;
  Buffers made;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    made.inputs.emplace_back();
    made.input_views.emplace_back();
    if (!spec.present()) continue;
    made.input_views[i] = {spec.type, spec.layout, spec.shape, nullptr};
    if (spec.constant) continue;
    const Tensor& input = prepared.inputs[i];
    SN_ASSIGN_OR_RETURN(made.inputs[i], upload(device, input.data(), input.bytes()));
    made.input_views[i].data = made.inputs[i].data();
  }
  for (std::size_t o = 0; o < problem.outputs.size(); ++o) {
    const TensorSpec& spec = problem.outputs[o];
    made.outputs.emplace_back();
    made.output_views.emplace_back();
    if (!spec.present()) continue;
    const auto bytes = static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
    SN_ASSIGN_OR_RETURN(made.outputs[o], device.allocate(bytes));
    made.output_views[o] = {spec.type, spec.layout, spec.shape, made.outputs[o].data()};
  }
  if (shared >= 0)
    made.output_views[0].data = made.input_views[static_cast<std::size_t>(shared)].data;
  return made;
}

Result<std::vector<Tensor>> outputs_of(Stream& stream, const Buffers& buffers) {
  std::vector<Tensor> outputs;
  for (const TensorView& view : buffers.output_views) {
    Tensor& output = outputs.emplace_back();
    if (!view.present()) continue;
    SN_ASSIGN_OR_RETURN(output,
                        Tensor::create(view.type, view.shape, default_allocator(), view.layout));
    if (output.bytes() > 0)
      SN_RETURN_IF_ERROR(stream.download(output.mutable_data(), view.data, output.bytes()));
  }
  SN_RETURN_IF_ERROR(stream.synchronize());
  return outputs;
}

Result<std::vector<Tensor>> run(const Kernel& kernel, Device& device, const PreparedCase& prepared,
                                ThreadPool& pool, int shared) {
  SN_ASSIGN_OR_RETURN(Buffers buffers, make_buffers(device, prepared, shared));
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.create_stream());
  SN_ASSIGN_OR_RETURN(const DeviceMemory workspace, device.allocate(kernel.workspace_bytes()));
  std::vector<std::byte> host_workspace(kernel.host_workspace_bytes() + kTensorAlignment);
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<KernelState> state, kernel.make_state());
  Context context(buffers.input_views, buffers.output_views,
                  static_cast<std::byte*>(workspace.data()), pool);
  context.set_state(state.get());
  context.set_device(stream.get(), host_workspace.data());
  SN_RETURN_IF_ERROR(kernel.run(context));
  return outputs_of(*stream, buffers);
}

}  // namespace

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
  auto outputs = run(kernel, device, prepared, pool, shared);
  result.status = outputs.status();
  if (outputs.ok()) result.outputs = std::move(*outputs);
  return result;
}

}  // namespace softneuro::test
