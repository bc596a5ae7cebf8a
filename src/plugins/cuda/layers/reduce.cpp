// reduce and arg_reduce cuda/nvrtc: a thread, a warp or blocks for each output.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/layers/reduction.h"
#include "plugins/cuda/generate/folds.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/kernels/generated_routine.h"
#include "plugins/cuda/layers/rows.h"

namespace softneuro::cuda {
namespace {

// The rows of input 0 whose results are output 0, in the order of its memory.
Rows rows_of_output(const Problem& problem, std::uint32_t axes) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  Rows rows = rows_of(x, axes);
  if (y.shape.rank() == x.shape.rank() && y.layout == x.layout) return rows;
  std::vector<int> stays;  // by dimension of y: that of x
  for (int d = 0; d < x.shape.rank(); ++d)
    if (y.shape.rank() == x.shape.rank() || (axes >> d & 1u) == 0) stays.push_back(d);
  const std::vector<std::int64_t> strides = memory_strides(x.shape, x.layout);
  rows.kept = {};
  for (const int d : memory_order(y.shape.rank(), y.layout)) {
    const auto from = static_cast<std::size_t>(stays[static_cast<std::size_t>(d)]);
    if ((axes >> from & 1u) == 0) rows.kept.add(x.shape[static_cast<int>(from)], strides[from]);
  }
  return rows;
}

Text text(std::string constant) {
  return
      [constant = std::move(constant)](KernelSource&) -> Result<std::string> { return constant; };
}

// The end of a type that every other number replaces.
std::string lowest(DataType type, bool of_maximum) {
  const char* const sign = of_maximum ? "-" : "";
  switch (type) {
    case DataType::boolean:
      return of_maximum ? "0" : "1";
    case DataType::uint64:
      return of_maximum ? "0" : "0xffffffffffffffffull";
    default:
      break;
  }
  if (is_float(type)) return fmt::format("{}{}", sign, kInfinity);
  const bool is_signed = type == DataType::int8 || type == DataType::int16 ||
                         type == DataType::int32 || type == DataType::int64;
  if (!is_signed && of_maximum) return "0";
  const std::size_t bits = size_of(type) * 8 - (is_signed ? 1 : 0);
  const std::string largest = fmt::format("{}ll", (std::uint64_t{1} << bits) - 1);
  return of_maximum ? fmt::format("(-{} - 1)", largest) : largest;
}

// The larger or smaller one; NaN stays.
Fold extreme_fold(DataType type, bool of_maximum) {
  const char* const sign = of_maximum ? ">" : "<";
  return {.members = {{number_type(type), "v"}},
          .clear = fmt::format("v = {};", lowest(type, of_maximum)),
          .add = fmt::format("if (x {} v || x != x) v = x;", sign),
          .merge = fmt::format("if (b.v {} v || b.v != b.v) v = b.v;", sign)};
}

// Integers wrap, as unsigned ones do.
Fold fold_of(ReduceOp op, DataType type) {
  const char* const sum = is_float(type) ? number_type(type) : "unsigned long long";
  switch (op) {
    case ReduceOp::max:
    case ReduceOp::min:
      return extreme_fold(type, op == ReduceOp::max);
    case ReduceOp::prod:
      return {.members = {{sum, "v"}},
              .clear = "v = 1;",
              .add = fmt::format("v *= ({})x;", sum),
              .merge = "v *= b.v;"};
    case ReduceOp::l1:
      return sum_fold(sum, type == DataType::uint64
                               ? "x"
                               : fmt::format("({0})(x < 0 ? 0 - ({0})x : ({0})x)", sum));
    case ReduceOp::l2:
      return sum_fold("double", "(double)x * (double)x");
    case ReduceOp::log_sum_exp:
      return exponential_fold();
    case ReduceOp::sum_square:
      return sum_fold(sum, fmt::format("({0})x * ({0})x", sum));
    default:
      return sum_fold(sum, fmt::format("({})x", sum));
  }
}

// Declares `y` of State s.
std::string result_of(ReduceOp op, DataType type) {
  const std::string number = number_type(type);
  switch (op) {
    case ReduceOp::mean:
      if (is_float(type)) return fmt::format("{0} y = s.v / ({0})n;\n", number);
      return fmt::format("{0} y = n == 0 ? ({0})0 : ({0})s.v / ({0})n;\n", number);
    case ReduceOp::l2:
      return "float y = (float)sqrt(s.v);\n";
    case ReduceOp::log_sum:
      return "float y = logf(s.v);\n";
    case ReduceOp::log_sum_exp:
      return "float y = s.sum == s.sum && isinf(s.max) ? s.max : s.max + logf(s.sum);\n";
    default:
      return fmt::format("{0} y = ({0})s.v;\n", number);
  }
}

Result<Program> reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ReduceOp op, parse_reduce_op(problem.params));
  const TensorSpec& x = problem.inputs[0];
  SN_ASSIGN_OR_RETURN(const std::uint32_t axes,
                      reduced_axes(problem.params, problem.integers(1), x.shape.rank()));
  if (x.type == DataType::qint8) return unsupported("quantised tensors are not supported");
  const bool is_exact =
      op != ReduceOp::l2 && op != ReduceOp::log_sum && op != ReduceOp::log_sum_exp;
  if (!is_exact && !is_narrow_float(x.type))
    return unsupported("{} is there for real numbers of at most 32 bits only",
                       problem.params.text("op"));
  return reduce_rows(problem, rows_of_output(problem, axes), fold_of(op, x.type),
                     {.row = text(result_of(op, x.type)), .element = {}, .once = {}});
}

// The first of equals, or the last; NaN equals NaN and is chosen before any number. Elements may
// come in any order; k = −1: none has.
Result<Program> arg_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  const DataType type = problem.inputs[0].type;
  if (type == DataType::qint8) return unsupported("quantised tensors are not supported");
  const char* const sign = problem.params.text("op") == "max" ? ">" : "<";
  const char* const place = problem.params.integer("select_last_index") != 0 ? ">" : "<";
  const std::string take = fmt::format(
      "    const bool is_nan = value != value, was_nan = v != v;\n"
      "    const bool is_equal = value == v || (is_nan && was_nan);\n"
      "    const bool is_better = is_nan ? !was_nan : value {} v && !was_nan;\n"
      "    if (at < 0 || is_better || (is_equal && place {} at)) {{ v = value; at = place; }}",
      sign, place);
  const Fold fold = {.members = {{number_type(type), "v"}, {"long long", "at"}},
                     .clear = "v = 0; at = -1;",
                     .add = "const Number value = x;\n    const long long place = k;\n" + take,
                     .merge =
                         "if (b.at < 0) return;\n    const Number value = b.v;\n"
                         "    const long long place = b.at;\n" +
                         take};
  return reduce_rows(problem, rows_of_output(problem, 1u << axis), fold,
                     {.row = text("long long y = s.at;\n"), .element = {}, .once = {}});
}

}  // namespace

Status register_reductions(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"reduce", "nvrtc", &reduce}, kAllSchemas));
  return add_generated(registry, device, {"arg_reduce", "nvrtc", &arg_reduce}, kAllSchemas);
}

}  // namespace softneuro::cuda
