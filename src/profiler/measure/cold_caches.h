// Caches as a layer finds them inside of a net: it read its weights one run ago, and since then the
// other layers may have evicted them from the caches that belong to one processor, or from all.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "softneuro/tensor.h"
#include "softneuro/thread_pool.h"

namespace softneuro {

// Whether flush() does anything on this processor.
bool can_flush() noexcept;
// Evicts the lines of these bytes from all caches.
void flush(std::span<const std::byte> bytes) noexcept;

// Where a layer's weights are when it is run: in the caches of the processors that run it, in one
// that all processors share, or in none.
enum class CacheResidency { own_cache, shared_cache, memory };
const char* to_string(CacheResidency residency) noexcept;

class ColdCaches {
 public:
  // `pool` outlives it.
  explicit ColdCaches(ThreadPool& pool) : pool_(pool) {}

  // own_cache at first. memory is shared_cache where can_flush() says no.
  void set_residency(CacheResidency residency) noexcept {
    residency_ = residency == CacheResidency::memory && !can_flush() ? CacheResidency::shared_cache
                                                                     : residency;
  }
  CacheResidency residency() const noexcept { return residency_; }
  // Sets where a net's weights of so many bytes are when its run comes back to them: in the
  // smallest cache that they fit into twice, with room for what is computed.
  void set_residency_of(std::size_t weights) noexcept;

  // Puts `weights` there, if it is not own_cache. `recent`, what the layers before have just made
  // and the memory they have just used, is in the caches that belong to one processor afterwards, a
  // share in each thread's. Takes a third of a millisecond for a cache of 2 MiB. Its first call may
  // take memory: one and a half times such a cache per thread.
  void prepare(std::span<const std::span<const std::byte>> weights,
               std::span<const std::span<const std::byte>> recent);
  // Replaces what is in the caches that belong to one processor by `recent`.
  void sweep(std::span<const std::span<const std::byte>> recent);

 private:
  std::size_t own_bytes() const noexcept;  // of the processors of the pool's threads, together
  ThreadPool& pool_;
  CacheResidency residency_ = CacheResidency::own_cache;
  std::vector<std::byte> memory_;
};

}  // namespace softneuro
