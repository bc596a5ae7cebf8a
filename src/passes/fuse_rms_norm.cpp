// fuse_rms_norm: x / sqrt(mean(x²) + ε) [· scale] over the last axes is an RMS norm. Exact up to
// rounding; squares that overflow, or vanish, in the model's type do not in the norm's sums.
#include "passes/norm_pattern.h"

namespace softneuro {

Status fuse_rms_norm(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* rms_norm = context.type("rms_norm");
  for (int i = 0; rms_norm != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    const std::optional<Normalized> match = match_normalized(rewriter, i);
    if (match && is_closed(rewriter, match->layers, rewriter.layer(i).outputs[0])) {
      Params params;
      params.set("axis", std::int64_t{match->axis});
      params.set("epsilon", match->epsilon);
      rewriter.replace(match->layers, i, *rms_norm, {match->numerator}, std::move(params));
    }
    if (rewriter.layer(i).type == rms_norm)
      SN_RETURN_IF_ERROR(take_in_operand(rewriter, i, 1, BinaryOp::mul).status());
  }
  return rewriter.finish();
}

}  // namespace softneuro
