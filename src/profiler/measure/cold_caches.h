// Caches as a layer finds them inside of a net: it read its weights one run ago, and since then the
// other layers may have evicted them from the caches that belong to one processor, or from all.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "softneuro/status.h"
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
  // Of the caches that belong to the processors of the pool's threads, together.
  std::size_t own_bytes() const noexcept;

  // Puts `weights` there, if it is not own_cache. `recent`, what the layers before have just made
  // and the memory they have just used, is in the caches that belong to one processor afterwards, a
  // share in each thread's. Takes a third of a millisecond for a cache of 2 MiB. Its first call may
  // take memory: one and a half times such a cache per thread.
  void prepare(std::span<const std::span<const std::byte>> weights,
               std::span<const std::span<const std::byte>> recent);
  // Replaces what is in the caches that belong to one processor by `recent`.
  void sweep(std::span<const std::span<const std::byte>> recent);
  // Reads `bytes`, a share of each span in each thread.
  void read(std::span<const std::span<const std::byte>> bytes);

 private:
  ThreadPool& pool_;
  CacheResidency residency_ = CacheResidency::own_cache;
  std::vector<std::byte> memory_;
};

// Whether `run`, a run of a whole net, evicts what was read before it from all caches. `probe`, 2
// MiB that are read before and afterwards, shows it. False where can_flush() says no.
Result<bool> evicts_weights(ColdCaches& caches, std::span<const std::byte> probe,
                            const std::function<Status()>& run);

}  // namespace softneuro
