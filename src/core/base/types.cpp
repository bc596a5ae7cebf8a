#include "softneuro/types.h"

#include <bit>
#include <charconv>
#include <iterator>

namespace softneuro {
namespace {

struct TypeInfo {
  const char* name;
  std::size_t bytes;
};
constexpr TypeInfo kTypes[kDataTypeCount] = {
    {"undefined", 0}, {"float32", 4}, {"float16", 2}, {"bfloat16", 2}, {"float64", 8},
    {"int8", 1},      {"uint8", 1},   {"int16", 2},   {"uint16", 2},   {"int32", 4},
    {"uint32", 4},    {"int64", 8},   {"uint64", 8},  {"boolean", 1},  {"qint8", 1},
};

const TypeInfo& info(DataType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return kTypes[index < std::size(kTypes) ? index : 0];
}

}  // namespace

std::size_t size_of(DataType type) noexcept {
  return info(type).bytes;
}
const char* to_string(DataType type) noexcept {
  return info(type).name;
}

DataType parse_data_type(std::string_view name) noexcept {
  for (int i = 1; i < kDataTypeCount; ++i)
    if (name == kTypes[i].name) return static_cast<DataType>(i);
  return DataType::undefined;
}

bool is_float(DataType type) noexcept {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16 ||
         type == DataType::float64;
}
bool is_integer(DataType type) noexcept {
  return type >= DataType::int8 && type <= DataType::uint64;
}

std::string to_string(Layout layout) {
  if (block_of(layout) > 1) return "nchw" + std::to_string(block_of(layout)) + 'c';
  return layout == Layout::plain ? "plain" : "nhwc";
}

std::optional<Layout> Layout::parse(std::string_view name) noexcept {
  int block = 0;
  if (name.starts_with("nchw")) std::from_chars(name.data() + 4, name.data() + name.size(), block);
  const Layout layout = block >= 2 && block <= kMaxBlock ? blocked(block)
                        : name == "nhwc"                 ? channels_last
                                                         : plain;
  return name == to_string(layout) ? std::optional(layout) : std::nullopt;
}

std::optional<DeviceId> DeviceId::parse(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || name.size() > kMaxNameLength || !is_letter(name[0])) return {};
  DeviceId id;
  id.name_.fill('\0');
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9')) return {};
    id.name_[i] = name[i];
  }
  if (parse_data_type(name) != DataType::undefined || Layout::parse(name)) return {};
  return id;
}

float to_float(Half value) noexcept {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1f)  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^−24 is exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

Half to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)  // NaN: quiet, keep the upper payload
    return {static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu))};
  if (magnitude >= 0x477ff000u)  // rounds to 65536 or more: infinity
    return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {  // below 2^−14: subnormal; the float addition rounds to even
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  const std::uint32_t rounded = magnitude + 0xfffu + odd;
  return {
      static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>((rounded >> 13) - 0x1c000u))};
}

float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
BFloat16 to_bfloat16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

}  // namespace softneuro
