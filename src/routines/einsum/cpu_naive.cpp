// einsum cpu/naive: the specification. For each output element, the sum over all other indices of
// the product of the inputs' elements; in double, integers in int64.
#include "core/base/element.h"
#include "core/layers/einsum_equation.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

using Index = std::array<std::int64_t, kMaxEinsumLabels>;

class NaiveEinsumKernel final : public Kernel {
 public:
  NaiveEinsumKernel(const Problem& problem, const EinsumPlan& plan)
      : labels_(plan.labels), output_labels_(plan.output_labels) {
    sizes_.fill(1);
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const Shape& shape = problem.inputs[i].shape;
      const Shape steps = strides_of(shape);
      Index& strides = strides_.emplace_back();
      for (int k = 0; k < shape.rank(); ++k) {
        const auto label = static_cast<std::size_t>(plan.inputs[i][static_cast<std::size_t>(k)]);
        if (shape[k] == 1) continue;  // broadcast
        sizes_[label] = shape[k];
        strides[label] += steps[k];  // an index that stands twice walks along the diagonal
      }
    }
  }

  Status run(Context& context) const noexcept override {
    if (is_float(context.input(0).type))
      compute<double>(context);
    else
      compute<std::int64_t>(context);
    return {};
  }

 private:
  // Advances the indices [first, last); false after the last.
  bool next(Index& index, int first, int last) const noexcept {
    for (int l = last - 1; l >= first; --l) {
      const auto k = static_cast<std::size_t>(l);
      if (++index[k] < sizes_[k]) return true;
      index[k] = 0;
    }
    return false;
  }

  template <class Sum>
  void compute(Context& context) const noexcept {
    Index index{};
    const std::int64_t count = context.output(0).elements();
    bool empty = false;  // a sum over nothing is zero
    for (int l = output_labels_; l < labels_; ++l)
      empty = empty || sizes_[static_cast<std::size_t>(l)] == 0;
    for (std::int64_t i = 0; i < count; ++i) {
      Sum sum = 0;
      if (!empty) do {
          if (context.pool().cancelled()) return;
          sum = multiply_add(sum, product<Sum>(context, index), Sum{1});
        } while (next(index, output_labels_, labels_));
      store_as(context.output(0), i, sum);
      next(index, 0, output_labels_);
    }
  }

  template <class Sum>
  Sum product(Context& context, const Index& index) const noexcept {
    Sum result = 1;
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      std::int64_t at = 0;
      for (std::size_t l = 0; l < static_cast<std::size_t>(labels_); ++l)
        at += index[l] * strides_[i][l];
      result = multiply_add(Sum{0}, result, load_as<Sum>(context.input(i), at));
    }
    return result;
  }

  int labels_, output_labels_;
  Index sizes_{};
  std::vector<Index> strides_;  // per input, per label
};

Result<std::unique_ptr<Kernel>> make_naive_einsum(const Problem& problem) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < problem.layer_inputs; ++i)
    ranks.push_back(problem.inputs[i].shape.rank());
  SN_ASSIGN_OR_RETURN(const EinsumPlan plan, parse_einsum(problem.params.text("equation"), ranks));
  return make_kernel<NaiveEinsumKernel>(problem, plan);
}

}  // namespace

Status register_routine_einsum_cpu_naive(Registry& registry) {
  return add_naive(registry, {"einsum"}, make_naive_einsum);
}

}  // namespace softneuro
