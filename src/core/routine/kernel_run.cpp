#include "core/routine/kernel_run.h"

#include "core/base/error.h"

namespace softneuro {
namespace {

// Gives data-dependent outputs their memory.
class RunContext final : public Context {
 public:
  RunContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
             std::byte* workspace, const Workers& workers, std::vector<Tensor>& tensors,
             Allocator& allocator, std::int64_t max_bytes)
      : Context(inputs, outputs, workspace, workers),
        tensors_(tensors),
        allocator_(allocator),
        max_bytes_(max_bytes) {}

  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return guarded([&]() -> Status {
      if (i >= outputs_.size()) return internal_error("there is no output {}", i);
      if (const auto bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
          bytes < 0 || bytes > max_bytes_)
        return make_error(StatusCode::out_of_memory, "output {} would be {} {}, more than {} bytes",
                          i, to_string(outputs_[i].type), shape.str(), max_bytes_);
      SN_ASSIGN_OR_RETURN(tensors_[i], Tensor::create(outputs_[i].type, shape, allocator_));
      outputs_[i] = view_of(tensors_[i]);
      return {};
    });
  }

 private:
  std::vector<Tensor>& tensors_;
  Allocator& allocator_;
  std::int64_t max_bytes_;
};

}  // namespace

Result<KernelRun> KernelRun::create(const Kernel& kernel, const Problem& problem, Device* device,
                                    std::vector<Tensor> inputs, Allocator& allocator,
                                    std::int64_t max_bytes) {
  KernelRun run;
  run.kernel_ = &kernel;
  run.allocator_ = &allocator;
  run.max_bytes_ = max_bytes;
  run.inputs_ = std::move(inputs);
  for (const Tensor& input : run.inputs_) run.input_views_.push_back(view_of(input));
  run.outputs_.resize(problem.outputs.size());
  for (std::size_t i = 0; i < run.outputs_.size(); ++i)
    SN_RETURN_IF_ERROR(run.add_output(i, problem));
  if (const std::size_t bytes =
          device == nullptr ? kernel.workspace_bytes() : kernel.host_workspace_bytes();
      bytes > 0) {
    SN_ASSIGN_OR_RETURN(run.workspace_, allocate_bytes(bytes, allocator));
  }
  SN_ASSIGN_OR_RETURN(run.state_, kernel.make_state());
  if (device != nullptr) SN_RETURN_IF_ERROR(run.use_device(*device, problem));
  return run;
}

Status KernelRun::add_output(std::size_t i, const Problem& problem) {
  const TensorSpec& spec = problem.outputs[i];
  output_views_.push_back({.type = spec.type});
  if (!spec.present() || problem.type->data_dependent_output) return {};
  if (const auto bytes = storage_bytes(spec.type, spec.shape, spec.layout);
      bytes < 0 || bytes > max_bytes_)
    return make_error(StatusCode::out_of_memory,
                      "output {} of layer '{}' would be {} {}, more than {} bytes", i,
                      problem.layer_name, to_string(spec.type), spec.shape.str(), max_bytes_);
  SN_ASSIGN_OR_RETURN(outputs_[i], Tensor::create(spec.type, spec.shape, *allocator_, spec.layout));
  output_views_[i] = view_of(outputs_[i]);
  return {};
}

// Memory there for what the problem has there.
Status KernelRun::use_device(Device& device, const Problem& problem) {
  device_inputs_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (!spec.present() || spec.constant) continue;
    if (spec.device.is_host()) {
      touches_host_ = true;
      continue;
    }
    SN_ASSIGN_OR_RETURN(device_inputs_[i], upload(device, inputs_[i].data(), inputs_[i].bytes()));
    input_views_[i].data = device_inputs_[i].data();
  }
  device_outputs_.resize(outputs_.size());
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (!problem.outputs[o].present()) continue;
    if (problem.outputs[o].device.is_host()) {
      touches_host_ = true;
      continue;
    }
    SN_ASSIGN_OR_RETURN(device_outputs_[o], device.allocate(outputs_[o].bytes()));
    output_views_[o].data = device_outputs_[o].data();
  }
  SN_ASSIGN_OR_RETURN(device_workspace_, device.allocate(kernel_->workspace_bytes()));
  SN_ASSIGN_OR_RETURN(stream_, device.create_stream());
  return {};
}

void KernelRun::work_in_place() noexcept {
  output_views_[0].data = input_views_[static_cast<std::size_t>(kernel_->in_place_input())].data;
}

Status KernelRun::start(const Workers& workers) noexcept {
  auto* const host = static_cast<std::byte*>(workspace_.mutable_data());
  RunContext context(input_views_, output_views_,
                     stream_ == nullptr ? host : static_cast<std::byte*>(device_workspace_.data()),
                     workers, outputs_, *allocator_, max_bytes_);
  context.set_state(state_.get());
  if (stream_ != nullptr) context.set_device(stream_.get(), host);
  return kernel_->run(context);
}

Status KernelRun::finish() noexcept {
  if (stream_ == nullptr) return {};
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (device_outputs_[o].data() != nullptr)
      SN_RETURN_IF_ERROR(stream_->download(outputs_[o].mutable_data(), output_views_[o].data,
                                           outputs_[o].bytes()));
  return stream_->synchronize();
}

}  // namespace softneuro
