// arg_reduce cpu/direct: float32. Where other axes follow the reduced one, a block of columns
// is searched together, so that memory is read in order.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "routines/along_axis.h"

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

Applicability applicable(const Problem& problem) {
  if (problem.inputs[0].type != DataType::float32)
    return Applicability::no("input 0 is not float32");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_arg_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const Shape& shape = problem.inputs[0].shape;
  const std::int64_t outer = shape.elements(0, axis), count = shape[axis];
  const std::int64_t inner = shape.elements(axis + 1, shape.rank());
  const bool last = problem.params.integer("select_last_index") != 0;
  const auto run = problem.params.text("op") == "max"
                       ? (last ? search<true, true> : search<true, false>)
                       : (last ? search<false, true> : search<false, false>);
  return make_function_kernel([=](Context& context) {
    const float* x = context.input(0).as<float>();
    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
    const std::int64_t per_task = std::max<std::int64_t>(1, count * std::min(inner, kColumns));
    parallel_ranges(context.pool(), outer * blocks, kElements / per_task,
                    [&](std::int64_t first, std::int64_t end) {
                      for (std::int64_t b = first; b < end; ++b) {
                        const std::int64_t o = b / blocks, column = b % blocks * kColumns;
                        run(x + o * count * inner + column, y + o * inner + column, count, inner,
                            std::min(kColumns, inner - column));
                      }
                    });
  });
}

}  // namespace

Status register_routine_arg_reduce_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"arg_reduce"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_arg_reduce});
}

}  // namespace softneuro
