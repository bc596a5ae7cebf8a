// What a routine of generated kernels does for one problem, as data: sources and their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softneuro::cuda {

// The entry of every source; it takes one `struct Arguments`.
inline constexpr const char* kKernelName = "softneuro_kernel";
// The largest argument that every driver takes.
inline constexpr std::size_t kMaxArgumentBytes = 4096;

// One member of a kernel's `struct Arguments`.
struct Argument {
  enum class Kind { input, output, workspace, fault, bytes };
  Kind kind = Kind::bytes;
  std::size_t index = 0;      // of the problem's inputs (constants too), or outputs
  std::int64_t offset = 0;    // bytes behind where that begins
  std::string bytes;          // the member itself, of Kind::bytes
  std::size_t alignment = 8;  // of the member
};

struct Launch {
  std::string source;
  std::vector<Argument> arguments;
  std::int64_t blocks = 0;  // 0: there is nothing to do
  unsigned threads = 0;     // of a block, <= 1024
  // The kernel strides over the grid: any number of blocks computes the same.
  bool strides = false;
};

// Launches, done in order.
struct Program {
  std::vector<Launch> launches;
  std::size_t workspace_bytes = 0;
  int in_place_input = -1;  // see Kernel
};

}  // namespace softneuro::cuda
