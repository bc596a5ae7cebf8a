// Memory that tells when it was overrun.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "softneuro/allocator.h"

namespace softneuro::test {

inline constexpr std::size_t kGuard = 256;
inline constexpr std::byte kGuardByte{0xa5};
inline constexpr std::byte kPoison{0xff};  // NaN as float of any width, −1 as integer

// Memory between two guarded zones, aligned to kTensorAlignment.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes = 0)
      : bytes_(bytes), all_(bytes + 2 * kGuard + kTensorAlignment, kGuardByte) {
    std::fill_n(data(), bytes, kPoison);
  }
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(all_.data()) + kGuard;
    return all_.data() + kGuard +
           (kTensorAlignment - address % kTensorAlignment) % kTensorAlignment;
  }
  std::size_t size() const { return bytes_; }
  bool intact() {
    std::byte* const begin = data();
    const auto guards = [](const std::byte* first, const std::byte* last) {
      return std::all_of(first, last, [](std::byte b) { return b == kGuardByte; });
    };
    return guards(all_.data(), begin) && guards(begin + bytes_, all_.data() + all_.size());
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> all_;
};

}  // namespace softneuro::test
