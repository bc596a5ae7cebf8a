// fold_transpose_into_matmul: a transpose of the last two axes before a product becomes the
// product's flag (Q · Kᵀ of attention): routines read either order, the transpose is a copy.
#include "passes/pattern.h"

namespace softneuro {
namespace {

bool swaps_last_two(const Rewriter& rewriter, const Layer& transpose) {
  const auto perm = transpose.params.integers("perm");
  if (perm.empty()) {
    const DynamicShape& shape = rewriter.tensor(transpose.inputs[0]).shape;
    return shape.ranked() && shape.rank() == 2;
  }
  const std::size_t rank = perm.size();
  if (rank < 2) return false;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return perm[rank - 2] == static_cast<std::int64_t>(rank - 1) &&
         perm[rank - 1] == static_cast<std::int64_t>(rank - 2);
}

}  // namespace

Status fold_transpose_into_matmul(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (rewriter.layer(i).type->name != "matmul") continue;
    for (const std::size_t k : {0u, 1u}) {
      const TensorId operand = rewriter.layer(i).inputs[k];
      const int transpose = rewriter.producer_of_type(operand, "transpose");
      if (transpose < 0 || !rewriter.has_single_use(operand) ||
          !swaps_last_two(rewriter, rewriter.layer(transpose)))
        continue;
      const char* flag = k == 0 ? "transpose_a" : "transpose_b";
      Params& params = rewriter.layer(i).params;
      params.set(flag, std::int64_t{params.integer(flag) == 0 ? 1 : 0});
      rewriter.absorb_before(i, k, transpose, rewriter.layer(transpose).inputs[0]);
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
