// fuse_rms_norm: x / sqrt(mean(x²) + ε) [· scale] over the last axes is an RMS norm. Exact up to
// rounding; squares that overflow, or vanish, in the model's type do not in the norm's sums.
#include "passes/norm_pattern.h"

namespace softneuro {

Status fuse_rms_norm(Rewriter& rewriter, int i) {
  const std::optional<Normalized> match = match_normalized(rewriter, i);
  if (match && is_closed(rewriter, match->layers, rewriter.layer(i).outputs[0])) {
    const LayerType* const rms_norm = rewriter.context().type("rms_norm");
    if (rms_norm == nullptr) return {};
    Params params;
    params.set("axis", std::int64_t{match->axis});
    params.set("epsilon", match->epsilon);
    rewriter.replace(match->layers, i, *rms_norm, {match->numerator}, std::move(params));
  }
  return rewriter.layer(i).type->name == "rms_norm"
             ? take_in_operand(rewriter, i, 1, BinaryOp::mul).status()
             : Status();
}

}  // namespace softneuro
