#include "core/layers/center_crop_pad.h"

#include "core/graph/axis_permutation.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// The axes that "axes" means, one per size.
Result<std::vector<int>> resized_axes(const Params& params, int rank,
                                      std::span<const std::int64_t> sizes) {
  const auto given = params.integers("axes");
  const std::size_t count = given.empty() ? static_cast<std::size_t>(rank) : given.size();
  if (sizes.size() != count)
    return invalid_model("there are {} sizes for {} axes", sizes.size(), count);
  for (std::size_t i = 0; i < count; ++i)
    if (sizes[i] < 0) return invalid_model("size {} is {}, must be at least 0", i, sizes[i]);
  return distinct_axes(given, rank, rank);
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  DynamicShape y = context.shape(0);
  if (!y.ranked()) return context.set_shape(std::move(y));
  const auto sizes = context.known_integers(1);
  if (!sizes) {
    const auto axes = context.params().integers("axes");
    for (int i = 0; i < y.rank(); ++i)
      if (axes.empty()) y[i] = Dim();
    for (const std::int64_t given : axes) {
      SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, y.rank()));
      y[axis] = Dim();
    }
  } else {
    std::vector<std::int64_t> known;
    for (const KnownInteger& size : *sizes) known.push_back(size.value.value_or(0));
    SN_ASSIGN_OR_RETURN(const std::vector<int> axes,
                        resized_axes(context.params(), y.rank(), known));
    for (std::size_t i = 0; i < axes.size(); ++i) y[axes[i]] = (*sizes)[i].dim();
  }
  return context.set_shape(std::move(y));
}

bool permute_axes(AxisPermutation& permutation) {
  const auto given = permutation.params.integers("axes");
  const int rank = static_cast<int>(permutation.perm.size());
  std::vector<std::int64_t> axes(given.begin(), given.end());
  for (int i = 0; given.empty() && i < rank; ++i) axes.push_back(i);
  for (std::int64_t& axis : axes) {
    const Result<int> normal = normalize_axis(axis, rank);
    if (!normal.ok()) return false;
    axis = permutation.perm[static_cast<std::size_t>(*normal)];
  }
  permutation.params.set("axes", std::move(axes));
  return true;
}

}  // namespace

PadAmount center_crop_pad_amount(std::int64_t size, std::int64_t target) noexcept {
  const std::int64_t more = target - size;
  return {more / 2, more - more / 2};  // both negative where elements are cut off
}

Status register_layer_center_crop_pad(LayerTypes& types) {
  return types.add({.name = "center_crop_pad",
                    .doc = "The middle of x in another size: what is too much is cut off at both "
                           "ends of an axis, what is missing are zeros at both ends; if odd, the "
                           "extra one at the end. Input 0: x, any type. Input 1: sizes, int32 or "
                           "int64, one per axis in `axes`. Output 0: x's type and rank.",
                    .params = {{"axes", std::vector<std::int64_t>{},
                                "axes that the sizes are of, in [−rank, rank); empty: all"}},
                    .inputs = {2, 2},
                    .value_inputs = {{1, ValueKind::size}},
                    .infer = infer,
                    .equal_input = input_of_same_shape,
                    .permute_axes = permute_axes});
}

}  // namespace softneuro
