#include "core/graph/axis_permutation.h"

namespace softneuro {

bool permute_no_axes(AxisPermutation&) {
  return true;
}

bool permute_axis_parameter(AxisPermutation& permutation) {
  const Result<int> axis =
      normalize_axis(permutation.params.integer("axis"), static_cast<int>(permutation.perm.size()));
  if (!axis.ok()) return false;
  permutation.params.set("axis", std::int64_t{permutation.perm[static_cast<std::size_t>(*axis)]});
  return true;
}

bool permute_axes_input(AxisPermutation& permutation, std::size_t input, std::size_t count) {
  std::vector<std::int64_t> axes;
  if (permutation.layer.has_input(input)) {
    const auto given = permutation.layer.integers(input);
    if (!given) return false;
    axes = *given;
  } else {
    for (std::size_t a = 0; a < count; ++a) axes.push_back(static_cast<std::int64_t>(a));
  }
  for (const std::int64_t axis : axes) {
    const Result<int> normal = normalize_axis(axis, static_cast<int>(permutation.perm.size()));
    if (!normal.ok()) return false;
    permutation.axes.push_back(permutation.perm[static_cast<std::size_t>(*normal)]);
  }
  permutation.axes_input = static_cast<int>(input);
  return true;
}

}  // namespace softneuro
