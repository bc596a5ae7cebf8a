#include "plugins/cuda/generate/chain.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {

Result<Launch> chain(const Problem& problem, int first, std::span<const PostOp> ops) {
  const std::int64_t count = problem.outputs[0].shape.elements();
  KernelSource source(count);
  const std::string y = source.output(problem, 0);
  std::string begin = fmt::format("get({}[i])", y);
  if (first >= 0) {
    const DataType type = problem.inputs[static_cast<std::size_t>(first)].type;
    if (std::string_view(number_type(type)) != "float")
      return unsupported("the input is not of real numbers");
    SN_ASSIGN_OR_RETURN(begin, operand(source, problem, static_cast<std::size_t>(first)));
  }
  SN_ASSIGN_OR_RETURN(const std::string functions, tail(source, problem, ops));
  return source.launch_elements(
      fmt::format("float y = {};\n{}put({}[i], y);\n", begin, functions, y), count);
}

}  // namespace softneuro::cuda
