// Convolutions cuda/direct: one thread for each element of the output, in the order of memory, sums
// in float32. Of any window, padding and groups, depthwise ones among them.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/generate/tail.h"
#include "plugins/cuda/generate/window.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

std::vector<std::int64_t> kernel_of(const Problem& problem) {
  const Shape& weights = problem.inputs[1].shape;
  std::vector<std::int64_t> kernel;
  for (int d = 2; d < weights.rank(); ++d) kernel.push_back(weights[d]);
  return kernel;
}

// Weights that are computed have the layout of the schema.
struct WeightStrides {
  WeightStrides(KernelSource& source, const TensorSpec& weights) {
    const std::vector<std::int64_t> memory = memory_strides(weights.shape, weights.layout);
    first = source.integer(memory[0]);
    second = source.integer(memory[1]);
    for (std::size_t d = 2; d < memory.size(); ++d)
      tap += fmt::format("{}k{} * {}", d > 2 ? " + " : "", "zyx"[d + 3 - memory.size()],
                         source.integer(memory[d]));
  }
  std::string first, second;
  std::string tap;  // offset of (kz, ky, kx)
};

// What a convolution and its transpose have in common: `sum` adds to `float y` with `xs` the
// group's first channel of the image, `g` the group, `m` the channel within it and `w` the weights;
// CI and CO are the group's channels of input and output.
Result<Program> convolve(const Problem& problem, const Window& window, std::int64_t in,
                         std::int64_t out, const std::string& sum) {
  const TensorSpec &x = problem.inputs[0], &w = problem.inputs[1], &y = problem.outputs[0];
  for (const TensorSpec* spec : {&x, &w, &y})
    if (!is_narrow_float(spec->type))
      return unsupported("tensors must be of real numbers of 16 or 32 bits");
  KernelSource source(std::max({x.shape.elements(), w.shape.elements(), y.shape.elements()}));
  const std::string result = source.output(problem, 0), weights = source.input(problem, 1);
  const WindowInput input(source, problem, window);
  const WeightStrides strides(source, w);
  std::string bias = "0";
  if (problem.has_input(2)) {
    if (!is_narrow_float(problem.inputs[2].type))
      return unsupported("the bias is not of real numbers");
    bias = fmt::format("get({}[c])", source.input(problem, 2));
  }
  std::string text = window_constants(window);
  text += place_of_element(source, y.shape, y.layout);
  text += fmt::format(
      "const long long CI = {0}, CO = {1};\nconst auto* const w = {2};\n(void)CI;\n"
      "const int g = (int)quotient((Index)c, {3}), m = c - g * (int)CO;\n"
      "const auto* xs = {4} + n * {5} + g * CI * {6};\nfloat y = {7};\n",
      source.integer(in), source.integer(out), weights, source.divisor(out), input.data,
      input.image, input.channel, bias);
  text += fmt::format(fmt::runtime(sum), fmt::arg("loops", input.loops()),
                      fmt::arg("inside", input.is_inside()), fmt::arg("offset", input.offset()),
                      fmt::arg("channel", input.channel), fmt::arg("first", strides.first),
                      fmt::arg("second", strides.second), fmt::arg("tap", strides.tap),
                      fmt::arg("z", input.sizes[0]), fmt::arg("y", input.sizes[1]),
                      fmt::arg("x", input.sizes[2]), fmt::arg("pz", input.pads[0]),
                      fmt::arg("py", input.pads[1]), fmt::arg("px", input.pads[2]));
  SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem, problem.post_ops));
  text += fmt::format("{}put({}[i], y);\n", functions, result);
  Program program;
  program.launches.push_back(source.launch_elements(text, y.shape.elements()));
  return program;
}

// Weights [group · CO, CI, kernel].
Result<Program> conv(const Problem& problem) {
  const Shape& weights = problem.inputs[1].shape;
  SN_ASSIGN_OR_RETURN(const Window window,
                      make_window(problem.params, problem.inputs[0].shape, kernel_of(problem)));
  const std::int64_t group = problem.params.integer("group");
  return convolve(problem, window, weights[1], weights[0] / group,
                  "const auto* ws = w + c * {first};\n"
                  "for (long long k = 0; k < CI; ++k, xs += {channel}, ws += {second}) {{\n"
                  "{loops}if ({inside})\n"
                  "y = fmaf(get(xs[{offset}]), get(ws[{tap}]), y);\n"
                  "}}\n}}\n}}\n}}\n");
}

// Weights [group · CI, CO, kernel]; each output element gathers what the inputs that meet it bring.
Result<Program> conv_transpose(const Problem& problem) {
  const Shape& weights = problem.inputs[1].shape;
  SN_ASSIGN_OR_RETURN(
      const Window window,
      make_transposed_window(problem.params, problem.inputs[0].shape, kernel_of(problem)));
  const std::int64_t group = problem.params.integer("group");
  std::string axes;
  for (const char* axis : {"z", "y", "x"})
    axes += fmt::format(
        "for (int k{0} = 0; k{0} < K{1}; ++k{0}) {{{{\n"
        "const int t{0} = o{0} + (int){{p{0}}} - k{0} * D{1}, i{0} = t{0} / S{1};\n"
        "if (t{0} < 0 || t{0} % S{1} != 0 || i{0} >= {{{0}}}) continue;\n",
        axis, static_cast<char>(axis[0] - 'a' + 'A'));
  return convolve(problem, window, weights[0] / group, weights[1],
                  "const auto* ws = w + g * CI * {first} + m * {second};\n"
                  "for (long long k = 0; k < CI; ++k, xs += {channel}, ws += {first}) {{\n" +
                      axes +
                      "y = fmaf(get(xs[{offset}]), get(ws[{tap}]), y);\n"
                      "}}\n}}\n}}\n}}\n");
}

}  // namespace

Status register_direct_convolution(Registry& registry, CudaDevice& device) {
  for (const char* type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(add_generated(registry, device, {type, "direct", &conv}, kAllSchemas));
  for (const char* type : {"conv_transpose1", "conv_transpose2", "conv_transpose3"})
    SN_RETURN_IF_ERROR(
        add_generated(registry, device, {type, "direct", &conv_transpose}, kAllSchemas));
  return {};
}

}  // namespace softneuro::cuda
