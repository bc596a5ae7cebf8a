// What a kernel reports of an index that names no element.
#pragma once

#include <cstdint>

namespace softneuro::cuda {

// In page-locked memory of the host; kernels know it as struct Fault (prelude.h).
struct Fault {
  std::uint32_t claimed = 0;  // 1: by the thread that wrote the rest
  std::int64_t index = 0, place = 0, size = 0;
};

}  // namespace softneuro::cuda
