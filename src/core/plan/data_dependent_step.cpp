#include "core/plan/data_dependent_step.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/routine/evaluate.h"

namespace softneuro {
namespace {

// Gives data-dependent outputs memory from the session's growing buffers.
class DataDependentContext final : public Context {
 public:
  DataDependentContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
                       std::byte* workspace, Workers workers, const Step& step,
                       std::vector<DataDependentTensor>& tensors, Allocator& allocator)
      : Context(inputs, outputs, workspace, workers),
        step_(step),
        tensors_(tensors),
        allocator_(allocator) {}

  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return guarded([&]() -> Status {
      if (i >= outputs_.size()) return internal_error("there is no output {}", i);
      if (!outputs_[i].present()) return {};
      const std::int64_t bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
      if (bytes < 0)
        return invalid_argument("output {} would have the shape {}, which is too large", i,
                                shape.str());
      GrowingBuffer& buffer = tensors_[step_.outputs[i]].buffer;
      SN_RETURN_IF_ERROR(buffer.reserve(static_cast<std::size_t>(bytes), allocator_));
      outputs_[i].shape = shape;
      outputs_[i].data = buffer.bytes.mutable_data();
      return {};
    });
  }

 private:
  const Step& step_;
  std::vector<DataDependentTensor>& tensors_;
  Allocator& allocator_;
};

}  // namespace

Status GrowingBuffer::reserve(std::size_t needed, Allocator& allocator) {
  if (!bytes.empty() && bytes.bytes() >= needed) return {};
  const std::size_t size = std::max<std::size_t>(needed + needed / 2, 64);
  bytes = Tensor();  // give back first: the old contents are not needed
  SN_ASSIGN_OR_RETURN(bytes, allocate_bytes(size, allocator));
  return {};
}

Status DataDependentStep::run(std::span<TensorView> inputs, std::span<TensorView> outputs,
                              Workers workers) {
  return guarded([&]() -> Status {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (const TensorId id = step_.inputs[i];
          id != kNoTensor && plan_.tensors[id].storage == Storage::data_dependent)
        inputs[i] = tensors_[id].view;
    if (!is_prepared_for(inputs)) SN_RETURN_IF_ERROR(prepare(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = {};
      if (step_.outputs[i] == kNoTensor) continue;
      outputs[i].type = plan_.tensors[step_.outputs[i]].type;
      if (step_.layer->type->data_dependent_output) continue;
      outputs[i].shape = problem_.outputs[i].shape;
      outputs[i].data = tensors_[step_.outputs[i]].buffer.bytes.mutable_data();
    }
    DataDependentContext context(inputs, outputs,
                                 static_cast<std::byte*>(workspace_.bytes.mutable_data()), workers,
                                 step_, tensors_, allocator_);
    context.set_state(state_.get());
    SN_RETURN_IF_ERROR(kernel_->run(context));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (step_.outputs[i] != kNoTensor) tensors_[step_.outputs[i]].view = outputs[i];
    return {};
  });
}

// Same shapes, and same values where the kernel was made for values.
bool DataDependentStep::is_prepared_for(std::span<const TensorView> now) const {
  if (!prepared_) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const TensorSpec& before = problem_.inputs[i];
    if (before.type != now[i].type || !(before.shape == now[i].shape)) return false;
    if (!before.constant && before.value.bytes() > 0 &&
        std::memcmp(before.value.data(), now[i].data, before.value.bytes()) != 0)
      return false;
  }
  return true;
}

Status DataDependentStep::prepare(std::span<const TensorView> now) {
  prepared_ = false;
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < now.size(); ++i) {
    SN_ASSIGN_OR_RETURN(specs.emplace_back(), spec_of(i, now[i]));
  }
  SN_ASSIGN_OR_RETURN(problem_, make_problem(*step_.layer, std::move(specs)));
  // Before the kernel, which may take memory by the same sizes.
  for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
    const TensorSpec& spec = problem_.outputs[i];
    if (!spec.present() || step_.layer->type->data_dependent_output) continue;
    const std::int64_t bytes = storage_bytes(spec.type, spec.shape, Layout::plain);
    SN_RETURN_IF_ERROR(
        tensors_[step_.outputs[i]].buffer.reserve(static_cast<std::size_t>(bytes), allocator_));
  }
  SN_ASSIGN_OR_RETURN(PreparedKernel prepared, prepare_kernel(plan_, *step_.layer, problem_));
  state_.reset();
  kernel_ = std::move(prepared.kernel);
  SN_ASSIGN_OR_RETURN(state_, kernel_->make_state());
  SN_RETURN_IF_ERROR(workspace_.reserve(kernel_->workspace_bytes(), allocator_));
  prepared_ = true;
  return {};
}

Result<TensorSpec> DataDependentStep::spec_of(std::size_t i, const TensorView& now) const {
  TensorSpec spec;
  spec.type = now.type;
  spec.shape = now.shape;
  if (!now.present()) return spec;
  const TensorId id = step_.inputs[i];
  // Not of a view of one that planning has not folded: it has no values of its own.
  spec.constant = !plan_.tensors[id].constant.empty();
  if (spec.constant) {
    spec.value = plan_.tensors[id].constant;
  } else if (step_.layer->type->needs_value(i)) {
    const auto bytes =
        static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, Layout::plain));
    SN_ASSIGN_OR_RETURN(const Tensor value,
                        Tensor::borrow_const(spec.type, spec.shape, now.data, bytes));
    SN_ASSIGN_OR_RETURN(spec.value, value.clone(allocator_));
  }
  spec.quantization = plan_.graph->tensor(id).quantization;
  return spec;
}

}  // namespace softneuro
