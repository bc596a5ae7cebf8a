#include "cpu/simd/float_span.h"

#include <cstring>

#include "cpu/simd/vector_element.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

template <class T>
void load_numbers(const T* from, float* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load_element(from + i));
  if (i < count) store_first(to + i, load_elements(from + i, count - i), count - i);
}

template <class T>
void store_numbers(const float* from, T* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_element(to + i, load(from + i));
  if (i < count) store_elements(to + i, load_first(from + i, count - i), count - i);
}

void load_run(DataType type, const void* from, float* to, std::int64_t count) noexcept {
  if (type == DataType::float16)
    load_numbers(static_cast<const Half*>(from), to, count);
  else if (type == DataType::bfloat16)
    load_numbers(static_cast<const BFloat16*>(from), to, count);
  else if (count > 0)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

void store_run(DataType type, const float* from, void* to, std::int64_t count) noexcept {
  if (type == DataType::float16)
    store_numbers(from, static_cast<Half*>(to), count);
  else if (type == DataType::bfloat16)
    store_numbers(from, static_cast<BFloat16*>(to), count);
  else if (count > 0)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

extern const FloatSpans kFloatSpans;
const FloatSpans kFloatSpans = {load_run, store_run};

}  // namespace softneuro::SN_ISA_NAMESPACE
