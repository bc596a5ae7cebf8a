// cast, where and batch_norm, cuda/nvrtc; and the other layers whose tensors are of several types.
#include "plugins/cuda/layers/mixed.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/generate/typed_expression.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

Result<Program> cast(const Problem& problem) {
  KernelSource source(problem.outputs[0].shape.elements());
  return layer_map(source, problem,
                   conversion(source, "x0", problem.inputs[0].type, problem.outputs[0].type));
}

Result<Program> where(const Problem& problem) {
  KernelSource source(problem.outputs[0].shape.elements());
  return layer_map(source, problem, "x0 != 0 ? x1 : x2");
}

Result<Program> batch_norm(const Problem& problem) {
  const Shape& shape = problem.outputs[0].shape;
  const int axis = shape.rank() < 2 ? -1 : 1;
  bool is_double = false;
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < 5; ++i) {
    is_double = is_double || problem.inputs[i].type == DataType::float64;
    SN_ASSIGN_OR_RETURN(Operand operand,
                        i == 0 || axis < 0 || problem.inputs[i].shape.elements() == 1
                            ? broadcast(problem, i)
                            : per_index(problem, i, axis));
    operands.push_back(std::move(operand));
  }
  KernelSource source(shape.elements());
  const double epsilon = problem.params.real("epsilon");
  const std::string root =
      is_double ? fmt::format("sqrt((double)x4 + {})", source.real64(epsilon))
                : fmt::format("sqrtf(x4 + {})", source.real(static_cast<float>(epsilon)));
  return layer_map(source, problem, std::move(operands),
                   fmt::format("(x0 - x3) / {} * x1 + x2", root));
}

}  // namespace

Status register_mixed(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"cast", "nvrtc", &cast}, kAllSchemas));
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"where", "nvrtc", &where}, kAllSchemas));
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"batch_norm", "nvrtc", &batch_norm}, kAllSchemas));
  SN_RETURN_IF_ERROR(register_quantize(registry, device));
  return register_generators(registry, device);
}

}  // namespace softneuro::cuda
