// arg_reduce cpu/direct: float32. Where other axes lie behind the reduced one, a block of columns
// is searched together, so that memory is read in order.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/registry.h"

namespace softneuro {
namespace {

constexpr std::int64_t kElements = 8192;  // per task, at least
constexpr std::int64_t kColumns = 64;     // results per task, at most

// a is chosen rather than b, which comes before it. NaN beats every number.
template <bool largest, bool last>
bool beats(float a, float b) noexcept {
  if constexpr (last)
    return (largest ? a >= b : a <= b) || a != a;
  else
    return (largest ? a > b : a < b) || (a != a && b == b);
}

// Results for `width` columns; element k of column c is x[k·stride + c].
template <bool largest, bool last>
void search(const float* x, std::int64_t* y, std::int64_t count, std::int64_t stride,
            std::int64_t width) noexcept {
  float best[kColumns];
  std::copy_n(x, width, best);
  std::fill_n(y, width, std::int64_t{0});
  for (std::int64_t k = 1; k < count; ++k) {
    const float* row = x + k * stride;
    for (std::int64_t c = 0; c < width; ++c) {
      const bool better = beats<largest, last>(row[c], best[c]);
      best[c] = better ? row[c] : best[c];
      y[c] = better ? k : y[c];
    }
  }
}

class DirectArgReduceKernel final : public Kernel {
 public:
  DirectArgReduceKernel(const Shape& shape, int axis, bool largest, bool last)
      : outer_(shape.elements(0, axis)),
        count_(shape[axis]),
        inner_(shape.elements(axis + 1, shape.rank())),
        search_(largest ? (last ? search<true, true> : search<true, false>)
                        : (last ? search<false, true> : search<false, false>)) {}

  Status run(Context& context) const noexcept override {
    const float* x = context.input(0).as<float>();
    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t blocks = (inner_ + kColumns - 1) / kColumns;
    const std::int64_t per_task = std::max<std::int64_t>(1, count_ * std::min(inner_, kColumns));
    parallel_ranges(context.pool(), outer_ * blocks, kElements / per_task,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t b = first; b < last; ++b) {
                        const std::int64_t o = b / blocks, column = b % blocks * kColumns;
                        search_(x + o * count_ * inner_ + column, y + o * inner_ + column, count_,
                                inner_, std::min(kColumns, inner_ - column));
                      }
                    });
    return {};
  }

 private:
  std::int64_t outer_, count_, inner_;
  void (*search_)(const float*, std::int64_t*, std::int64_t, std::int64_t, std::int64_t) noexcept;
};

class DirectArgReduce final : public SimpleRoutine {
 public:
  DirectArgReduce() : SimpleRoutine("arg_reduce", "cpu/direct") {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32)
      return Applicability::no("input 0 is not float32");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    const Params& params = problem.params;
    const Shape& shape = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(params.integer("axis"), shape.rank()));
    return make_kernel<DirectArgReduceKernel>(shape, axis, params.text("op") == "max",
                                              params.integer("select_last_index") != 0);
  }
};

}  // namespace

Status register_routine_arg_reduce_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectArgReduce>());
}

}  // namespace softneuro
