// Three passes: the largest, the exponentials with their sum, the quotients. Sums are made of
// blocks, so that their error does not grow with the length of a row.
#include "routines/softmax/rows.h"

#include "cpu/simd/block_sum.h"
#include "cpu/simd/vector_math.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

void row(const float* x, float* y, std::int64_t count, bool log_of) noexcept {
  const std::int64_t whole = count - count % kLanes, rest = count - whole;
  const float lowest = -__builtin_inff();
  FloatV largest = splat(lowest);
  for (std::int64_t i = 0; i < whole; i += kLanes) largest = max(largest, load(x + i));
  if (rest != 0) largest = max(largest, load_first(x + whole, rest, lowest));
  const FloatV shift = splat(max_of_lanes(largest));

  BlockSum sum;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    const FloatV e = exp(load(x + i) - shift);
    sum.add(e);
    if (!log_of) store(y + i, e);
  }
  if (rest != 0) {
    const FloatV e = exp(load_first(x + whole, rest, lowest) - shift);
    // Lanes that do not exist add nothing, not even where all of the row is −∞.
    const FloatV exists = load_first(x + whole, rest, lowest);
    sum.add(select(exists == lowest, FloatV{}, e));
    if (!log_of) store_first(y + whole, e, rest);
  }

  const float total = sum_of_lanes(sum.result());
  if (log_of) {
    const FloatV log_total = log(splat(total));
    for (std::int64_t i = 0; i < whole; i += kLanes)
      store(y + i, (load(x + i) - shift) - log_total);
    if (rest != 0) store_first(y + whole, (load_first(x + whole, rest) - shift) - log_total, rest);
  } else {
    const float scale = 1.0f / total;
    for (std::int64_t i = 0; i < whole; i += kLanes) store(y + i, load(y + i) * scale);
    if (rest != 0) store_first(y + whole, load_first(y + whole, rest) * scale, rest);
  }
}

// Up to kLanes columns. `lanes` < kLanes: the first ones only.
template <bool all>
void column_block(const float* x, float* y, std::int64_t count, std::int64_t stride,
                  std::int64_t lanes, bool log_of) noexcept {
  const auto get = [=](const float* p) __attribute__((always_inline)) {
    return all ? load(p) : load_first(p, lanes);
  };
  const auto put = [=](float* p, FloatV v) __attribute__((always_inline)) {
    if constexpr (all)
      store(p, v);
    else
      store_first(p, v, lanes);
  };
  FloatV shift = splat(-__builtin_inff());
  for (std::int64_t k = 0; k < count; ++k) shift = max(shift, get(x + k * stride));
  BlockSum sum;
  for (std::int64_t k = 0; k < count; ++k) {
    const FloatV e = exp(get(x + k * stride) - shift);
    sum.add(e);
    if (!log_of) put(y + k * stride, e);
  }
  if (log_of) {
    const FloatV log_total = log(sum.result());
    for (std::int64_t k = 0; k < count; ++k)
      put(y + k * stride, (get(x + k * stride) - shift) - log_total);
  } else {
    const FloatV scale = 1.0f / sum.result();
    for (std::int64_t k = 0; k < count; ++k) put(y + k * stride, get(y + k * stride) * scale);
  }
}

void columns(const float* x, float* y, std::int64_t count, std::int64_t stride, std::int64_t width,
             bool log_of) noexcept {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes)
    column_block<true>(x + c, y + c, count, stride, kLanes, log_of);
  if (c < width) column_block<false>(x + c, y + c, count, stride, width - c, log_of);
}

}  // namespace

extern const SoftmaxRows kSoftmaxRows;
const SoftmaxRows kSoftmaxRows = {row, columns};

}  // namespace softneuro::SN_ISA_NAMESPACE
