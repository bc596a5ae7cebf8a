// Sums in float32 to results in float16, for HalfTileOps.
#include "core/gemm/half_tile.h"
#include "core/vector_element.h"

namespace softneuro::avx512 {
namespace {

template <class Read, class Write>
SN_INLINE void finish_vector(const HalfStore& s, std::int64_t row, std::int64_t column, Read&& read,
                             Write&& write) {
  FloatV v = read(s.sums + row * s.sums_stride + column);
  if (s.bias != nullptr) v += read(s.bias + column);
  const std::int64_t at = row * s.y_stride + column;
  if (s.addend != nullptr) v += read(s.addend + at);
  if (s.clamp) v = clamp(v, s.low, s.high);
  if (s.floats != nullptr)
    write(s.floats + row * s.sums_stride + column, v);
  else
    write(s.y + at, v);
}

}  // namespace

void half_store(const HalfStore& s) noexcept;
void half_store(const HalfStore& s) noexcept {
  const std::int64_t whole = s.columns / kLanes * kLanes, left = s.columns - whole;
  for (int r = 0; r < s.rows; ++r) {
    for (std::int64_t j = 0; j < whole; j += kLanes)
      finish_vector(
          s, r, j, [](const auto* p) { return load_element(p); },
          [](auto* p, FloatV v) { store_element(p, v); });
    if (left > 0)
      finish_vector(
          s, r, whole, [&](const auto* p) { return load_elements(p, left); },
          [&](auto* p, FloatV v) { store_elements(p, v, left); });
  }
}

}  // namespace softneuro::avx512
