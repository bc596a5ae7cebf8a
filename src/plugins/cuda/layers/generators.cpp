// fill, range, eye_like, trilu and one_hot cuda/nvrtc: elements that depend on where they stand.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/element.h"
#include "core/base/error.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/layers/mixed.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

// put(output 0 [i], value).
Program each_element(KernelSource& source, const Problem& problem, const std::string& statements,
                     const std::string& value) {
  const TensorSpec& output = problem.outputs[0];
  const std::string y = source.output(problem, 0);
  Program program;
  program.launches.push_back(source.launch_elements(
      fmt::format("{}put({}[i], ({})({}));\n", statements, y, number_type(output.type), value),
      output.shape.elements()));
  return program;
}

Result<Program> fill(const Problem& problem) {
  KernelSource source(problem.outputs[0].shape.elements());
  SN_ASSIGN_OR_RETURN(Operand value, broadcast(problem, 1));
  return layer_map(source, problem, {std::move(value)}, "x0");
}

Result<Program> range(const Problem& problem) {
  const Tensor &start = problem.inputs[0].value, &delta = problem.inputs[2].value;
  if (start.empty() || delta.empty()) return unsupported("the values are not known");
  KernelSource source(problem.outputs[0].shape.elements());
  if (is_float(problem.outputs[0].type)) {
    const std::string from = source.real64(load(view_of(start), 0));
    const std::string step = source.real64(load(view_of(delta), 0));
    return each_element(source, problem, "", fmt::format("{} + (double)i * {}", from, step));
  }
  // Unsigned: the product alone may leave int64, the sum does not.
  const std::string from = source.integer(load_integer(view_of(start), 0));
  const std::string step = source.integer(load_integer(view_of(delta), 0));
  return each_element(
      source, problem, "",
      fmt::format("(unsigned long long){} + (unsigned long long)i * (unsigned long long){}", from,
                  step));
}

// Column less row of element i.
std::string diagonal(KernelSource& source, const TensorSpec& spec) {
  std::vector<std::int64_t> sizes, strides;
  const int rank = spec.shape.rank();
  for (const int d : memory_order(rank, spec.layout)) {
    sizes.push_back(spec.shape[d]);
    strides.push_back(d == rank - 1 ? 1 : d == rank - 2 ? -1 : 0);
  }
  return fmt::format("at(i, {})", source.walk(sizes, strides));
}

Result<Program> eye_like(const Problem& problem) {
  KernelSource source(problem.outputs[0].shape.elements());
  const std::string k = source.integer(problem.params.integer("k"));
  const std::string place = diagonal(source, problem.outputs[0]);
  return each_element(source, problem, "", fmt::format("{} == {}", place, k));
}

Result<Program> trilu(const Problem& problem) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (x.layout != y.layout || block_of(y.layout) != 1)
    return unsupported("this layout is not supported");
  const bool is_upper = problem.params.integer("upper") != 0;
  const std::int64_t k = problem.has_input(1) ? problem.integers(1)[0] : 0;
  KernelSource source(y.shape.elements());
  const std::string from = source.input(problem, 0);
  const std::string place = diagonal(source, y), limit = source.integer(k);
  Program program = each_element(
      source, problem, "",
      fmt::format("{} {} {} ? get({}[i]) : 0", place, is_upper ? ">=" : "<=", limit, from));
  if (x.type == y.type) program.in_place_input = 0;
  return program;
}

// Whether number x may be an index at all: floats are large enough to be none.
const char* may_be_index(DataType type) {
  if (is_float(type)) return "x < 4611686018427387904.0f && x > -4611686018427387904.0f";
  return type == DataType::uint64 ? "x < 4611686018427387904ull" : "true";
}

Result<Program> one_hot(const Problem& problem) {
  const TensorSpec &indices = problem.inputs[0], &y = problem.outputs[0];
  if (indices.layout != Layout::plain || y.layout != Layout::plain)
    return unsupported("only the plain layout is supported");
  SN_ASSIGN_OR_RETURN(const int axis,
                      normalize_axis(problem.params.integer("axis"), y.shape.rank()));
  KernelSource source(y.shape.elements());
  const std::int64_t depth = y.shape[axis];
  const std::int64_t inner = y.shape.elements(axis + 1, y.shape.rank());
  const std::int64_t sizes[] = {y.shape.elements(0, axis), depth, inner};
  const std::int64_t to_index[] = {inner, 0, 1}, on_axis[] = {0, 1, 0};
  const std::string from = source.input(problem, 0), values = source.input(problem, 2);
  const std::string statements = fmt::format(
      "const {} x = get({}[at(i, {})]);\n"
      "long long index = {} ? (long long)x : -1ll - {};\n"
      "if (index < 0) index += {};\n",
      number_type(indices.type), from, source.walk(sizes, to_index), may_be_index(indices.type),
      source.integer(depth), source.integer(depth));
  return each_element(
      source, problem, statements,
      fmt::format("get({}[index == at(i, {}) ? 1 : 0])", values, source.walk(sizes, on_axis)));
}

}  // namespace

Status register_generators(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"fill", "nvrtc", &fill}, kPlainSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"range", "nvrtc", &range, kNoPostOps}, {"cuda"}));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"eye_like", "nvrtc", &eye_like, kNoPostOps}, kPlainSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"trilu", "nvrtc", &trilu, kNoPostOps}, kAllSchemas));
  return add_generated(registry, device, {"one_hot", "nvrtc", &one_hot, kNoPostOps}, kPlainSchemas);
}

}  // namespace softneuro::cuda
