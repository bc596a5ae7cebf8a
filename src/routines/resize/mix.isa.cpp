#include "routines/resize/mix.h"

#include <algorithm>
#include <type_traits>

#include "core/vector_element.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// Calls f with a pointer to an element of the type.
template <class F>
SN_INLINE void with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::float16:
      return f(static_cast<Half*>(nullptr));
    case DataType::bfloat16:
      return f(static_cast<BFloat16*>(nullptr));
    case DataType::int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case DataType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    default:
      return f(static_cast<float*>(nullptr));
  }
}

template <class T, class R>
void mix_runs(const WeightedRuns& runs, R* to) noexcept {
  const T* data = static_cast<const T*>(runs.data);
  for (std::int64_t i = 0; i < runs.length; i += kLanes) {
    const std::int64_t lanes = std::min<std::int64_t>(kLanes, runs.length - i);
    FloatV sum = {};
    for (std::int64_t k = 0; k < runs.count; ++k) {
      const T* p = data + runs.offsets[k] + i;
      sum += (lanes < kLanes ? load_elements(p, lanes) : load_element(p)) * runs.weights[k];
    }
    sum = sum * runs.scale + runs.shift;
    if (lanes < kLanes)
      store_elements(to + i, sum, lanes);
    else
      store_element(to + i, sum);
  }
}

void mix(DataType from, const WeightedRuns& runs, DataType to_type, void* to) noexcept {
  with_type(from, [&](auto* x) {
    with_type(to_type, [&](auto* y) {
      using T = std::remove_pointer_t<decltype(x)>;
      using R = std::remove_pointer_t<decltype(y)>;
      mix_runs<T, R>(runs, static_cast<R*>(to));
    });
  });
}

void pick(const WeightedRuns& runs, std::int64_t outputs, DataType to_type, void* to) noexcept {
  with_type(to_type, [&](auto* y) {
    using R = std::remove_pointer_t<decltype(y)>;
    const float* data = static_cast<const float*>(runs.data);
    const std::int64_t n = runs.count;
    for (std::int64_t i = 0; i < outputs; i += kLanes) {
      const std::int64_t lanes = std::min<std::int64_t>(kLanes, outputs - i);
      FloatV sum = {};
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t first = (i + lane) * n;
        float one = 0;
        for (std::int64_t k = first; k < first + n; ++k)
          one += data[runs.offsets[k]] * runs.weights[k];
        sum[lane] = one;
      }
      sum = sum * runs.scale + runs.shift;
      if (lanes < kLanes)
        store_elements(static_cast<R*>(to) + i, sum, lanes);
      else
        store_element(static_cast<R*>(to) + i, sum);
    }
  });
}

}  // namespace

extern const ResizeMix kResizeMix;
const ResizeMix kResizeMix = {mix, pick};

}  // namespace softneuro::SN_ISA_NAMESPACE
