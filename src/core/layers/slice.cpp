#include "core/layers/slice.h"

#include <algorithm>

#include "core/graph/axis_permutation.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// Exporters write "to the end" as the largest number of 32 or 64 bits.
constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int32_t>::max();

// A negative position counts from the end.
std::int64_t from_front(std::int64_t position, std::int64_t dim) {
  return position < 0 ? position + dim : position;
}

// Whether a span takes all indices of any axis, however long.
bool takes_all(const SliceSpan& span) {
  if (span.step == 1) return span.start == 0 && span.end >= kToTheEnd;
  return span.step == -1 && (span.start == -1 || span.start >= kToTheEnd) && span.end <= -kToTheEnd;
}

Dim sliced(const Dim& dim, const SliceSpan& span) {
  if (dim.known()) return Dim(slice_range(span, dim.value).count);
  return takes_all(span) ? dim : Dim();
}

// The dimensions that may change while starts or ends are unknown: those of `axes`, or as many as
// starts has entries, or all.
Result<DynamicShape> sliced_by_unknown(const InferContext& context) {
  const DynamicShape& x = context.shape(0);
  DynamicShape y = x;
  if (context.has_input(3)) {
    const auto axes = context.integers(3);
    if (!axes) return unknown_dims(x.rank());
    for (const std::int64_t given : *axes) {
      SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, x.rank()));
      y[axis] = Dim();
    }
    return y;
  }
  const DynamicShape& starts = context.shape(1);
  const bool counted = starts.ranked() && starts.rank() == 1 && starts[0].known();
  const std::int64_t count = counted ? starts[0].value : x.rank();
  for (int i = 0; i < x.rank() && i < count; ++i) y[i] = Dim();
  return y;
}

Result<DynamicShape> sliced(const InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const auto starts = context.integers(1);
  const auto ends = context.integers(2);
  const auto axes = context.has_input(3) ? context.integers(3) : std::nullopt;
  const auto steps = context.has_input(4) ? context.integers(4) : std::nullopt;
  const bool axes_known = axes || !context.has_input(3);
  const bool steps_known = steps || !context.has_input(4);
  if (!x.ranked()) return DynamicShape();
  if (!starts || !ends || !axes_known || !steps_known) return sliced_by_unknown(context);
  SN_ASSIGN_OR_RETURN(const std::vector<SliceSpan> spans,
                      slice_spans(x.rank(), *starts, *ends, axes, steps));
  DynamicShape y = x;
  for (int i = 0; i < x.rank(); ++i) y[i] = sliced(x[i], spans[static_cast<std::size_t>(i)]);
  return y;
}

Status infer(InferContext& context) {
  for (std::size_t i = 1; i < context.input_count(); ++i)
    if (context.has_input(i)) SN_RETURN_IF_ERROR(context.expect_type(i, kIndexTypes));
  SN_ASSIGN_OR_RETURN(DynamicShape y, sliced(context));
  return context.set_shape(std::move(y));
}

// A list cut along its only axis.
std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  const ShapeValue* x = inputs.value(0);
  const auto starts = inputs.integers(1), ends = inputs.integers(2);
  if (x == nullptr || x->rank != 1 || !starts || !ends || starts->size() != 1 || ends->size() != 1)
    return std::nullopt;
  std::int64_t step = 1;
  if (inputs.has(3)) {
    const auto axes = inputs.integers(3);
    if (!axes || axes->size() != 1 || ((*axes)[0] != 0 && (*axes)[0] != -1)) return std::nullopt;
  }
  if (inputs.has(4)) {
    const auto steps = inputs.integers(4);
    if (!steps || steps->size() != 1) return std::nullopt;
    step = (*steps)[0];
  }
  const auto count = static_cast<std::int64_t>(x->elements.size());
  if (step == 0) return std::nullopt;
  const SliceRange range = slice_range({(*starts)[0], (*ends)[0], step}, count);
  ShapeValue value;
  for (std::int64_t i = 0; i < range.count; ++i)
    value.elements.push_back(x->elements[static_cast<std::size_t>(range.first + i * step)]);
  return value;
}

// Equal shapes alone do not do: a step of −1 keeps them too.
int equal_input(const InferContext& context) {
  if (!context.keeps_shape(0)) return -1;
  if (!context.has_input(4)) return 0;
  const auto steps = context.integers(4);
  const bool forwards = steps && std::all_of(steps->begin(), steps->end(),
                                             [](std::int64_t step) { return step > 0; });
  return forwards ? 0 : -1;
}

bool permute_axes(AxisPermutation& permutation) {
  const auto starts = permutation.layer.integers(1);
  return starts && permute_axes_input(permutation, 3, starts->size());
}

}  // namespace

Result<std::vector<SliceSpan>> slice_spans(int rank, std::span<const std::int64_t> starts,
                                           std::span<const std::int64_t> ends,
                                           const std::optional<std::vector<std::int64_t>>& axes,
                                           const std::optional<std::vector<std::int64_t>>& steps) {
  const std::size_t count = starts.size();
  if (ends.size() != count || (axes && axes->size() != count) || (steps && steps->size() != count))
    return invalid_model("starts, ends, axes and steps are not equally long");
  if (!axes && count > static_cast<std::size_t>(rank))
    return invalid_model("{} starts for an input of {} dimensions", count, rank);
  std::vector<SliceSpan> spans(static_cast<std::size_t>(rank));
  SN_ASSIGN_OR_RETURN(
      const std::vector<int> places,
      distinct_axes(axes.value_or(std::vector<std::int64_t>{}), rank, static_cast<int>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return invalid_model("steps[{}] is 0", i);
    spans[static_cast<std::size_t>(places[i])] = {starts[i], ends[i], step};
  }
  return spans;
}

SliceRange slice_range(const SliceSpan& span, std::int64_t dim) noexcept {
  if (dim <= 0) return {0, 0};
  const bool forward = span.step > 0;
  // Backwards the last index taken lies above `end`, which may be −1: one before the front.
  const std::int64_t top = forward ? dim : dim - 1;
  const std::int64_t first = std::clamp<std::int64_t>(from_front(span.start, dim), 0, top);
  const std::int64_t end =
      std::clamp<std::int64_t>(from_front(span.end, dim), forward ? 0 : -1, top);
  const std::int64_t distance = forward ? end - first : first - end;
  if (distance <= 0) return {0, 0};
  // 0 − step as unsigned: the smallest int64 has no positive counterpart.
  const auto step = static_cast<std::uint64_t>(span.step);
  const std::uint64_t stride = forward ? step : 0 - step;
  return {first,
          static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride + 1)};
}

Status register_layer_slice(LayerTypes& types) {
  return types.add(
      {.name = "slice",
       .doc =
           "Every step-th index from start up to, without, end on some axes; negative positions "
           "count from the end, limits beyond the axis are cut off. Input 0: x, any type. Inputs "
           "1–4: starts, ends, axes (optional: the first ones), steps (optional: 1; negative: "
           "backwards), each int32 or int64, 1-D, equally long. Output 0: x's type and rank.",
       .inputs = {3, 5},
       .value_inputs = {{1, ValueKind::offset},
                        {2, ValueKind::end},
                        {3, ValueKind::axes},
                        {4, ValueKind::size}},
       .elements = ElementSource::input_0,
       .infer = infer,
       .known_values = known_values,
       .equal_input = equal_input,
       .permute_axes = permute_axes});
}

}  // namespace softneuro
