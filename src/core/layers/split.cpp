#include <algorithm>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

constexpr std::int64_t kMaxParts = 1 << 20;  // a model that says more is broken

Status check_sizes(std::span<const std::int64_t> sizes, std::int64_t parts, const Dim& dim) {
  if (static_cast<std::int64_t>(sizes.size()) != parts)
    return invalid_model("sizes has {} entries for {} outputs", sizes.size(), parts);
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes)
    if (size < 0 || __builtin_add_overflow(sum, size, &sum))
      return invalid_model("sizes holds {}, which is not a possible size", size);
  if (dim.known() && sum != dim.value)
    return invalid_model("sizes add up to {}, but the axis has {}", sum, dim.value);
  return {};
}

// Equal parts; the last one takes what is left.
Result<std::vector<Dim>> equal_parts(const Dim& dim, std::int64_t parts) {
  if (!dim.known())
    return std::vector<Dim>(static_cast<std::size_t>(parts), parts == 1 ? dim : Dim());
  const std::int64_t size = dim.value / parts + (dim.value % parts != 0);
  const std::int64_t last = dim.value - size * (parts - 1);
  if (last < 0)
    return invalid_model("an axis of {} cannot be cut into {} parts of {}", dim.value, parts, size);
  std::vector<Dim> dims(static_cast<std::size_t>(parts), Dim(size));
  dims.back() = Dim(last);
  return dims;
}

// The size of each part on the axis. There may be more parts than outputs.
Result<std::vector<Dim>> parts_of(const InferContext& context, const Dim& dim) {
  const auto outputs = static_cast<std::int64_t>(context.output_count());
  const std::int64_t declared = context.params().integer("num_outputs");
  const std::int64_t parts = declared == 0 ? outputs : declared;
  if (parts < std::max<std::int64_t>(outputs, 1) || parts > kMaxParts)
    return invalid_model("num_outputs is {}, but there are {} outputs", declared, outputs);
  if (!context.has_input(1)) return equal_parts(dim, parts);
  const auto sizes = context.integers(1);
  if (!sizes) return std::vector<Dim>(static_cast<std::size_t>(parts));
  SN_RETURN_IF_ERROR(check_sizes(*sizes, parts, dim));
  return std::vector<Dim>(sizes->begin(), sizes->end());
}

Status infer(InferContext& context) {
  if (context.has_input(1)) SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  int axis = 0;
  if (x.ranked()) {
    SN_ASSIGN_OR_RETURN(axis, normalize_axis(context.params().integer("axis"), x.rank()));
  }
  SN_ASSIGN_OR_RETURN(const std::vector<Dim> parts,
                      parts_of(context, x.ranked() ? x[axis] : Dim()));
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    DynamicShape y = x;
    if (y.ranked()) y[axis] = parts[i];
    context.set_output(i, context.type(0), std::move(y));
  }
  return {};
}

int equal_input(const InferContext& context) {
  return context.output_count() == 1 ? 0 : -1;
}

}  // namespace

Status register_layer_split(LayerTypes& types) {
  return types.add(
      {.name = "split",
       .doc = "x cut along one axis. Input 0: x, any type. Input 1 (optional): sizes, int64, one "
              "per part; left out: equal parts, the last one smaller where they do not add up. "
              "Outputs: one or more, of x's type.",
       .params = {{"axis", 0, "axis in [−rank, rank)"},
                  {"num_outputs", 0,
                   "number of parts, if more than outputs are used; 0: one per output"}},
       .inputs = {1, 2},
       .outputs = {1, -1},
       .value_inputs = {{1, ValueKind::size}},
       .elements = ElementSource::input_0,
       .infer = infer,
       .equal_input = equal_input});
}

}  // namespace softneuro
