#include "core/float_span.h"

#include "core/cpu.h"
#include "core/error.h"

namespace softneuro {

namespace baseline {
extern const FloatSpans kFloatSpans;
}
#ifdef SN_ISA_X86
namespace avx2 {
extern const FloatSpans kFloatSpans;
}
namespace avx512 {
extern const FloatSpans kFloatSpans;
}
#endif

const FloatSpans& float_spans() noexcept {
#ifdef SN_ISA_X86
  switch (current_isa()) {
    case Isa::avx512:
      return avx512::kFloatSpans;
    case Isa::avx2:
      return avx2::kFloatSpans;
    default:
      break;
  }
#endif
  return baseline::kFloatSpans;
}

Result<Tensor> as_float32(const Tensor& tensor, Allocator& allocator) {
  if (tensor.data_type() == DataType::float32) return tensor;
  SN_ASSIGN_OR_RETURN(Tensor result, Tensor::create(DataType::float32, tensor.shape(), allocator));
  float_spans().load(tensor.data_type(), tensor.data(), static_cast<float*>(result.mutable_data()),
                     tensor.elements());
  return result;
}

void load_floats(ThreadPool& pool, DataType type, const void* from, float* to,
                 std::int64_t count) noexcept {
  constexpr std::int64_t kGrain = 16384;
  const auto* const bytes = static_cast<const std::byte*>(from);
  const auto size = static_cast<std::int64_t>(size_of(type));
  parallel_ranges(pool, count, kGrain, [&](std::int64_t first, std::int64_t last) {
    float_spans().load(type, bytes + first * size, to + first, last - first);
  });
}

}  // namespace softneuro
