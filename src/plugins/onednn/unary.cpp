// unary cpu/onednn, cpu:float32:nhwc/onednn, …: the library's element-wise functions, as far as
// they keep NaN and denormals (relu, clip and exp make a number of NaN, log takes the smallest
// numbers for larger ones), and are exact where the result is small.
#include "core/routine/registry.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

using dnnl::algorithm;

constexpr std::int64_t kCacheLine = 16;  // floats

PostOp function_of(const Problem& problem) {
  PostOp op;
  op.kind = PostOp::Kind::unary;
  if (!parse(problem.params.text("op"), op.unary)) op.unary = UnaryOp::logical_not;
  op.alpha = static_cast<float>(problem.params.real("alpha"));
  op.beta = static_cast<float>(problem.params.real("beta"));
  return op;
}

std::optional<FusedStep> step_of(const Problem& problem) {
  FusedStep step;
  switch (const PostOp op = function_of(problem); op.unary) {
    case UnaryOp::sqrt:
      step.algorithm = algorithm::eltwise_sqrt;
      return step;
    case UnaryOp::round:
      step.algorithm = algorithm::eltwise_round;
      return step;
    default: {
      const auto steps = activation_steps(op);
      if (!steps || steps->size() != 1) return std::nullopt;
      return steps->front();
    }
  }
}

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  const auto step = step_of(problem);
  if (!step) return Applicability::no("the library has no such function");
  if (loses_nan(*step)) return Applicability::no("oneDNN's implementation does not propagate NaN");
  if (loses_tail(*step))
    return Applicability::no("oneDNN's implementation is inexact where the result is near 0");
  return fills_blocks(problem.inputs[0]);
}

std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const FusedStep step = *step_of(problem);
  const std::int64_t elements = problem.inputs[0].shape.elements();
  std::vector<PlainPart> parts;
  for_chunks(elements, chunk_count(threads, elements), kCacheLine,
             [&](std::int64_t first, std::int64_t last) {
               const auto desc =
                   desc_of({last - first}, dnnl::memory::data_type::f32, Layout::plain);
               parts.push_back(plain_part(
                   eltwise_operation(step.algorithm, desc, step.alpha, step.beta),
                   {input_argument(DNNL_ARG_SRC, 0, first, desc), output_argument(first, desc)},
                   first, last - first));
             });
  return parts;
}

}  // namespace

Status register_unary(Registry& registry) {
  return add_plain_routines(registry,
                            {.layer_type = "unary",
                             .applicable = applicable,
                             .parts = parts,
                             .in_place_input = [](const Problem&) { return 0; }},
                            kFloatLayouts);
}

}  // namespace softneuro::onednn
