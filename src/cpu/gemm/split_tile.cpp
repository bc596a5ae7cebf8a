#include "cpu/gemm/split_tile.h"

#include "core/base/isa_variants.h"
#include "cpu/gemm/gemm_operands.h"

namespace softneuro {

static_assert(kGemmMaxRows % kSplitRows == 0 && kSplitRows == kTilePanel);

#if SN_HAS_AMXBF16

namespace avx512 {
void epilogue_store_half(const EpilogueStore<Half>& store) noexcept;
void epilogue_store_float(const EpilogueStore<float>& store) noexcept;
}  // namespace avx512
namespace amxbf16 {
void split(const SplitRows<Half>& rows) noexcept;
void split(const SplitRows<float>& rows) noexcept;
void begin() noexcept;
void end() noexcept;
void multiply_half(const SplitProduct& product) noexcept;
void multiply_float(const SplitProduct& product) noexcept;
void pack_half(const float* from, std::int64_t depth, std::byte* to) noexcept;
void pack_float(const float* from, std::int64_t depth, std::byte* to) noexcept;
}  // namespace amxbf16

namespace {

template <int Parts>
std::int64_t tile_bytes(std::int64_t steps) noexcept {
  return steps * Parts * kSplitStep * kTilePanel * 2;
}
void pack_half(const float* from, std::int64_t segments, std::int64_t length,
               std::byte* to) noexcept {
  amxbf16::pack_half(from, segments * length, to);
}
void pack_float(const float* from, std::int64_t segments, std::int64_t length,
                std::byte* to) noexcept {
  amxbf16::pack_float(from, segments * length, to);
}

}  // namespace

template <>
const SplitTileOps<Half>* split_tile_ops() noexcept {
  static constexpr SplitTileOps<Half> kOps = {
      isa::amxbf16, amxbf16::split, amxbf16::begin, amxbf16::multiply_half,
      amxbf16::end, tile_bytes<2>,  pack_half,      avx512::epilogue_store_half};
  return &kOps;
}
template <>
const SplitTileOps<float>* split_tile_ops() noexcept {
  static constexpr SplitTileOps<float> kOps = {
      isa::amxbf16, amxbf16::split, amxbf16::begin, amxbf16::multiply_float,
      amxbf16::end, tile_bytes<3>,  pack_float,     avx512::epilogue_store_float};
  return &kOps;
}

#else

template <>
const SplitTileOps<Half>* split_tile_ops() noexcept {
  return nullptr;
}
template <>
const SplitTileOps<float>* split_tile_ops() noexcept {
  return nullptr;
}

#endif

}  // namespace softneuro
