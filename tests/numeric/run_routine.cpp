// Running one routine under guard, and comparing tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "numeric/check_routine.h"
#include "numeric/guarded_memory.h"

namespace softneuro::test {
namespace {

class GuardedContext final : public Context {
 public:
  GuardedContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
                 std::byte* workspace, ThreadPool& pool, std::vector<GuardedMemory>& memory)
      : Context(inputs, outputs, workspace, pool), memory_(memory) {}
  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    const std::int64_t bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
    if (bytes < 0) return Status(StatusCode::out_of_memory, "too large");
    memory_[i] = GuardedMemory(static_cast<std::size_t>(bytes));
    outputs_[i].shape = shape;
    outputs_[i].data = memory_[i].data();
    return {};
  }

 private:
  std::vector<GuardedMemory>& memory_;
};

// Copies, so that a kernel that writes to its inputs is found out.
std::vector<GuardedMemory> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<GuardedMemory> copies;
  for (const Tensor& tensor : tensors) {
    GuardedMemory& copy = copies.emplace_back(tensor.bytes());
    if (tensor.bytes() > 0) std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  }
  return copies;
}

std::string value_text(const TensorView& view, std::int64_t i) {
  return is_float(view.type) ? fmt::format("{}", load(view, i))
                             : fmt::format("{}", load_integer(view, i));
}

bool close(const TensorView& expected, const TensorView& actual, std::int64_t i,
           const Tolerance& tolerance, double norm) {
  if (!is_float(expected.type) && tolerance.absolute == 0 && tolerance.relative == 0)
    return load_integer(expected, i) == load_integer(actual, i);
  const double e = load(expected, i), a = load(actual, i);
  if (std::isnan(e) || std::isnan(a)) return std::isnan(e) && std::isnan(a);
  if (std::isinf(e) || std::isinf(a)) return e == a;
  const double scale = norm > 0 ? norm : std::fabs(e);
  return std::fabs(a - e) <= tolerance.absolute + tolerance.relative * scale;
}

}  // namespace

RunResult run_routine(const Routine& routine, const PreparedCase& prepared, ThreadPool& pool,
                      const RoutineParams& params, bool in_place, bool* ran_in_place) {
  const auto implementation = prepared.implement(routine);
  if (!implementation.ok()) return {.status = implementation.status()};
  Result<PackedWeights> packed = (*implementation)->pack_weights(params, default_allocator());
  Status status = packed.status();
  if (packed.ok()) status = prepared.registry->upload(routine, *packed);
  if (!status.ok()) return {.status = std::move(status)};
  return run_packed(routine, prepared, *packed, pool, params, in_place, ran_in_place);
}

RunResult run_packed(const Routine& routine, const PreparedCase& prepared,
                     const PackedWeights& packed, ThreadPool& pool, const RoutineParams& params,
                     bool in_place, bool* ran_in_place) {
  RunResult result;
  const Problem& problem = prepared.problem;
  const auto implementation = prepared.implement(routine);
  result.status = implementation.status();
  if (!implementation.ok()) return result;
  auto kernel = (*implementation)->create(params, packed);
  result.status = kernel.status();
  if (!kernel.ok()) return result;
  if (Device* const device = prepared.registry->device(routine.descriptor().device))
    return run_on_device(**kernel, *device, prepared, pool, in_place, ran_in_place);

  std::vector<GuardedMemory> inputs = copies_of(prepared.inputs);
  std::vector<TensorView> input_views(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (spec.present()) input_views[i] = {spec.type, spec.layout, spec.shape, inputs[i].data()};
  }
  std::vector<GuardedMemory> outputs(problem.outputs.size());
  std::vector<TensorView> output_views(problem.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = problem.outputs[i];
    output_views[i].type = spec.type;
    if (!spec.present() || problem.type->data_dependent_output) continue;
    outputs[i] =
        GuardedMemory(static_cast<std::size_t>(storage_bytes(spec.type, spec.shape, spec.layout)));
    output_views[i] = {spec.type, spec.layout, spec.shape, outputs[i].data()};
  }
  const int shared = in_place ? (*kernel)->in_place_input() : -1;
  if (shared >= 0) {
    const auto s = static_cast<std::size_t>(shared);
    if (inputs[s].size() != outputs[0].size()) {
      result.defect = "names an input of another size for working in place";
      return result;
    }
    std::memcpy(outputs[0].data(), inputs[s].data(), inputs[s].size());
    input_views[s].data = outputs[0].data();
  }
  if (ran_in_place != nullptr) *ran_in_place = shared >= 0;

  GuardedMemory workspace((*kernel)->workspace_bytes());
  GuardedContext context(input_views, output_views, workspace.data(), pool, outputs);
  auto state = (*kernel)->make_state();
  result.status = state.status();
  if (!state.ok()) return result;
  context.set_state(state->get());
  result.status = (*kernel)->run(context);

  if (!workspace.intact()) result.defect = "wrote beyond its workspace";
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (prepared.inputs[i].bytes() > 0 &&
        std::memcmp(inputs[i].data(), prepared.inputs[i].data(), inputs[i].size()) != 0)
      result.defect = fmt::format("changed input {}", i);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].intact()) result.defect = fmt::format("wrote beyond output {}", i);
    Tensor& tensor = result.outputs.emplace_back();
    const TensorView& view = output_views[i];
    if (!result.status.ok() || !view.present()) continue;
    auto copy = Tensor::create(view.type, view.shape, default_allocator(), view.layout);
    if (!copy.ok() || copy->bytes() != outputs[i].size()) {
      result.defect = fmt::format("output {} has a wrong size", i);
      continue;
    }
    if (copy->bytes() > 0) std::memcpy(copy->mutable_data(), outputs[i].data(), copy->bytes());
    tensor = *copy;
  }
  return result;
}

static double largest_magnitude(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (std::isfinite(load(view, i))) largest = std::fmax(largest, std::fabs(load(view, i)));
  return largest;
}

std::string difference(const Tensor& expected, const Tensor& actual, Tolerance tolerance,
                       const Tensor* norm_of) {
  if (expected.data_type() != actual.data_type() || !(expected.shape() == actual.shape()))
    return fmt::format("expected {} {}, got {} {}", to_string(expected.data_type()),
                       expected.shape().str(), to_string(actual.data_type()), actual.shape().str());
  const TensorView e = view_of(expected), a = view_of(actual);
  const std::int64_t count = expected.elements();
  const double norm = norm_of == nullptr ? 0 : largest_magnitude(*norm_of);
  std::int64_t wrong = 0, first = -1;
  for (std::int64_t i = 0; i < count; ++i)
    if (!close(e, a, i, tolerance, norm)) {
      if (wrong++ == 0) first = i;
    }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements differ; element {}: expected {}, got {}", wrong, count,
                     first, value_text(e, first), value_text(a, first));
}

}  // namespace softneuro::test
