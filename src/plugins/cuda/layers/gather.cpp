// gather and gather_elements cuda/nvrtc: one thread for each element of the output. An index that
// names no element is an error of the run.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "plugins/cuda/generate/kernel_source.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

Status check(const Problem& problem) {
  for (const TensorSpec* spec : {&problem.inputs[0], &problem.outputs[0]})
    if (spec->type == DataType::qint8) return unsupported("quantised tensors are not supported");
  return {};
}

// `index`, an element of the indices, as a place on the axis; leaves the element out where it has
// none.
std::string wrapped_index(KernelSource& source, const std::string& place, std::int64_t dim) {
  return fmt::format(
      "if (index < -{0} || index >= {0}) {{\nreport({1}, index, {2}, {0});\ncontinue;\n}}\n"
      "if (index < 0) index += {0};\n",
      source.integer(dim), source.fault(), place);
}

// x as [outer, axis, inner]: one inner run for each index.
Result<Program> gather(const Problem& problem) {
  SN_RETURN_IF_ERROR(check(problem));
  const Shape &x = problem.inputs[0].shape, &indices = problem.inputs[1].shape;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
  const std::int64_t inner = x.elements(axis + 1, x.rank()), count = indices.elements();
  const std::int64_t elements = problem.outputs[0].shape.elements();
  KernelSource source(std::max(elements, x.elements()));
  const std::string to = source.output(problem, 0), from = source.input(problem, 0);
  const std::string read = source.input(problem, 1);
  std::string text = fmt::format(
      "const Index run = quotient(i, {0}), outer = quotient(run, {1});\n"
      "const Index place = run - outer * (Index){1}.size;\n"
      "long long index = get({2}[place]);\n",
      source.divisor(inner), source.divisor(count), read);
  text += wrapped_index(source, "place", x[axis]);
  text +=
      fmt::format("put({}[i], get({}[(outer * {} + index) * {} + (i - run * (Index){})]));\n", to,
                  from, source.integer(x[axis]), source.integer(inner), source.integer(inner));
  Program program;
  program.launches.push_back(source.launch_elements(text, elements));
  return program;
}

// Each element's own place, with the index put in on the axis.
Result<Program> gather_elements(const Problem& problem) {
  SN_RETURN_IF_ERROR(check(problem));
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
  const std::vector<std::int64_t> strides = memory_strides(x, Layout::plain);
  std::vector<std::int64_t> sizes, others;
  for (int d = 0; d < y.rank(); ++d) {
    sizes.push_back(y[d]);
    others.push_back(d == axis ? 0 : strides[static_cast<std::size_t>(d)]);
  }
  KernelSource source(std::max(y.elements(), x.elements()));
  const std::string to = source.output(problem, 0), from = source.input(problem, 0);
  std::string text = fmt::format("long long index = get({}[i]);\n", source.input(problem, 1));
  text += wrapped_index(source, "i", x[axis]);
  text += fmt::format("put({}[i], get({}[at(i, {}) + index * {}]));\n", to, from,
                      source.walk(sizes, others),
                      source.integer(strides[static_cast<std::size_t>(axis)]));
  Program program;
  program.launches.push_back(source.launch_elements(text, y.elements()));
  return program;
}

}  // namespace

Status register_gather(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"gather", "nvrtc", &gather, kNoPostOps}, kPlainSchemas));
  return add_generated(registry, device, {"gather_elements", "nvrtc", &gather_elements, kNoPostOps},
                       kPlainSchemas);
}

}  // namespace softneuro::cuda
