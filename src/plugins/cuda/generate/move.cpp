#include "plugins/cuda/generate/move.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/kernel_source.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {
namespace {

constexpr std::int64_t kWidestWord = 16;  // bytes; tensors are aligned to that

std::string word(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    case 8:
      return "unsigned long long";
    default:
      return "Word16";
  }
}

// How many elements move as one: a power of two.
std::int64_t widest(const Box& box, std::span<const StridedCopy::Axis> axes, std::int64_t bytes) {
  if (axes.empty()) return 1;
  const StridedCopy::Axis& last = axes.back();
  if (last.source_stride != 1 || last.target_stride != 1) return 1;
  std::int64_t width = 1;
  const auto fits = [&](std::int64_t elements) {
    if (elements * bytes > kWidestWord || last.count % elements != 0 ||
        box.source_offset % elements != 0 || box.target_offset % elements != 0)
      return false;
    for (const StridedCopy::Axis& axis : axes.first(axes.size() - 1))
      if (axis.source_stride % elements != 0 || axis.target_stride % elements != 0) return false;
    return true;
  };
  while (fits(2 * width)) width *= 2;
  return width;
}

}  // namespace

Result<Launch> move(const Problem& problem, const Box& box) {
  const TensorSpec &from = problem.inputs[box.input], &to = problem.outputs[box.output];
  if (from.type == DataType::qint8 || to.type == DataType::qint8)
    return unsupported("quantised tensors are not supported");
  StridedCopy copy;
  copy.add_axes(box.axes);
  if (copy.empty()) return Launch();
  const auto bytes = static_cast<std::int64_t>(size_of(to.type));
  const bool converts = from.type != to.type;
  const std::int64_t width = converts ? 1 : widest(box, copy.axes(), bytes);
  std::vector<std::int64_t> sizes, sources, targets;
  std::int64_t count = 1;
  for (const StridedCopy::Axis& axis : copy.axes()) {
    const bool is_last = &axis == &copy.axes().back();
    sizes.push_back(is_last ? axis.count / width : axis.count);
    sources.push_back(is_last ? axis.source_stride : axis.source_stride / width);
    targets.push_back(is_last ? axis.target_stride : axis.target_stride / width);
    count *= sizes.back();
  }
  KernelSource source(count);
  const auto source_bytes = static_cast<std::int64_t>(size_of(from.type));
  std::string x, y;
  if (converts) {
    x = source.input(problem, box.input, box.source_offset * source_bytes);
    y = source.output(problem, box.output, box.target_offset * bytes);
  } else {
    const std::string type = word(width * bytes);
    if (type == "Word16")
      source.add_function("struct __align__(16) Word16 {\n  unsigned x, y, z, w;\n};\n");
    x = fmt::format("((const {}*){})", type,
                    source.input(problem, box.input, box.source_offset * bytes));
    y = fmt::format("(({}*){})", type,
                    source.output(problem, box.output, box.target_offset * bytes));
  }
  const std::string at_x = fmt::format("{}[at(i, {})]", x, source.walk(sizes, sources));
  const std::string at_y = fmt::format("{}[at(i, {})]", y, source.walk(sizes, targets));
  return source.launch_elements(converts ? fmt::format("put({}, get({}));\n", at_y, at_x)
                                         : fmt::format("{} = {};\n", at_y, at_x),
                                count);
}

}  // namespace softneuro::cuda
