// topk cpu/naive: the specification. A heap of the best k of each row, then sorted; the order is
// total (value, then lower index), so the result is unique.
#include <algorithm>

#include "cpu/tensor/compare_elements.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveTopkKernel final : public Kernel {
 public:
  NaiveTopkKernel(int axis, std::int64_t k, bool largest) : axis_(axis), k_(k), largest_(largest) {}
  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(k_) * sizeof(std::int64_t);
  }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    if (k_ == 0) return {};
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        choose(context, o * x.shape[axis_] * inner + i, inner);
        write(context, o * x.shape[axis_] * inner + i, o * k_ * inner + i, inner);
      }
    return {};
  }

 private:
  // Element i of the row stands before element j in the result.
  bool before(const TensorView& x, std::int64_t base, std::int64_t step, std::int64_t i,
              std::int64_t j) const noexcept {
    const int order = compare_elements(x, base + i * step, base + j * step);
    return order == 0 ? i < j : (order > 0) == largest_;
  }

  // Leaves the indices of the k best in order in the workspace.
  void choose(Context& context, std::int64_t base, std::int64_t step) const noexcept {
    const TensorView& x = context.input(0);
    auto* best = reinterpret_cast<std::int64_t*>(context.workspace());
    const auto order = [&](std::int64_t i, std::int64_t j) { return before(x, base, step, i, j); };
    for (std::int64_t n = 0; n < k_; ++n) best[n] = n;
    std::make_heap(best, best + k_, order);  // the worst of the best on top
    for (std::int64_t n = k_; n < x.shape[axis_]; ++n) {
      if (!order(n, best[0])) continue;
      std::pop_heap(best, best + k_, order);
      best[k_ - 1] = n;
      std::push_heap(best, best + k_, order);
    }
    std::sort_heap(best, best + k_, order);
  }

  void write(Context& context, std::int64_t from, std::int64_t to,
             std::int64_t step) const noexcept {
    const TensorView& x = context.input(0);
    const auto* best = reinterpret_cast<const std::int64_t*>(context.workspace());
    const std::size_t size = size_of(x.type);
    for (std::int64_t n = 0; n < k_; ++n) {
      if (context.has_output(0))
        std::memcpy(context.output(0).as_mutable<std::byte>() +
                        static_cast<std::size_t>(to + n * step) * size,
                    x.as<std::byte>() + static_cast<std::size_t>(from + best[n] * step) * size,
                    size);
      if (context.has_output(1))
        context.output(1).as_mutable<std::int64_t>()[to + n * step] = best[n];
    }
  }

  int axis_;
  std::int64_t k_;
  bool largest_;
};

Result<std::unique_ptr<Kernel>> make_naive_topk(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), shape.rank()));
  const std::vector<std::int64_t> k = problem.integers(1);
  if (k.size() != 1 || k[0] < 0 || k[0] > shape[axis])
    return invalid_argument("input 1 (k) must be one number from 0 to {}", shape[axis]);
  return make_kernel<NaiveTopkKernel>(axis, k[0], problem.params.integer("largest") != 0);
}

}  // namespace

Status register_routine_topk_cpu_naive(Registry& registry) {
  return add_naive(registry, {"topk"}, make_naive_topk);
}

}  // namespace softneuro
