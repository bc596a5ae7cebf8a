#include "cpu/gemm/split_tile.h"

#include "core/base/isa_variants.h"
#include "cpu/gemm/gemm_operands.h"

namespace softneuro {

static_assert(kGemmMaxRows % kSplitRows == 0 && kSplitRows == kTilePanel);

#if SN_HAS_AMXBF16
namespace {

using PackDepth = void (*)(const float*, std::int64_t, std::byte*) noexcept;

template <int Parts>
std::int64_t tile_bytes(std::int64_t steps) noexcept {
  return steps * Parts * kSplitStep * kTilePanel * 2;
}
template <PackDepth Pack>
void pack(const float* from, std::int64_t segments, std::int64_t length, std::byte* to) noexcept {
  Pack(from, segments * length, to);
}

constexpr SplitTileOps<Half> ops_of(Half) {
  return {isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_2,
          amxbf16::end, tile_bytes<2>,  pack<amxbf16::pack_2>, avx512::epilogue_store_half};
}
constexpr SplitTileOps<BFloat16> ops_of(BFloat16) {
  return {isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_1,
          amxbf16::end, tile_bytes<1>,  pack<amxbf16::pack_1>, avx512bf16::epilogue_store_bfloat};
}
constexpr SplitTileOps<float> ops_of(float) {
  return {isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_3,
          amxbf16::end, tile_bytes<3>,  pack<amxbf16::pack_3>, avx512::epilogue_store_float};
}

}  // namespace
#endif

template <class T>
const SplitTileOps<T>* split_tile_ops() noexcept {
#if SN_HAS_AMXBF16
  static constexpr SplitTileOps<T> kOps = ops_of(T{});
  return &kOps;
#else
  return nullptr;
#endif
}
template const SplitTileOps<Half>* split_tile_ops() noexcept;
template const SplitTileOps<BFloat16>* split_tile_ops() noexcept;
template const SplitTileOps<float>* split_tile_ops() noexcept;

}  // namespace softneuro
