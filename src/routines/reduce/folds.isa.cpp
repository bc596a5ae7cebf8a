#include "routines/reduce/folds.h"

#include <type_traits>

#include "cpu/simd/block_sum.h"
#include "cpu/simd/vector_math.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

constexpr int kVectors = 4;  // side by side, where a vector holds neighbouring results

constexpr bool is_sum(Fold fold) {
  return fold <= Fold::exp_sum;
}

// What an absent element counts as.
constexpr float neutral(Fold fold) {
  if (fold == Fold::max || fold == Fold::exp_sum) return -__builtin_inff();
  return fold == Fold::min ? __builtin_inff() : 0.0f;
}

// NaN propagates.
template <Fold fold>
SN_INLINE FloatV better(FloatV best, FloatV v) {
  return select((fold == Fold::max ? v > best : v < best) | is_nan(v), v, best);
}

template <Fold fold>
struct Accumulator {
  FloatV best = splat(neutral(fold));
  BlockSum sum;

  SN_INLINE void add(FloatV v, FloatV shift) {
    if constexpr (fold == Fold::sum) sum.add(v);
    if constexpr (fold == Fold::abs_sum) sum.add(abs(v));
    if constexpr (fold == Fold::square_sum) sum.add(v * v);
    if constexpr (fold == Fold::exp_sum) sum.add(exp(v - shift));
    if constexpr (!is_sum(fold)) best = better<fold>(best, v);
  }
  SN_INLINE FloatV result() const { return is_sum(fold) ? sum.result() : best; }
};

template <Fold fold>
SN_INLINE float over_lanes(FloatV v) {
  if constexpr (is_sum(fold)) return sum_of_lanes(v);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    float lanes[kLanes], upper[kLanes];
    store(lanes, v);
    for (int i = 0; i < kLanes; ++i) upper[i] = lanes[(i + half) % kLanes];
    v = better<fold>(v, load(upper));
  }
  return v[0];
}

// Calls f with the offset of each element of `run`'s first `rank` dimensions, in order.
template <class F>
SN_INLINE void for_offsets(const FoldRun& run, int rank, F&& f) {
  std::int64_t index[kMaxRank] = {};
  std::int64_t offset = 0;
  for (int d = 0; d < rank; ++d)
    if (run.dims[d] == 0) return;
  while (true) {
    f(offset);
    int d = rank - 1;
    for (; d >= 0; --d) {
      offset += run.strides[d];
      if (++index[d] < run.dims[d]) break;
      offset -= run.dims[d] * run.strides[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

template <Fold fold>
float along(const float* x, const FoldRun& run, float shift) noexcept {
  const std::int64_t count = run.dims[run.rank - 1];
  const FloatV shifts = splat(shift);
  Accumulator<fold> accumulator;
  for_offsets(
      run, run.rank - 1, [&](std::int64_t offset) __attribute__((always_inline)) {
        const float* row = x + offset;
        std::int64_t i = 0;
        for (; i + kLanes <= count; i += kLanes) accumulator.add(load(row + i), shifts);
        if (i < count) accumulator.add(load_first(row + i, count - i, neutral(fold)), shifts);
      });
  return over_lanes<fold>(accumulator.result());
}

// Of Vectors vectors of columns, or of the first `lanes` columns of one. Sums of several vectors
// are independent, so that their latencies overlap, and whole cache lines are read.
template <Fold fold, int Vectors>
SN_INLINE void across_columns(const float* x, float* y, std::int64_t lanes, const FoldRun& run) {
  const auto get = [=](const float* from, int v) __attribute__((always_inline)) {
    return Vectors == 1 && lanes < kLanes ? load_first(from, lanes) : load(from + v * kLanes);
  };
  FloatV shift[Vectors] = {};
  Accumulator<fold> accumulators[Vectors];
  if constexpr (fold == Fold::exp_sum)
    for (int v = 0; v < Vectors; ++v) shift[v] = get(y, v);
  for_offsets(
      run, run.rank, [&](std::int64_t offset) __attribute__((always_inline)) {
        for (int v = 0; v < Vectors; ++v) accumulators[v].add(get(x + offset, v), shift[v]);
      });
  for (int v = 0; v < Vectors; ++v)
    if (Vectors == 1 && lanes < kLanes)
      store_first(y, accumulators[v].result(), lanes);
    else
      store(y + v * kLanes, accumulators[v].result());
}

template <Fold fold>
void across(const float* x, float* y, std::int64_t columns, const FoldRun& run) noexcept {
  constexpr std::int64_t kWide = kVectors * kLanes;
  std::int64_t c = 0;
  for (; c + kWide <= columns; c += kWide) across_columns<fold, kVectors>(x + c, y + c, kWide, run);
  for (; c + kLanes <= columns; c += kLanes) across_columns<fold, 1>(x + c, y + c, kLanes, run);
  if (c < columns) across_columns<fold, 1>(x + c, y + c, columns - c, run);
}

// Calls f with `fold` as a constant.
template <class F>
SN_INLINE auto with_fold(Fold fold, F&& f) {
  switch (fold) {
    case Fold::sum:
      return f(std::integral_constant<Fold, Fold::sum>());
    case Fold::abs_sum:
      return f(std::integral_constant<Fold, Fold::abs_sum>());
    case Fold::square_sum:
      return f(std::integral_constant<Fold, Fold::square_sum>());
    case Fold::exp_sum:
      return f(std::integral_constant<Fold, Fold::exp_sum>());
    case Fold::max:
      return f(std::integral_constant<Fold, Fold::max>());
    default:
      return f(std::integral_constant<Fold, Fold::min>());
  }
}

float along_any(Fold fold, const float* x, const FoldRun& run, float shift) noexcept {
  return with_fold(fold, [&](auto constant) { return along<constant.value>(x, run, shift); });
}

void across_any(Fold fold, const float* x, float* y, std::int64_t columns,
                const FoldRun& run) noexcept {
  with_fold(fold, [&](auto constant) { across<constant.value>(x, y, columns, run); });
}

}  // namespace

extern const Folds kFolds;
const Folds kFolds = {along_any, across_any};

}  // namespace softneuro::SN_ISA_NAMESPACE
