#include "cpu/simd/float_span.h"

#include "core/base/error.h"
#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(FloatSpans, kFloatSpans, float_spans)

Result<Tensor> as_float32(const Tensor& tensor, Allocator& allocator) {
  if (tensor.data_type() == DataType::float32) return tensor;
  SN_ASSIGN_OR_RETURN(Tensor result, Tensor::create(DataType::float32, tensor.shape(), allocator));
  float_spans().load(tensor.data_type(), tensor.data(), static_cast<float*>(result.mutable_data()),
                     tensor.elements());
  return result;
}

namespace {
constexpr std::int64_t kGrain = 16384;  // elements per task
}

void load_floats(ThreadPool& pool, DataType type, const void* from, float* to,
                 std::int64_t count) noexcept {
  const auto* const bytes = static_cast<const std::byte*>(from);
  const auto size = static_cast<std::int64_t>(size_of(type));
  parallel_ranges(pool, count, kGrain, [&](std::int64_t first, std::int64_t last) {
    float_spans().load(type, bytes + first * size, to + first, last - first);
  });
}

void store_floats(ThreadPool& pool, DataType type, const float* from, void* to,
                  std::int64_t count) noexcept {
  auto* const bytes = static_cast<std::byte*>(to);
  const auto size = static_cast<std::int64_t>(size_of(type));
  parallel_ranges(pool, count, kGrain, [&](std::int64_t first, std::int64_t last) {
    float_spans().store(type, from + first, bytes + first * size, last - first);
  });
}

}  // namespace softneuro
