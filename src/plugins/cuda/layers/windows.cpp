// max_pool and avg_pool cuda/nvrtc: one thread for each element of the output, in the order of
// memory.
#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/tail.h"
#include "plugins/cuda/generate/window.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

Status check(const Problem& problem) {
  if (!is_narrow_float(problem.inputs[0].type))
    return unsupported("the input is not of real numbers of 16 or 32 bits");
  if (problem.outputs.size() > 1 && problem.outputs[1].present())
    return unsupported("places of the largest elements are not supported");
  return {};
}

// `before`, for each element under the window `with`, where inside() and offset() of the input are
// known as `inside` and `value`; `behind` makes `float y` of it.
Result<Program> pool(const Problem& problem, const std::string& before, const std::string& with,
                     const std::string& behind, KernelSource source) {
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, problem.inputs[0].shape));
  const TensorSpec& output = problem.outputs[0];
  const std::string y = source.output(problem, 0);
  const WindowInput input(source, problem, window);
  std::string text = window_constants(window);
  text += place_of_element(source, output.shape, output.layout);
  text += fmt::format("const auto* const plane = {} + n * {} + c * {};\n{}{}", input.data,
                      input.image, input.channel, before, input.loops());
  text += fmt::format("const bool inside = {};\n{}}}\n}}\n}}\n{}", input.is_inside(),
                      fmt::format(fmt::runtime(with), input.offset()), behind);
  SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem, problem.post_ops));
  text += fmt::format("{}put({}[i], y);\n", functions, y);
  Program program;
  program.launches.push_back(source.launch_elements(text, output.shape.elements()));
  return program;
}

std::int64_t most_elements(const Problem& problem) {
  return std::max(problem.inputs[0].shape.elements(), problem.outputs[0].shape.elements());
}

// The first largest element; NaN is larger than everything. A window of padding alone has none.
Result<Program> max_pool(const Problem& problem) {
  SN_RETURN_IF_ERROR(check(problem));
  return pool(problem, "float y = -__uint_as_float(0x7f800000u);\n",
              "if (inside) {{\nconst float value = get(plane[{}]);\n"
              "if (value > y || isnan(value)) y = value;\n}}\n",
              "", KernelSource(most_elements(problem)));
}

// Of the elements that are in the input, or, if padding counts, in the padded input.
Result<Program> avg_pool(const Problem& problem) {
  SN_RETURN_IF_ERROR(check(problem));
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, problem.inputs[0].shape));
  KernelSource source(most_elements(problem));
  std::string counts = "inside";
  if (problem.params.integer("count_include_pad") != 0) {
    constexpr const char* kNames[] = {"iz", "iy", "ix"};
    counts = "true";
    for (std::size_t a = 0; a < window.axes.size(); ++a) {
      const WindowAxis& axis = window.axes[a];
      counts +=
          fmt::format(" && {0} >= {1} && {0} < {2}", kNames[a], source.integer(-axis.pad_begin),
                      source.integer(axis.input + axis.pad_end));
    }
  }
  return pool(problem, "float sum = 0;\nint count = 0;\n",
              "if (inside) sum += get(plane[{}]);\nif (" + counts + ") ++count;\n",
              "float y = count == 0 ? 0 : sum / (float)count;\n", std::move(source));
}

}  // namespace

Status register_windows(Registry& registry, CudaDevice& device) {
  for (const char* type : {"max_pool1", "max_pool2", "max_pool3"})
    SN_RETURN_IF_ERROR(add_generated(registry, device, {type, "nvrtc", &max_pool}, kAllSchemas));
  for (const char* type : {"avg_pool1", "avg_pool2", "avg_pool3"})
    SN_RETURN_IF_ERROR(add_generated(registry, device, {type, "nvrtc", &avg_pool}, kAllSchemas));
  return {};
}

}  // namespace softneuro::cuda
