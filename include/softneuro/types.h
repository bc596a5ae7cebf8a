// Data types, memory layouts and devices of tensors.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// Order of the logical dimensions N, C, spatial… in memory. Shapes are always logical (N, C, …).
enum class Layout : std::uint8_t {
  // Row-major in the order of the dimensions (NCHW). oneDNN calls nhwc plain, too; here it is not.
  plain = 0,
  channels_last = 1,  // N, spatial…, C; "nhwc" at every rank, taken by routines from rank 3 on
  nchw8c = 2,         // N, ⌈C/8⌉, spatial…, 8; lanes beyond C are zero bytes, in qint8, too
  nchw16c = 3,        // N, ⌈C/16⌉, spatial…, 16; likewise
};
inline constexpr int kLayoutCount = 4;

// "plain", "nhwc", "nchw8c", "nchw16c".
SN_API const char* to_string(Layout layout) noexcept;
// Channels per block: 8 or 16 for the blocked layouts, else 1.
SN_API int block_of(Layout layout) noexcept;

// Where a tensor is stored and a routine works: "cpu", or a device of a plugin ("cuda"). Trivially
// copyable, no heap allocation: part of tensors, formats and descriptors.
class SN_API DeviceId {
 public:
  // One to seven lower-case letters and digits, the first a letter.
  static constexpr std::size_t kMaxNameLength = 7;

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
