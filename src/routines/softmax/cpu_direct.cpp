// softmax cpu/direct: vectors along the axis where it is the last one in memory, else across it.
// float16 and bfloat16 are converted to float32 in the workspace.
#include <algorithm>

#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/simd/float_span.h"
#include "cpu/tensor/memory_order.h"
#include "routines/along_axis.h"
#include "routines/softmax/rows.h"

namespace softneuro {

SN_CHOOSE_VARIANT(SoftmaxRows, kSoftmaxRows, softmax_rows)

namespace {

constexpr std::int64_t kElements = 4096;  // per task, at least
constexpr std::int64_t kColumns = 64;     // per task, at most

class DirectSoftmaxKernel final : public Kernel {
 public:
  DirectSoftmaxKernel(const Shape& shape, int axis, bool log, bool converts)
      : converted_(converts ? shape.elements() : 0),
        outer_(shape.elements(0, axis)),
        count_(shape[axis]),
        inner_(shape.elements(axis + 1, shape.rank())),
        log_(log) {}
  int in_place_input() const noexcept override { return 0; }

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(converted_) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    if (converted_ == 0) {
      run_float32(context.pool(), x.as<float>(), y.as_mutable<float>());
      return {};
    }
    float* all = reinterpret_cast<float*>(context.workspace());
    load_floats(context.pool(), x.type, x.data, all, converted_);
    run_float32(context.pool(), all, all);
    store_floats(context.pool(), y.type, all, y.data, converted_);
    return {};
  }

 private:
  void run_float32(ThreadPool& pool, const float* x, float* y) const noexcept {
    if (count_ == 0) return;
    if (inner_ == 1) {
      parallel_ranges(pool, outer_, kElements / count_, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t o = first; o < last; ++o)
          softmax_rows().row(x + o * count_, y + o * count_, count_, log_);
      });
      return;
    }
    const std::int64_t blocks = (inner_ + kColumns - 1) / kColumns;
    parallel_ranges(pool, outer_ * blocks, kElements / (count_ * kColumns),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t b = first; b < last; ++b) {
                        const std::int64_t column = b % blocks * kColumns;
                        const std::int64_t at = b / blocks * count_ * inner_ + column;
                        softmax_rows().columns(x + at, y + at, count_, inner_,
                                               std::min(kColumns, inner_ - column), log_);
                      }
                    });
  }

  std::int64_t converted_;  // elements to convert; 0: float32
  std::int64_t outer_, count_, inner_;
  bool log_;
};

Applicability applicable(const Problem& problem) {
  if (!is_span_float(problem.inputs[0].type))
    return Applicability::no("input 0 is not float32, float16 or bfloat16");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_softmax(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const Layout layout = problem.inputs[0].layout;
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  return make_kernel<DirectSoftmaxKernel>(
      stored_shape(shape, layout), stored_axis(axis, shape.rank(), layout),
      problem.params.integer("log") != 0, problem.inputs[0].type != DataType::float32);
}

}  // namespace

Status register_routine_softmax_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"softmax"},
      {"cpu", "cpu:float32:nhwc", "cpu:float16", "cpu:float16:nhwc", "cpu:bfloat16",
       "cpu:bfloat16:nhwc"},
      "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_softmax});
}

}  // namespace softneuro
