#include "routines/resize/mix.h"

#include <algorithm>

#include "cpu/simd/vector_element.h"
#include "cpu/tensor/kernel_types.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// `vectors` vectors from element `at` on; the last of them may be short.
template <class T, class R, int vectors>
SN_INLINE void mix_vectors(const WeightedRuns& runs, R* to, std::int64_t at,
                           std::int64_t lanes = kLanes) {
  const T* data = static_cast<const T*>(runs.data) + at;
  FloatV sum[vectors] = {};
  for (std::int64_t k = 0; k < runs.count; ++k) {
    const T* p = data + runs.offsets[k];
    const FloatV weight = splat(runs.weights[k]);
    for (int v = 0; v < vectors; ++v)
      sum[v] += (lanes < kLanes ? load_elements(p, lanes) : load_element(p + v * kLanes)) * weight;
  }
  for (int v = 0; v < vectors; ++v) {
    sum[v] = sum[v] * runs.scale + runs.shift;
    if (lanes < kLanes)
      store_quotients(to + at, sum[v], splat(runs.zero_point), lanes);
    else
      store_quotient(to + at + v * kLanes, sum[v], splat(runs.zero_point));
  }
}

template <class T, class R>
void mix_runs(const WeightedRuns& runs, R* to) noexcept {
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= runs.length; i += 4 * kLanes) mix_vectors<T, R, 4>(runs, to, i);
  for (; i + kLanes <= runs.length; i += kLanes) mix_vectors<T, R, 1>(runs, to, i);
  if (i < runs.length) mix_vectors<T, R, 1>(runs, to, i, runs.length - i);
}

void mix(DataType from, const WeightedRuns& runs, DataType to_type, void* to) noexcept {
  with_kernel_type(from, [&](auto x) {
    with_kernel_type(to_type, [&](auto y) {
      using R = decltype(y);
      mix_runs<decltype(x), R>(runs, static_cast<R*>(to));
    });
  });
}

// data[offsets[i]] for the first `lanes` offsets; the other lanes are zero.
SN_INLINE FloatV gather(const float* data, const std::int32_t* offsets, std::int64_t lanes) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << lanes) - 1u);
  const __m512i index = _mm512_maskz_loadu_epi32(mask, offsets);
  return (FloatV)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, index, data, 4);
#else
  FloatV v = {};
  for (std::int64_t i = 0; i < lanes; ++i) v[i] = data[offsets[i]];
  return v;
#endif
}

void pick(const PickedTaps& taps, DataType to_type, void* to) noexcept {
  with_kernel_type(to_type, [&](auto y) {
    using R = decltype(y);
    R* target = static_cast<R*>(to);
    for (std::int64_t i = 0; i < taps.outputs; i += kLanes) {
      const std::int64_t lanes = std::min<std::int64_t>(kLanes, taps.outputs - i);
      FloatV sum = {};
      for (std::int64_t k = 0; k < taps.count; ++k) {
        const std::int64_t at = k * taps.outputs + i;
        const FloatV weight =
            lanes < kLanes ? load_first(taps.weights + at, lanes) : load(taps.weights + at);
        sum += gather(taps.data, taps.offsets + at, lanes) * weight;
      }
      sum = sum * taps.scale + taps.shift;
      if (lanes < kLanes)
        store_quotients(target + i, sum, splat(taps.zero_point), lanes);
      else
        store_quotient(target + i, sum, splat(taps.zero_point));
    }
  });
}

}  // namespace

extern const ResizeMix kResizeMix;
const ResizeMix kResizeMix = {mix, pick};

}  // namespace softneuro::SN_ISA_NAMESPACE
