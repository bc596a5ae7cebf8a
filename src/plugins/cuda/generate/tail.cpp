#include "plugins/cuda/generate/tail.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/expression.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {
namespace {

// Two of the layer, and those of its post-ops: their walks fit an argument.
constexpr std::size_t kMaxOperands = 16;

// Statements that apply `ops` to `float y`; number(i): the number opposite it of input i.
template <class Number>
Result<std::string> functions(KernelSource& source, std::span<const PostOp> ops, Number&& number) {
  std::string text;
  for (const PostOp& op : ops) {
    if (op.kind == PostOp::Kind::unary) {
      text += fmt::format("{{ const float x = y, a = {}, b = {}; (void)a; (void)b; y = {}; }}\n",
                          source.real(op.alpha), source.real(op.beta), expression(op.unary));
      continue;
    }
    SN_ASSIGN_OR_RETURN(const std::string other, number(op.input));
    text += fmt::format("{{ const float p = {}, q = {}; y = {}; }}\n", op.swapped ? other : "y",
                        op.swapped ? "y" : other, expression(op.binary));
  }
  return text;
}

}  // namespace

Applicability supports_tail(const Problem& problem, std::span<const PostOp> ops) {
  if (problem.inputs.size() > kMaxOperands)
    return Applicability::no("so many operands are not supported");
  if (!ops.empty() && !is_narrow_float(problem.outputs[0].type))
    return Applicability::no("the output is not of real numbers");
  for (const PostOp& op : ops) {
    if (expression(op) == nullptr)
      return Applicability::no("there is no function " + op.str() + " of floating-point tensors");
    if (op.kind == PostOp::Kind::unary) continue;
    if (!is_narrow_float(problem.inputs[op.input].type))
      return Applicability::no("an operand is not of real numbers");
    if (const auto walk = broadcast(problem, op.input); !walk.ok())
      return Applicability::no(std::string(walk.status().message()));
  }
  return Applicability::yes();
}

Result<std::string> operand(KernelSource& source, const Problem& problem, std::size_t input) {
  SN_ASSIGN_OR_RETURN(const Operand walked, broadcast(problem, input));
  return number(source, problem, walked, "i");
}

Result<std::string> tail(KernelSource& source, const Problem& problem,
                         std::span<const PostOp> ops) {
  return functions(source, ops, [&](std::size_t input) { return operand(source, problem, input); });
}

Result<std::string> tail(KernelSource& source, const Problem& problem, std::span<const PostOp> ops,
                         std::vector<Operand>& operands) {
  return functions(source, ops, [&](std::size_t input) -> Result<std::string> {
    std::size_t n = 0;
    while (n < operands.size() && operands[n].input != input) ++n;
    if (n == operands.size()) {
      SN_ASSIGN_OR_RETURN(Operand walked, broadcast(problem, input));
      operands.push_back(std::move(walked));
    }
    return fmt::format("x{}", n);
  });
}

}  // namespace softneuro::cuda
