#include "adapt/device_copy.h"

#include "core/base/alignment.h"
#include "core/base/error.h"

namespace softneuro {
namespace {

std::size_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout));
}

TensorView view_of(const TensorSpec& spec, void* data) {
  return {spec.type, spec.layout, spec.shape, data};
}

class CopyKernel final : public Kernel {
 public:
  // `convert`: between the host's side and what is on the device; null if they are alike.
  CopyKernel(const Problem& problem, std::unique_ptr<Kernel> convert)
      : convert_(std::move(convert)), is_upload_(problem.inputs[0].device.is_host()) {
    on_device_ = is_upload_ ? problem.outputs[0] : problem.inputs[0];
    on_device_.value = Tensor();
    bytes_ = bytes_of(on_device_);
  }

  std::size_t host_workspace_bytes() const noexcept override {
    return convert_ == nullptr ? 0 : aligned(bytes_) + convert_->workspace_bytes();
  }

  Status run(Context& context) const noexcept override {
    void* const from = context.input(0).data;
    void* const to = context.output(0).data;
    Stream& stream = *context.stream();
    if (convert_ == nullptr)
      return is_upload_ ? stream.upload(to, from, bytes_) : stream.download(to, from, bytes_);
    std::byte* const copy = context.host_workspace();
    if (is_upload_) {
      SN_RETURN_IF_ERROR(convert(context, context.input(0), view_of(on_device_, copy)));
      return stream.upload(to, copy, bytes_);
    }
    SN_RETURN_IF_ERROR(stream.download(copy, from, bytes_));
    SN_RETURN_IF_ERROR(stream.synchronize());
    return convert(context, view_of(on_device_, copy), context.output(0));
  }

 private:
  Status convert(Context& outer, const TensorView& from, TensorView to) const noexcept {
    Context context({&from, 1}, {&to, 1}, outer.host_workspace() + aligned(bytes_), outer.pool());
    return convert_->run(context);
  }

  std::unique_ptr<Kernel> convert_;
  bool is_upload_;
  TensorSpec on_device_;
  std::size_t bytes_;
};

bool is_plain_copy(const Problem& problem) {
  return problem.inputs[0].type == problem.outputs[0].type &&
         problem.inputs[0].layout == problem.outputs[0].layout;
}

class CopyImplementation final : public Implementation {
 public:
  // `convert`: the same change of type and layout on the host; null if there is none.
  CopyImplementation(ProblemPtr problem, const RoutineContext& context, ImplementationPtr convert)
      : Implementation(std::move(problem), context), convert_(std::move(convert)) {}

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights&) const override {
    std::unique_ptr<Kernel> convert;
    if (convert_ != nullptr) {
      SN_ASSIGN_OR_RETURN(convert, convert_->create(convert_->default_params()));
    }
    return make_kernel<CopyKernel>(problem(), std::move(convert));
  }

 private:
  ImplementationPtr convert_;
};

class DeviceCopy final : public Routine {
 public:
  explicit DeviceCopy(DeviceId device) : Routine("adapt", std::string(device.c_str()) + "/copy") {}

 protected:
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    if (problem->inputs[0].device == problem->outputs[0].device)
      return unsupported("needs one side on the host");
    ImplementationPtr convert;
    if (!is_plain_copy(*problem)) {
      Problem on_host = *problem;
      on_host.inputs[0].device = on_host.outputs[0].device = DeviceId();
      SN_ASSIGN_OR_RETURN(convert, context.default_choice(std::move(on_host)));
    }
    return make_implementation_of<CopyImplementation>(std::move(problem), context,
                                                      std::move(convert));
  }
};

}  // namespace

Status add_device(Registry& registry, std::unique_ptr<Device> device) {
  const DeviceId id = device->id();
  SN_RETURN_IF_ERROR(registry.add_device(std::move(device)));
  return registry.add(std::make_unique<DeviceCopy>(id));
}

}  // namespace softneuro
