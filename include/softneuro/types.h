// Data types, memory layouts and devices of tensors.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "softneuro/export.h"

namespace softneuro {

// Values are part of the .dnn format and of the C ABI: append only.
enum class DataType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  float16 = 2,   // IEEE 754 binary16
  bfloat16 = 3,  // upper half of a float32
  float64 = 4,
  int8 = 5,
  uint8 = 6,
  int16 = 7,
  uint16 = 8,
  int32 = 9,
  uint32 = 10,
  int64 = 11,
  uint64 = 12,
  boolean = 13,  // one byte, 0 or 1
  // 8 bits that mean scale · (q − zero_point), signed or unsigned: Quantization::is_signed. Inside
  // of plans; inputs and outputs of imported models never have it.
  qint8 = 14,
};
inline constexpr int kDataTypeCount = 15;

// Bytes of one element; 0 for undefined.
SN_API std::size_t size_of(DataType type) noexcept;
// "float32", …; "undefined", for other values, too. Static.
SN_API const char* to_string(DataType type) noexcept;
// The inverse; undefined if the name is unknown.
SN_API DataType parse_data_type(std::string_view name) noexcept;
SN_API bool is_float(DataType type) noexcept;    // float16, bfloat16, float32, float64
SN_API bool is_integer(DataType type) noexcept;  // signed or not; neither boolean nor qint8

// Order of the logical dimensions N, C, spatial… in memory, with channels in blocks or not. Shapes
// are always logical (N, C, …). Every value is valid. Trivially copyable.
class SN_API Layout {
 public:
  // Values are part of the ABI of plugins: append only.
  enum class Order : std::uint8_t { plain = 0, channels_last = 1 };
  static constexpr int kMaxBlock = 1024;  // channels

  // Row-major in the order of the dimensions (NCHW). oneDNN calls nhwc plain, too; here it is not.
  static const Layout plain;
  // N, spatial…, C; "nhwc" at every rank, taken by routines from rank 3 on.
  static const Layout channels_last;
  static const Layout nchw8c, nchw16c;  // blocked(8), blocked(16)
  // N, ⌈C/block⌉, spatial…, block; lanes beyond C are zero bytes, in qint8, too.
  // Precondition: 2 <= block <= kMaxBlock.
  static constexpr Layout blocked(int block) noexcept { return {Order::plain, block}; }

  constexpr Layout() noexcept = default;  // plain
  // The inverse of to_string; std::nullopt for other names.
  static std::optional<Layout> parse(std::string_view name) noexcept;
  constexpr auto operator<=>(const Layout&) const noexcept = default;
  friend constexpr Order order_of(Layout layout) noexcept { return layout.order_; }
  // Channels per block; 1: no blocks.
  friend constexpr int block_of(Layout layout) noexcept { return layout.block_; }

 private:
  constexpr Layout(Order order, int block) noexcept
      : block_(static_cast<std::uint16_t>(block)), order_(order) {}

  std::uint16_t block_ = 1;
  Order order_ = Order::plain;
};
inline constexpr Layout Layout::plain{};
inline constexpr Layout Layout::channels_last{Order::channels_last, 1};
inline constexpr Layout Layout::nchw8c = blocked(8);
inline constexpr Layout Layout::nchw16c = blocked(16);

// "plain", "nhwc", "nchw8c", "nchw16c" and so on: "nchw<block>c".
SN_API std::string to_string(Layout layout);

// Where a tensor is stored and a routine works: "cpu", or a device of a plugin ("cuda"). Trivially
// copyable, no heap allocation: part of tensors, formats and descriptors.
class SN_API DeviceId {
 public:
  // One to fifteen lower-case letters and digits, the first a letter.
  static constexpr std::size_t kMaxNameLength = 15;

  constexpr DeviceId() noexcept : name_{'c', 'p', 'u'} {}
  // std::nullopt if `name` is not a valid name (above), or is that of a data type or a layout.
  static std::optional<DeviceId> parse(std::string_view name) noexcept;
  // Tensors there are memory of this process, which the caller may read.
  constexpr bool is_host() const noexcept { return *this == DeviceId(); }
  constexpr const char* c_str() const noexcept { return name_.data(); }
  constexpr auto operator<=>(const DeviceId&) const noexcept = default;

 private:
  std::array<char, kMaxNameLength + 1> name_{};  // NUL-padded
};

// IEEE 754 binary16 as storage. Conversions round to nearest even; NaN stays NaN, and what rounds
// to more than the largest finite number becomes ±infinity.
struct Half {
  std::uint16_t bits = 0;
};
// The upper half of a float32 as storage. Conversions likewise.
struct BFloat16 {
  std::uint16_t bits = 0;
};
SN_API float to_float(Half value) noexcept;
SN_API float to_float(BFloat16 value) noexcept;
SN_API Half to_half(float value) noexcept;
SN_API BFloat16 to_bfloat16(float value) noexcept;

}  // namespace softneuro
