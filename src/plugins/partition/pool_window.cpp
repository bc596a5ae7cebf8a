#include "plugins/partition/pool_window.h"

#include <algorithm>

namespace softneuro {

std::int64_t taken_pad_end(const WindowAxis& axis) {
  return std::max<std::int64_t>(
      (axis.output - 1) * axis.stride + axis.extent() - axis.input - axis.pad_begin, 0);
}

Applicability check_pool_window(const Problem& problem) {
  const auto window = pool_window(problem.params, problem.inputs[0].shape);
  if (!window.ok()) return Applicability::no(window.status().message());
  for (const WindowAxis& axis : {window->axes[1], window->axes[2]})
    if (taken_pad_end(axis) >= axis.extent() || axis.pad_begin >= axis.extent())
      return Applicability::no("windows that lie in the padding as a whole are not supported");
  return Applicability::yes();
}

}  // namespace softneuro
