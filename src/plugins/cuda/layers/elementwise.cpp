// unary, binary and clip cuda/nvrtc: the layer and its post-ops as one generated kernel.
#include <fmt/format.h>

#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/generate/prelude.h"
#include "plugins/cuda/generate/typed_expression.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

bool is_real32(DataType type) {
  return is_float(type) && type != DataType::float64;
}

// `op`, of float32 or less, behind input 0, and the post-ops.
Result<Program> real_chain(const Problem& problem, const PostOp& op) {
  std::vector<PostOp> ops = {op};
  ops.insert(ops.end(), problem.post_ops.begin(), problem.post_ops.end());
  SN_RETURN_IF_ERROR(supports_tail(problem, ops).status());
  Program program;
  SN_ASSIGN_OR_RETURN(Launch launch, chain(problem, 0, ops));
  program.launches.push_back(std::move(launch));
  program.in_place_input = in_place_input(problem);
  return program;
}

// A map whose value is that of `expression`, of variables of `type` that are called as `names`:
// the layer's inputs in order.
Result<Program> typed_map(KernelSource& source, const Problem& problem, const std::string& type,
                          std::initializer_list<const char*> names, const std::string& expression) {
  std::string function = fmt::format("typedef {} W;\n", type);
  std::vector<Operand> operands;
  for (const char* const name : names) {
    function += fmt::format("const W {} = (W)x{};\n", name, operands.size());
    SN_ASSIGN_OR_RETURN(Operand operand, broadcast(problem, operands.size()));
    operands.push_back(std::move(operand));
  }
  function += fmt::format("return {};\n", expression);
  Program program;
  program.launches.push_back(map(source, problem, operands, function));
  program.in_place_input = in_place_input(problem);
  return program;
}

// With alpha and beta.
Result<Program> integer_unary(const Problem& problem, UnaryOp op) {
  KernelSource source(problem.outputs[0].shape.elements());
  source.add_function(integer_functions());
  const DataType type = problem.inputs[0].type;
  if (const char* const expression = integer_expression(op); expression != nullptr)
    return typed_map(source, problem, integer_type(type), {"x"}, expression);
  if (op != UnaryOp::clip) return unsupported("there is no such function of integers");
  const double low = problem.params.real("alpha"), high = problem.params.real("beta");
  const bool is_uint64 = type == DataType::uint64;
  const auto limit = [&](double x) {
    return "(W)" + source.integer(is_uint64
                                      ? static_cast<std::int64_t>(from_double<std::uint64_t>(x))
                                      : from_double<std::int64_t>(x));
  };
  const std::string a = limit(low), b = limit(high);
  return typed_map(source, problem, is_uint64 ? "unsigned long long" : "long long", {"x"},
                   fmt::format("(x < {0} ? {0} : x) > {1} ? {1} : x < {0} ? {0} : x", a, b));
}

// Of float64, or with a boolean result.
Result<Program> real_unary(const Problem& problem, UnaryOp op) {
  KernelSource source(problem.outputs[0].shape.elements());
  const bool is_predicate = predicate(op) != nullptr;
  if (!is_predicate) source.add_function(double_functions());
  const std::string expression = is_predicate ? predicate(op) : double_expression(op);
  if (expression.empty()) return unsupported("there is no such function of float64");
  const std::string a = source.real64(problem.params.real("alpha"));
  const std::string b = source.real64(problem.params.real("beta"));
  return typed_map(
      source, problem, number_type(problem.inputs[0].type), {"x"},
      fmt::format("[](W x, double a, double b) {{ (void)a; (void)b; return ({})({}); }}(x, {}, {})",
                  number_type(problem.outputs[0].type), expression, a, b));
}

Result<Program> unary(const Problem& problem) {
  PostOp op;
  if (!parse(problem.params.text("op"), op.unary)) return unsupported("there is no such op");
  if (!is_float(problem.inputs[0].type)) return integer_unary(problem, op.unary);
  if (!is_real32(problem.outputs[0].type) || problem.inputs[0].type == DataType::float64)
    return real_unary(problem, op.unary);
  op.alpha = static_cast<float>(problem.params.real("alpha"));
  op.beta = static_cast<float>(problem.params.real("beta"));
  return real_chain(problem, op);
}

Result<Program> typed_binary(const Problem& problem, BinaryOp op) {
  const DataType p = problem.inputs[0].type, q = problem.inputs[1].type;
  KernelSource source(problem.outputs[0].shape.elements());
  if (!is_float(p) && !is_float(q)) {
    source.add_function(integer_functions());
    return typed_map(source, problem, integer_type(p, q), {"p", "q"}, integer_expression(op));
  }
  if (!is_float(p)) return unsupported("real powers of integers are not supported");
  const bool is_double = p == DataType::float64 || q == DataType::float64;
  if (const char* const expression = predicate(op); expression != nullptr)
    return typed_map(source, problem, is_double ? "double" : "float", {"p", "q"}, expression);
  const std::string expression = double_expression(op);
  if (expression.empty()) return unsupported("there is no such function of real numbers");
  source.add_function(double_functions());
  return typed_map(source, problem, "double", {"p", "q"}, expression);
}

Result<Program> binary(const Problem& problem) {
  PostOp op;
  op.kind = PostOp::Kind::binary;
  if (!parse(problem.params.text("op"), op.binary)) return unsupported("there is no such op");
  op.input = 1;
  if (is_real32(problem.outputs[0].type) && is_real32(problem.inputs[0].type) &&
      is_real32(problem.inputs[1].type))
    return real_chain(problem, op);
  return typed_binary(problem, op.binary);
}

// In the type itself, with limits that are inputs.
constexpr const char* kLimits = R"(
template <class R>
__device__ inline R at_least(R x, R low) { return x < low ? low : x; }
template <class R>
__device__ inline R at_most(R x, R high) { return x > high ? high : x; }
)";

Result<Program> run_time_clip(const Problem& problem) {
  KernelSource source(problem.outputs[0].shape.elements());
  source.add_function(kLimits);
  std::vector<Operand> operands;
  std::string value;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!problem.has_input(i)) continue;
    if (i > 0 && problem.inputs[i].shape.elements() != 1)
      return unsupported("a limit is not one number");
    SN_ASSIGN_OR_RETURN(Operand operand, broadcast(problem, i));
    const std::string x = fmt::format("x{}", operands.size());
    operands.push_back(std::move(operand));
    value = i == 0 ? x : fmt::format("{}({}, {})", i == 1 ? "at_least" : "at_most", value, x);
  }
  return layer_map(source, problem, std::move(operands), value);
}

Result<Program> clip(const Problem& problem) {
  PostOp op;
  op.unary = UnaryOp::clip;
  op.alpha = -INFINITY;
  op.beta = INFINITY;
  if (!is_real32(problem.outputs[0].type)) return run_time_clip(problem);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!problem.has_input(i)) continue;
    const TensorSpec& limit = problem.inputs[i];
    if (!limit.constant || limit.value.empty() || limit.shape.elements() != 1)
      return run_time_clip(problem);
    (i == 1 ? op.alpha : op.beta) = static_cast<float>(load(view_of(limit.value), 0));
  }
  return real_chain(problem, op);
}

}  // namespace

Status register_elementwise(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"unary", "nvrtc", &unary}, kAllSchemas));
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"binary", "nvrtc", &binary}, kAllSchemas));
  return add_generated(registry, device, {"clip", "nvrtc", &clip}, kAllSchemas);
}

}  // namespace softneuro::cuda
