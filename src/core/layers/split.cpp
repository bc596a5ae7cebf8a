#include "core/dim_arithmetic.h"
#include "core/layer_type.h"

namespace softneuro {
namespace {

constexpr DataType kIndexTypes[] = {DataType::int64, DataType::int32};

Status check_sizes(std::span<const std::int64_t> sizes, std::size_t outputs, const Dim& dim) {
  if (sizes.size() != outputs)
    return invalid_model("sizes has {} entries for {} outputs", sizes.size(), outputs);
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes)
    if (size < 0 || __builtin_add_overflow(sum, size, &sum))
      return invalid_model("sizes holds {}, which is not a possible size", size);
  if (dim.known() && sum != dim.value)
    return invalid_model("sizes add up to {}, but the axis has {}", sum, dim.value);
  return {};
}

// Equal parts; the last one takes what is left.
Result<std::vector<Dim>> equal_parts(const Dim& dim, std::int64_t outputs) {
  if (!dim.known())
    return std::vector<Dim>(static_cast<std::size_t>(outputs), outputs == 1 ? dim : Dim());
  const std::int64_t part = dim.value / outputs + (dim.value % outputs != 0);
  const std::int64_t last = dim.value - part * (outputs - 1);
  if (last < 0)
    return invalid_model("an axis of {} cannot be cut into {} parts of {}", dim.value, outputs,
                         part);
  std::vector<Dim> parts(static_cast<std::size_t>(outputs), Dim(part));
  parts.back() = Dim(last);
  return parts;
}

Result<std::vector<Dim>> parts_of(const InferContext& context, const Dim& dim) {
  const std::size_t outputs = context.output_count();
  if (!context.has_input(1)) return equal_parts(dim, static_cast<std::int64_t>(outputs));
  const auto sizes = context.integers(1);
  if (!sizes) return std::vector<Dim>(outputs);
  SN_RETURN_IF_ERROR(check_sizes(*sizes, outputs, dim));
  return std::vector<Dim>(sizes->begin(), sizes->end());
}

Status infer(InferContext& context) {
  const std::size_t outputs = context.output_count();
  if (outputs == 0) return invalid_model("has no output");
  const std::int64_t declared = context.params().integer("num_outputs");
  if (declared != 0 && declared != static_cast<std::int64_t>(outputs))
    return invalid_model("num_outputs is {}, but there are {} outputs", declared, outputs);
  if (context.has_input(1)) SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  if (!x.ranked()) {
    SN_RETURN_IF_ERROR(parts_of(context, Dim()).status());
    for (std::size_t i = 0; i < outputs; ++i) context.set_output(i, context.type(0), x);
    return {};
  }
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
  SN_ASSIGN_OR_RETURN(const std::vector<Dim> parts, parts_of(context, x[axis]));
  for (std::size_t i = 0; i < outputs; ++i) {
    DynamicShape y = x;
    y[axis] = parts[i];
    context.set_output(i, context.type(0), std::move(y));
  }
  return {};
}

}  // namespace

Status register_layer_split(LayerTypes& types) {
  LayerType type;
  type.name = "split";
  type.doc =
      "x cut along one axis. Input 0: x, any type. Input 1 (optional): sizes, int64, one per "
      "output; left out: equal parts, the last one smaller where they do not add up. Outputs: one "
      "or more, of x's type.";
  type.params = {
      {"axis", ParamKind::integer, std::int64_t{0}, "axis in [−rank, rank)"},
      {"num_outputs", ParamKind::integer, std::int64_t{0}, "number of outputs; 0: not stated"}};
  type.max_inputs = 2;
  type.max_outputs = -1;
  type.value_inputs = 1u << 1;
  type.infer = infer;
  return types.add(std::move(type));
}

}  // namespace softneuro
