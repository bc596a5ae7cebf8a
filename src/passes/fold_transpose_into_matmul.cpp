// fold_transpose_into_matmul: a transpose of the last two axes before a product becomes the
// product's flag (Q · Kᵀ of attention): routines read either order, the transpose is a copy.
#include <algorithm>

#include "passes/pattern.h"

namespace softneuro {
namespace {

bool swaps_last_two(const Rewriter& rewriter, const Layer& transpose) {
  auto perm = permutation_of(rewriter, transpose);
  if (!perm || perm->size() < 2) return false;
  std::swap(perm->end()[-2], perm->end()[-1]);
  return std::is_sorted(perm->begin(), perm->end());
}

}  // namespace

Status fold_transpose_into_matmul(Rewriter& rewriter, int i) {
  if (rewriter.layer(i).type->name != "matmul") return {};
  for (const std::size_t k : {0u, 1u}) {
    const TensorId operand = rewriter.layer(i).inputs[k];
    const int transpose = producer_of_type(rewriter, operand, "transpose");
    if (transpose < 0 || !rewriter.has_single_use(operand) ||
        !swaps_last_two(rewriter, rewriter.layer(transpose)))
      continue;
    const char* flag = k == 0 ? "transpose_a" : "transpose_b";
    Params& params = rewriter.layer(i).params;
    params.set(flag, std::int64_t{params.integer(flag) == 0 ? 1 : 0});
    absorb_before(rewriter, i, k, transpose, rewriter.layer(transpose).inputs[0]);
  }
  return {};
}

}  // namespace softneuro
