#include "core/base/printable.h"

#include <cstdint>
#include <string_view>

namespace softneuro {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no character begins here
};

// The character of UTF-8 at the beginning of `text`.
Character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

bool is_printable(std::uint32_t code) noexcept {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kUnprintable[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},      // control characters
      {0x200e, 0x200f}, {0x2028, 0x202e},  // marks of direction; line and paragraph ends
      {0x2066, 0x2069},                    // isolated directions
      {0xfeff, 0xfeff}, {0xfffe, 0xffff},  // byte order marks, and what XML forbids
  };
  for (const Range& range : kUnprintable)
    if (code >= range.first && code <= range.last) return false;
  return true;
}

// Bytes of the printable character at the beginning of `text`; 0: there is none.
std::size_t printable_bytes(std::string_view text) noexcept {
  const Character character = first_character(text);
  return character.bytes > 0 && is_printable(character.code) ? character.bytes : 0;
}

}  // namespace

std::string printable_text(std::string text) {
  const std::string_view all = text;
  std::size_t sound = 0;
  while (sound < all.size()) {
    const std::size_t bytes = printable_bytes(all.substr(sound));
    if (bytes == 0) break;
    sound += bytes;
  }
  if (sound == all.size()) return text;
  std::string printable(all.substr(0, sound));
  for (std::size_t i = sound; i < all.size();) {
    if (const std::size_t bytes = printable_bytes(all.substr(i)); bytes > 0) {
      printable += all.substr(i, bytes);
      i += bytes;
      continue;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(all[i++]);
    printable += "\\x";
    printable += kDigits[byte >> 4];
    printable += kDigits[byte & 15];
  }
  return printable;
}

}  // namespace softneuro
