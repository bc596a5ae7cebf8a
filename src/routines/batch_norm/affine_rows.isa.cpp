#include "routines/batch_norm/affine_rows.h"

#include "cpu/simd/vector_element.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

template <class T, bool per_column>
void apply_row(const AffineRows& r, const T* x, T* y) noexcept {
  FloatV mean = splat(*r.mean), factor = splat(*r.factor), bias = splat(*r.bias);
  std::int64_t i = 0;
  for (; i + kLanes <= r.columns; i += kLanes) {
    if constexpr (per_column) {
      mean = load(r.mean + i);
      factor = load(r.factor + i);
      bias = load(r.bias + i);
    }
    store_element(y + i, (load_element(x + i) - mean) * factor + bias);
  }
  const std::int64_t rest = r.columns - i;
  if (rest == 0) return;
  if constexpr (per_column) {
    mean = load_first(r.mean + i, rest);
    factor = load_first(r.factor + i, rest);
    bias = load_first(r.bias + i, rest);
  }
  store_elements(y + i, (load_elements(x + i, rest) - mean) * factor + bias, rest);
}

template <class T>
void apply_rows(const AffineRows& r) noexcept {
  const T* x = static_cast<const T*>(r.x);
  T* y = static_cast<T*>(r.y);
  for (std::int64_t i = 0; i < r.rows; ++i, x += r.columns, y += r.columns)
    r.per_column ? apply_row<T, true>(r, x, y) : apply_row<T, false>(r, x, y);
}

void apply(const AffineRows& r) noexcept {
  if (r.type == DataType::float16) return apply_rows<Half>(r);
  if (r.type == DataType::bfloat16) return apply_rows<BFloat16>(r);
  apply_rows<float>(r);
}

}  // namespace

extern const AffineFunctions kAffineFunctions;
const AffineFunctions kAffineFunctions = {apply};

}  // namespace softneuro::SN_ISA_NAMESPACE
