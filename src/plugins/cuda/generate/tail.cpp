#include "plugins/cuda/generate/tail.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "cpu/tensor/broadcast_walk.h"
#include "plugins/cuda/generate/expression.h"

namespace softneuro::cuda {
namespace {

// Two of the layer, and those of its post-ops: their walks fit an argument.
constexpr std::size_t kMaxOperands = 16;

bool is_narrow_float(DataType type) {
  return is_float(type) && type != DataType::float64;
}

Result<BroadcastWalk> walk_of(const Problem& problem, std::size_t input) {
  const TensorSpec &output = problem.outputs[0], &operand = problem.inputs[input];
  const BroadcastWalk::Operand walked{operand.shape, operand.layout};
  return BroadcastWalk::make(output.shape, output.layout, {&walked, 1});
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
    if (const auto walk = walk_of(problem, op.input); !walk.ok())
      return Applicability::no(std::string(walk.status().message()));
  }
  return Applicability::yes();
}

Result<std::string> operand(KernelSource& source, const Problem& problem, std::size_t input) {
  SN_ASSIGN_OR_RETURN(const BroadcastWalk walk, walk_of(problem, input));
  const std::string data = source.input(problem, input);
  if (walk.rank == 1) return fmt::format("get({}[{}])", data, walk.is_row_constant(0) ? "0" : "i");
  const auto rank = static_cast<std::size_t>(walk.rank);
  const std::string place = source.walk({walk.dims, rank}, {walk.strides[0], rank});
  return fmt::format("get({}[at(i, {})])", data, place);
}

Result<std::string> tail(KernelSource& source, const Problem& problem,
                         std::span<const PostOp> ops) {
  std::string text;
  for (const PostOp& op : ops) {
    if (op.kind == PostOp::Kind::unary) {
      text += fmt::format("{{ const float x = y, a = {}, b = {}; (void)a; (void)b; y = {}; }}\n",
                          source.real(op.alpha), source.real(op.beta), expression(op.unary));
      continue;
    }
    SN_ASSIGN_OR_RETURN(const std::string other, operand(source, problem, op.input));
    text += fmt::format("{{ const float p = {}, q = {}; y = {}; }}\n", op.swapped ? other : "y",
                        op.swapped ? "y" : other, expression(op.binary));
  }
  return text;
}

}  // namespace softneuro::cuda
