// unary, binary and clip cuda/nvrtc: the layer and its post-ops as one generated kernel.
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "cpu/post_ops/post_ops.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

// An input that each thread reads where it writes.
int in_place_input(const Problem& problem) {
  for (std::uint32_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec &input = problem.inputs[i], &output = problem.outputs[0];
    if (input.present() && !input.constant && input.shape == output.shape &&
        input.type == output.type && post_ops_allow_in_place(problem, static_cast<int>(i)))
      return static_cast<int>(i);
  }
  return -1;
}

// `op` behind input 0, and the post-ops.
Result<Program> elementwise(const Problem& problem, const PostOp& op) {
  std::vector<PostOp> ops = {op};
  ops.insert(ops.end(), problem.post_ops.begin(), problem.post_ops.end());
  SN_RETURN_IF_ERROR(supports_tail(problem, ops).status());
  Program program;
  SN_ASSIGN_OR_RETURN(Launch launch, chain(problem, 0, ops));
  program.launches.push_back(std::move(launch));
  program.in_place_input = in_place_input(problem);
  return program;
}

Result<Program> unary(const Problem& problem) {
  PostOp op;
  if (!parse(problem.params.text("op"), op.unary)) return unsupported("there is no such op");
  op.alpha = static_cast<float>(problem.params.real("alpha"));
  op.beta = static_cast<float>(problem.params.real("beta"));
  return elementwise(problem, op);
}

Result<Program> binary(const Problem& problem) {
  PostOp op;
  op.kind = PostOp::Kind::binary;
  if (!parse(problem.params.text("op"), op.binary)) return unsupported("there is no such op");
  op.input = 1;
  return elementwise(problem, op);
}

Result<Program> clip(const Problem& problem) {
  PostOp op;
  op.unary = UnaryOp::clip;
  op.alpha = -INFINITY;
  op.beta = INFINITY;
  for (std::size_t i = 1; i < 3; ++i) {
    if (!problem.has_input(i)) continue;
    const TensorSpec& limit = problem.inputs[i];
    if (!limit.constant || limit.value.empty() || limit.shape.elements() != 1)
      return unsupported("a limit is not one constant number");
    (i == 1 ? op.alpha : op.beta) = static_cast<float>(load(view_of(limit.value), 0));
  }
  return elementwise(problem, op);
}

}  // namespace

Status register_elementwise(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"unary", "nvrtc", &unary}, kAllSchemas));
  SN_RETURN_IF_ERROR(add_generated(registry, device, {"binary", "nvrtc", &binary}, kAllSchemas));
  return add_generated(registry, device, {"clip", "nvrtc", &clip}, kAllSchemas);
}

}  // namespace softneuro::cuda
