// quantize and dequantize cuda/nvrtc: one scale, or one per index of an axis.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/level.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/layers/mixed.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

// As level_of() of core/base/level.h among all levels of a type; NaN gives 0.
constexpr const char* kLevel = R"(
__device__ inline int level(float quotient, int lowest, int highest, int zero_point) {
  if (isnan(quotient)) return 0;
  const float low = (float)(lowest - zero_point), high = (float)(highest - zero_point);
  const float raised = quotient > low ? quotient : low;
  return (int)rintf(raised < high ? raised : high) + zero_point;
}
)";

// x, scale, zero point.
Result<std::vector<Operand>> operands_of(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const bool is_blocked = problem.params.integer("block_size") > 0;
  std::vector<Operand> operands;
  for (std::uint32_t i = 0; i < problem.layer_inputs; ++i) {
    if (!problem.has_input(i)) continue;
    // Blocks of one element, or of all, are broadcast.
    if (i == 0 || is_blocked || problem.inputs[i].shape.elements() == 1) {
      SN_ASSIGN_OR_RETURN(Operand operand, broadcast(problem, i));
      operands.push_back(std::move(operand));
      continue;
    }
    SN_ASSIGN_OR_RETURN(const int axis,
                        normalize_axis(problem.params.integer("axis"), shape.rank()));
    if (problem.inputs[i].shape.elements() != shape[axis])
      return unsupported("there are not as many scales as indices of the axis");
    operands.push_back(per_index(problem, i, axis));
  }
  return operands;
}

Result<Program> quantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(std::vector<Operand> operands, operands_of(problem));
  KernelSource source(problem.outputs[0].shape.elements());
  source.add_function(kLevel);
  const LevelRange range = levels_of(problem.outputs[0].type);
  return layer_map(source, problem, std::move(operands),
                   fmt::format("level((float)x0 / x1, {}, {}, {})", range.low, range.high,
                               problem.has_input(2) ? "(int)x2" : "0"));
}

Result<Program> dequantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(std::vector<Operand> operands, operands_of(problem));
  KernelSource source(problem.outputs[0].shape.elements());
  return layer_map(source, problem, std::move(operands),
                   problem.has_input(2) ? "(float)(x0 - x2) * x1" : "(float)x0 * x1");
}

}  // namespace

Status register_quantize(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(
      add_generated(registry, device, {"quantize", "nvrtc", &quantize}, kAllSchemas));
  return add_generated(registry, device, {"dequantize", "nvrtc", &dequantize}, kAllSchemas);
}

}  // namespace softneuro::cuda
