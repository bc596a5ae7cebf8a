#include "core/base/printable.h"
#include "core/plan/plan_impl.h"

namespace softneuro {

Plan::Plan(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Plan::~Plan() = default;

std::shared_ptr<const Plan> PlanAccess::make(std::unique_ptr<Impl> impl) {
  return std::shared_ptr<const Plan>(new Plan(std::move(impl)));
}

std::string names_of(std::span<const TensorInfo> infos) {
  std::string text;
  for (const TensorInfo& info : infos) text += (text.empty() ? "'" : ", '") + info.name + "'";
  return text.empty() ? "none" : text;
}

std::span<const TensorInfo> Plan::inputs() const noexcept {
  return impl_->inputs;
}
std::span<const TensorInfo> Plan::outputs() const noexcept {
  return impl_->outputs;
}
std::size_t Plan::arena_bytes() const noexcept {
  return impl_->devices[0].arena_bytes;
}

MemoryReport Plan::memory_report() const {
  MemoryReport report;
  report.weights = impl_->weight_bytes;
  const PackedCache::Bytes packed = impl_->runtime->packed_weights().bytes();
  report.packed_weights = packed.host;
  report.device_packed_weights = packed.devices;
  report.arena = impl_->devices[0].arena_bytes;
  report.arena_minimum = impl_->devices[0].arena_minimum;
  for (const PlannedDevice& planned : impl_->devices)
    if (planned.device != nullptr) report.device_arenas += planned.arena_bytes;
  report.plans = 1;
  return report;
}

std::string Plan::describe() const {
  std::string text;
  for (const Step& step : impl_->steps) {
    text += step.layer->type->name + ' ' + printable_text(step.layer->name) + ' ' +
            step.routine_name + " ->";
    for (const TensorId id : step.outputs) {
      if (id == kNoTensor) continue;
      const PlannedTensor& planned = impl_->tensors[id];
      text += ' ' + planned.format.str() + '[' + (step.data_dependent ? "?" : planned.shape.str()) +
              ']';
    }
    text += '\n';
  }
  return text;
}

}  // namespace softneuro
