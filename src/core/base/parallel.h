// parallel_for over a ThreadPool, without allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/base/workers.h"

namespace softneuro {

// A burst of the pool, as long as this object lives.
class PoolBurst {
 public:
  explicit PoolBurst(ThreadPool& pool) noexcept : pool_(pool) { pool_.begin_burst(); }
  ~PoolBurst() { pool_.end_burst(); }
  PoolBurst(const PoolBurst&) = delete;
  PoolBurst& operator=(const PoolBurst&) = delete;

 private:
  ThreadPool& pool_;
};

// Calls f(i) for each i in [0, count), as long as the work is not cancelled. f must not throw. How
// the work is partitioned must depend on the problem only, never on the number of threads, wherever
// that could change a result's bits.
template <class F>
void parallel_for(const Workers& workers, std::int64_t count, F&& f) noexcept {
  using Fn = std::remove_reference_t<F>;
  workers.run(
      count,
      [](void* context, std::size_t i) {
        (*static_cast<Fn*>(context))(static_cast<std::int64_t>(i));
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

// Calls f(first, last) on consecutive chunks of [0, count), each of at least `grain` (but the
// last). Chunks depend on count and grain only.
template <class F>
void parallel_ranges(const Workers& workers, std::int64_t count, std::int64_t grain,
                     F&& f) noexcept {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t chunks = std::clamp<std::int64_t>(count / grain, 1, 64);
  parallel_for(workers, chunks,
               [&](std::int64_t p) { f(count * p / chunks, count * (p + 1) / chunks); });
}

// Calls f(begin, count) on consecutive chunks of [0, elements), each of `chunk` > 0 (but the
// last).
template <class F>
void parallel_chunks(const Workers& workers, std::int64_t elements, std::int64_t chunk,
                     F&& f) noexcept {
  parallel_for(workers, (elements + chunk - 1) / chunk,
               [&](std::int64_t p) { f(p * chunk, std::min(chunk, elements - p * chunk)); });
}

}  // namespace softneuro
