// One run of a net that came from an input of the fuzzer, under small limits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/routine/registry.h"
#include "softneuro/net.h"

namespace softneuro::fuzz {

// Refuses what would take a net beyond 64 MiB: a large legal net is no finding, memory that is
// taken past the allocator is.
class SmallAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* pointer, std::size_t bytes) noexcept override;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  std::atomic<std::size_t> taken_ = 0;
};

// One thread, no plugin files.
NetOptions small_options(SmallAllocator& allocator);

// The routines of the library plugins that this program is linked with: a static build loads none.
void add_library_routines(const Net& net);

// Plans and runs the net once, whatever comes of it. Unknown sizes and the inputs' elements come
// from `seed`. Nets of much work are planned only, and a run ends after a second.
void run_once(const Net& net, std::uint64_t seed, SmallAllocator& allocator);

// Ends the process with a message: the input is a finding.
[[noreturn]] void finding(const char* what, const Status& status);

}  // namespace softneuro::fuzz
