#include "core/layers/center_crop_pad.h"

#include "core/graph/axis_permutation.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  DynamicShape y = context.shape(0);
  if (!y.ranked()) {
    context.set_output(0, context.type(0), std::move(y));
    return {};
  }
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
                        center_crop_pad_axes(context.params(), y.rank(), known));
    for (std::size_t i = 0; i < axes.size(); ++i) y[axes[i]] = (*sizes)[i].dim();
  }
  context.set_output(0, context.type(0), std::move(y));
  return {};
}

int equal_input(const InferContext& context) {
  return context.keeps_shape(0) ? 0 : -1;
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

Result<std::vector<int>> center_crop_pad_axes(const Params& params, int rank,
                                              std::span<const std::int64_t> sizes) {
  const auto given = params.integers("axes");
  const std::size_t count = given.empty() ? static_cast<std::size_t>(rank) : given.size();
  if (sizes.size() != count)
    return invalid_model("there are {} sizes for {} axes", sizes.size(), count);
  for (std::size_t i = 0; i < count; ++i)
    if (sizes[i] < 0) return invalid_model("size {} is {}, must be at least 0", i, sizes[i]);
  return distinct_axes(given, rank, rank);
}

PadAmount center_crop_pad_amount(std::int64_t size, std::int64_t target) noexcept {
  const std::int64_t more = target - size;
  return {more / 2, more - more / 2};  // both negative where elements are cut off
}

Status register_layer_center_crop_pad(LayerTypes& types) {
  LayerType type;
  type.name = "center_crop_pad";
  type.doc =
      "The middle of x in another size: what is too much is cut off at both ends of an axis, what "
      "is missing are zeros at both ends; if odd, the extra one at the end. Input 0: x, any type. "
      "Input 1: sizes, int32 or int64, one per axis in `axes`. Output 0: x's type and rank.";
  type.params = {{"axes", ParamKind::integers, std::vector<std::int64_t>{},
                  "axes that the sizes are of, in [−rank, rank); empty: all"}};
  type.min_inputs = type.max_inputs = 2;
  type.value_inputs = {{1, ValueKind::size}};
  type.infer = infer;
  type.equal_input = equal_input;
  type.permute_axes = permute_axes;
  return types.add(std::move(type));
}

}  // namespace softneuro
