// Runs of float16 or bfloat16 in memory, read and written as float32: for routines that compute in
// float32 whatever the tensors' type. One variant per instruction set, all with the same bits.
#pragma once

#include <cstdint>

#include "core/parallel.h"
#include "softneuro/export.h"
#include "softneuro/tensor.h"

namespace softneuro {

struct FloatSpans {
  void (*load)(DataType type, const void* from, float* to, std::int64_t count) noexcept;
  // Rounds to nearest even. The memory must not overlap.
  void (*store)(DataType type, const float* from, void* to, std::int64_t count) noexcept;
};

// The variant for this processor (current_isa()). Types: float32 (copied), float16, bfloat16.
SN_INTREE const FloatSpans& float_spans() noexcept;
inline bool is_span_float(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

// float32 tensors as they are, others of the above converted into memory of `allocator`.
SN_INTREE Result<Tensor> as_float32(const Tensor& tensor, Allocator& allocator);
// Converts `count` elements with all threads.
SN_INTREE void load_floats(ThreadPool& pool, DataType type, const void* from, float* to,
                           std::int64_t count) noexcept;

// Where the parts of a workspace of floats begin, each aligned to kTensorAlignment.
class FloatRegions {
 public:
  // Reserves `floats` floats; gives the offset of the first.
  std::int64_t add(std::int64_t floats) noexcept {
    constexpr std::int64_t kStep = kTensorAlignment / sizeof(float);
    const std::int64_t offset = total_;
    total_ += (floats + kStep - 1) / kStep * kStep;
    return offset;
  }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(total_) * sizeof(float); }

 private:
  std::int64_t total_ = 0;
};

}  // namespace softneuro
