// Runs of float16 or bfloat16 in memory, read and written as float32: for routines that compute in
// float32 whatever the tensors' type. One variant per instruction set, all with the same bits.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "core/base/parallel.h"
#include "softneuro/export.h"
#include "softneuro/tensor.h"

namespace softneuro {

struct FloatSpans {
  void (*load)(DataType type, const void* from, float* to, std::int64_t count) noexcept;
  // Rounds to nearest even. The memory must not overlap.
  void (*store)(DataType type, const float* from, void* to, std::int64_t count) noexcept;
};

// The best variant for this processor, or for one with these features. Types: float32
// (copied), float16, bfloat16.
SN_INTREE const FloatSpans& float_spans() noexcept;
SN_INTREE const FloatSpans& float_spans(CpuFeatures features) noexcept;
inline bool is_span_float(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

// The elements [offset, offset + count) of `data` as float32: in place if they are float32,
// else converted into `buffer`. Precondition: is_span_float(type).
inline const float* read_floats(const void* data, DataType type, std::int64_t offset,
                                std::int64_t count, float* buffer) noexcept {
  if (type == DataType::float32) return static_cast<const float*>(data) + offset;
  float_spans().load(type, static_cast<const std::uint16_t*>(data) + offset, buffer, count);
  return buffer;
}
// Where results for the elements [offset, …) of `data` should be computed: in place if they are
// float32, else in `buffer`, from where write_floats stores them.
inline float* target_floats(void* data, DataType type, std::int64_t offset,
                            float* buffer) noexcept {
  return type == DataType::float32 ? static_cast<float*>(data) + offset : buffer;
}
inline void write_floats(void* data, DataType type, std::int64_t offset, std::int64_t count,
                         const float* results) noexcept {
  if (type != DataType::float32)
    float_spans().store(type, results, static_cast<std::uint16_t*>(data) + offset, count);
}

// float32 tensors as they are, others of the above converted into memory of `allocator`.
SN_INTREE Result<Tensor> as_float32(const Tensor& tensor, Allocator& allocator);
// Convert `count` elements with all threads.
SN_INTREE void load_floats(ThreadPool& pool, DataType type, const void* from, float* to,
                           std::int64_t count) noexcept;
SN_INTREE void store_floats(ThreadPool& pool, DataType type, const float* from, void* to,
                            std::int64_t count) noexcept;

}  // namespace softneuro
