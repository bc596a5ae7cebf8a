// Caches as a layer finds them inside of a net: it read its weights one run ago, and since then the
// other layers may have driven them out of the caches that belong to one processor, or out of all.
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
// Drives the lines of these bytes out of all caches.
void flush(std::span<const std::byte> bytes) noexcept;

// Where a layer's weights are when it is run: in the caches of the processors that run it, in one
// that all processors share, or in none.
enum class WeightsPlace { own_cache, shared_cache, memory };
const char* to_string(WeightsPlace place) noexcept;

class ColdCaches {
 public:
  // `pool` outlives it.
  explicit ColdCaches(ThreadPool& pool) : pool_(pool) {}

  // own_cache at first. memory is shared_cache where can_flush() says no.
  void set_place(WeightsPlace place) noexcept {
    place_ = place == WeightsPlace::memory && !can_flush() ? WeightsPlace::shared_cache : place;
  }
  WeightsPlace place() const noexcept { return place_; }
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
  // Reads `bytes`, a share of each piece in each thread.
  void read(std::span<const std::span<const std::byte>> bytes);

 private:
  ThreadPool& pool_;
  WeightsPlace place_ = WeightsPlace::own_cache;
  std::vector<std::byte> memory_;
};

// Whether `run`, a whole net's, drives what was read before it out of all caches: found out with
// `probe`, 2 MiB that are read before and afterwards. False where can_flush() says no.
Result<bool> weights_are_far(ColdCaches& caches, std::span<const std::byte> probe,
                             const std::function<Status()>& run);

}  // namespace softneuro
