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
namespace avx512bf16 {
void epilogue_store_bfloat(const EpilogueStore<BFloat16>& store) noexcept;
}
namespace amxbf16 {
void split(const SplitRows<Half>& rows) noexcept;
void split(const SplitRows<BFloat16>& rows) noexcept;
void split(const SplitRows<float>& rows) noexcept;
void begin() noexcept;
void end() noexcept;
// By the number of parts that numbers are split into.
void multiply_1(const SplitProduct& product) noexcept;
void multiply_2(const SplitProduct& product) noexcept;
void multiply_3(const SplitProduct& product) noexcept;
void pack_1(const float* from, std::int64_t depth, std::byte* to) noexcept;
void pack_2(const float* from, std::int64_t depth, std::byte* to) noexcept;
void pack_3(const float* from, std::int64_t depth, std::byte* to) noexcept;
}  // namespace amxbf16

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

}  // namespace

template <>
const SplitTileOps<Half>* split_tile_ops() noexcept {
  static constexpr SplitTileOps<Half> kOps = {
      isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_2,
      amxbf16::end, tile_bytes<2>,  pack<amxbf16::pack_2>, avx512::epilogue_store_half};
  return &kOps;
}
template <>
const SplitTileOps<BFloat16>* split_tile_ops() noexcept {
  static constexpr SplitTileOps<BFloat16> kOps = {
      isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_1,
      amxbf16::end, tile_bytes<1>,  pack<amxbf16::pack_1>, avx512bf16::epilogue_store_bfloat};
  return &kOps;
}
template <>
const SplitTileOps<float>* split_tile_ops() noexcept {
  static constexpr SplitTileOps<float> kOps = {
      isa::amxbf16, amxbf16::split, amxbf16::begin,        amxbf16::multiply_3,
      amxbf16::end, tile_bytes<3>,  pack<amxbf16::pack_3>, avx512::epilogue_store_float};
  return &kOps;
}

#else

template <>
const SplitTileOps<Half>* split_tile_ops() noexcept {
  return nullptr;
}
template <>
const SplitTileOps<BFloat16>* split_tile_ops() noexcept {
  return nullptr;
}
template <>
const SplitTileOps<float>* split_tile_ops() noexcept {
  return nullptr;
}

#endif

}  // namespace softneuro
