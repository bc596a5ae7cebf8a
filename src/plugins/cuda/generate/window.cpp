#include "plugins/cuda/generate/window.h"

#include <fmt/format.h>

#include "plugins/cuda/generate/strides.h"

namespace softneuro::cuda {
namespace {

constexpr char kAxes[] = {'z', 'y', 'x'};

}  // namespace

std::string window_constants(const Window& window) {
  std::string text;
  for (std::size_t a = 0; a < window.axes.size(); ++a) {
    const WindowAxis& axis = window.axes[a];
    text += fmt::format("constexpr int K{0} = {1}, S{0} = {2}, D{0} = {3};\n",
                        static_cast<char>(kAxes[a] - 'a' + 'A'), axis.kernel, axis.stride,
                        axis.dilation);
  }
  return text;
}

std::string place_of_element(KernelSource& source, const Shape& shape, Layout layout) {
  const int rank = shape.rank();
  std::vector<std::string> names = {"n", "c"};
  for (int a = 3 - (rank - 2); a < 3; ++a) names.push_back(fmt::format("o{}", kAxes[a]));
  std::string text = "Index rest = i;\n";
  const std::vector<int> order = memory_order(rank, layout);
  for (std::size_t k = order.size(); k-- > 1;) {
    const auto d = static_cast<std::size_t>(order[k]);
    const std::string size = source.divisor(shape[order[k]]);
    text += fmt::format(
        "const Index next_{0} = quotient(rest, {1});\n"
        "const int {0} = (int)(rest - next_{0} * (Index){1}.size);\nrest = next_{0};\n",
        names[d], size);
  }
  text += fmt::format("const int {} = (int)rest;\n", names[static_cast<std::size_t>(order[0])]);
  for (int a = 0; a < 3 - (rank - 2); ++a) text += fmt::format("const int o{} = 0;\n", kAxes[a]);
  return text;
}

WindowInput::WindowInput(KernelSource& source, const Problem& problem, const Window& window) {
  const TensorSpec& x = problem.inputs[0];
  const std::vector<std::int64_t> memory = memory_strides(x.shape, x.layout);
  data = source.input(problem, 0);
  image = source.integer(memory[0]);
  channel = source.integer(memory[1]);
  const std::size_t missing = kMaxSpatialAxes - (memory.size() - 2);
  for (std::size_t a = 0; a < kMaxSpatialAxes; ++a) {
    strides[a] = a < missing ? "0" : source.integer(memory[a - missing + 2]);
    sizes[a] = a < missing ? "1" : source.integer(window.axes[a].input);
    pads[a] = a < missing ? "0" : source.integer(window.axes[a].pad_begin);
  }
}

std::string WindowInput::loops() const {
  std::string text;
  for (std::size_t a = 0; a < kMaxSpatialAxes; ++a)
    text += fmt::format(
        "for (int k{0} = 0; k{0} < K{1}; ++k{0}) {{\n"
        "const long long i{0} = (long long)o{0} * S{1} + k{0} * D{1} - {2};\n",
        kAxes[a], static_cast<char>(kAxes[a] - 'a' + 'A'), pads[a]);
  return text;
}

std::string WindowInput::is_inside() const {
  return fmt::format("iz >= 0 && iz < {} && iy >= 0 && iy < {} && ix >= 0 && ix < {}", sizes[0],
                     sizes[1], sizes[2]);
}

std::string WindowInput::offset() const {
  return fmt::format("iz * {} + iy * {} + ix * {}", strides[0], strides[1], strides[2]);
}

}  // namespace softneuro::cuda
