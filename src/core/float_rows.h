// Reading and writing runs of real numbers of any 16 or 32 bit type as float32.
#pragma once

#include "core/span_ops.h"
#include "softneuro/types.h"

namespace softneuro {

inline bool is_float_row_type(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

// The elements [offset, offset + count) of `data` as float32: where they lie if they are float32,
// else converted into `buffer`. Precondition: is_float_row_type(type).
inline const float* read_floats(const void* data, DataType type, std::int64_t offset,
                                std::int64_t count, float* buffer) noexcept {
  if (type == DataType::float32) return static_cast<const float*>(data) + offset;
  if (type == DataType::float16)
    span_ops().from_half(static_cast<const Half*>(data) + offset, buffer, count);
  else
    span_ops().from_bfloat16(static_cast<const BFloat16*>(data) + offset, buffer, count);
  return buffer;
}

// Where results for the elements [offset, …) of `data` should be computed: in place if they are
// float32, else in `buffer`, from where write_floats stores them.
inline float* target_floats(void* data, DataType type, std::int64_t offset,
                            float* buffer) noexcept {
  return type == DataType::float32 ? static_cast<float*>(data) + offset : buffer;
}
inline void write_floats(void* data, DataType type, std::int64_t offset, std::int64_t count,
                         const float* buffer) noexcept {
  if (type == DataType::float16)
    span_ops().to_half(buffer, static_cast<Half*>(data) + offset, count);
  else if (type == DataType::bfloat16)
    span_ops().to_bfloat16(buffer, static_cast<BFloat16*>(data) + offset, count);
}

}  // namespace softneuro
