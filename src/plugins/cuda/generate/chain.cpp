#include "plugins/cuda/generate/chain.h"

#include "core/base/error.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {

Result<Launch> chain(const Problem& problem, int first, std::span<const PostOp> ops) {
  KernelSource source(problem.outputs[0].shape.elements());
  std::vector<Operand> operands = {output_itself(problem)};
  if (first >= 0) {
    const auto input = static_cast<std::size_t>(first);
    if (!is_narrow_float(problem.inputs[input].type))
      return unsupported("the input is not of real numbers");
    SN_ASSIGN_OR_RETURN(operands[0], broadcast(problem, input));
  }
  SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem, ops, operands));
  return map(source, problem, operands, "float y = x0;\n" + functions + "return y;\n");
}

Result<Program> layer_map(KernelSource& source, const Problem& problem,
                          std::vector<Operand> operands, const std::string& value) {
  std::string function = "return " + value + ";\n";
  if (!problem.post_ops.empty()) {
    SN_ASSIGN_OR_RETURN(const std::string functions,
                        tail(source, problem, problem.post_ops, operands));
    function = "float y = " + value + ";\n" + functions + "return y;\n";
  }
  Program program;
  program.launches.push_back(map(source, problem, operands, function));
  program.in_place_input = in_place_input(problem);
  return program;
}

Result<Program> layer_map(KernelSource& source, const Problem& problem, const std::string& value) {
  std::vector<Operand> operands;
  for (std::uint32_t i = 0; i < problem.layer_inputs; ++i) {
    SN_ASSIGN_OR_RETURN(Operand operand, broadcast(problem, i));
    operands.push_back(std::move(operand));
  }
  return layer_map(source, problem, std::move(operands), value);
}

}  // namespace softneuro::cuda
