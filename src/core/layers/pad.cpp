#include "core/layers/pad.h"

#include <algorithm>

#include "core/graph/axis_permutation.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// Keeps sums of amounts and dimensions far from overflow.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 60;

Result<Dim> padded(const Dim& dim, const PadAmount& amount, int axis, PadMode mode) {
  if (amount.before == 0 && amount.after == 0) return dim;
  if (!dim.known()) return Dim();
  if (dim.value > kMaxAmount) return invalid_model("axis {} has {} elements", axis, dim.value);
  const std::int64_t kept = dim.value + std::min<std::int64_t>(amount.before, 0) +
                            std::min<std::int64_t>(amount.after, 0);
  const std::int64_t result = dim.value + amount.before + amount.after;
  if (kept < 0 || result < 0)
    return invalid_model("pads {} and {} cut more off axis {} than its {} elements", amount.before,
                         amount.after, axis, dim.value);
  if (kept == 0 && result > 0 && mode != PadMode::constant)
    return invalid_model("axis {} is empty: there is nothing to continue it with", axis);
  return Dim(result);
}

Result<DynamicShape> padded(const InferContext& context, PadMode mode) {
  const DynamicShape& x = context.shape(0);
  const auto pads = context.integers(1);
  const auto axes = context.has_input(3) ? context.integers(3) : std::nullopt;
  if (!x.ranked()) return DynamicShape();
  if (!pads || (context.has_input(3) && !axes)) return unknown_dims(x.rank());
  SN_ASSIGN_OR_RETURN(const std::vector<PadAmount> amounts, pad_amounts(x.rank(), *pads, axes));
  DynamicShape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    SN_ASSIGN_OR_RETURN(y[i], padded(x[i], amounts[static_cast<std::size_t>(i)], i, mode));
  }
  return y;
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  if (context.has_input(2)) {
    SN_RETURN_IF_ERROR(context.expect_same_type(2, 0));
    SN_RETURN_IF_ERROR(context.expect_one_element(2, "the value"));
  }
  if (context.has_input(3)) SN_RETURN_IF_ERROR(context.expect_type(3, kIndexTypes));
  SN_ASSIGN_OR_RETURN(const int mode, choice_of(context.params(), "mode", kPadModes));
  SN_ASSIGN_OR_RETURN(DynamicShape y, padded(context, static_cast<PadMode>(mode)));
  return context.set_shape(std::move(y));
}

int equal_input(const InferContext& context) {
  return context.has_input(1) && context.all_equal(1, 0) ? 0 : -1;
}

bool permute_axes(AxisPermutation& permutation) {
  const auto pads = permutation.layer.integers(1);
  return pads && permute_axes_input(permutation, 3, pads->size() / 2);
}

}  // namespace

Result<std::vector<PadAmount>> pad_amounts(int rank, std::span<const std::int64_t> pads,
                                           const std::optional<std::vector<std::int64_t>>& axes) {
  const std::size_t count = axes ? axes->size() : static_cast<std::size_t>(rank);
  if (pads.size() != 2 * count)
    return invalid_model("pads has {} entries, must have two for each of {} axes", pads.size(),
                         count);
  std::vector<PadAmount> amounts(static_cast<std::size_t>(rank));
  SN_ASSIGN_OR_RETURN(
      const std::vector<int> places,
      distinct_axes(axes.value_or(std::vector<std::int64_t>{}), rank, static_cast<int>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = static_cast<std::size_t>(places[i]);
    amounts[a] = {pads[i], pads[i + count]};
    for (const std::int64_t amount : {amounts[a].before, amounts[a].after})
      if (amount < -kMaxAmount || amount > kMaxAmount)
        return invalid_model("pads holds {}, which is not a possible size", amount);
  }
  return amounts;
}

Status register_layer_pad(LayerTypes& types) {
  return types.add(
      {.name = "pad",
       .doc = "x with elements added before and after some axes, or cut off where pads are "
              "negative. Input 0: x, any type. Input 1: pads, int64: all before, then all after. "
              "Input 2 (optional): value for mode constant, one element of x's type; left out: 0. "
              "Input 3 (optional): axes, int32 or int64; left out: all.",
       .params = {{"mode", "constant",
                   "constant; reflect: mirrored without the edge; edge: the edge repeated; wrap: "
                   "periodic"}},
       .inputs = {2, 4},
       .value_inputs = {{1, ValueKind::offset}, {3, ValueKind::axes}},
       .infer = infer,
       .equal_input = equal_input,
       .permute_axes = permute_axes});
}

}  // namespace softneuro
