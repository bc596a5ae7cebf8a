#include "profiler/measure/cold_caches.h"

#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/clock.h"
#include "core/base/parallel.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kUnknownCache = std::size_t{1} << 20;  // where the system does not say
constexpr std::size_t kMostCache = std::size_t{4} << 20;

// Of a processor's own second-level cache.
std::size_t cache_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long known = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (known > 0) return std::min(static_cast<std::size_t>(known), kMostCache);
#endif
  return kUnknownCache;
}

// Of the cache that processors share; 0 if there is none, or the system does not say.
std::size_t shared_cache_bytes() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return static_cast<std::size_t>(std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#else
  return 0;
#endif
}

// One number per line, so that the compiler cannot leave the reading out.
std::size_t read_lines(std::span<const std::byte> bytes) {
  std::size_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kLine)
    sum += static_cast<std::size_t>(bytes[at]);
  return sum;
}

struct Sweep {
  std::span<const std::byte> memory;
  std::span<const std::span<const std::byte>> recent;
  std::size_t threads;
  std::int64_t closes_ns;
  std::atomic<std::size_t> arrived{0};
  std::atomic<std::size_t> sum{0};
};

std::span<const std::byte> share(std::span<const std::byte> bytes, std::size_t index,
                                 std::size_t threads) {
  const std::size_t each = (bytes.size() + threads - 1) / threads;
  const std::size_t begin = std::min(index * each, bytes.size());
  return bytes.subspan(begin, std::min(each, bytes.size() - begin));
}

// No thread begins before all have arrived, so each thread takes one task.
void sweep_share(void* context, std::size_t index) noexcept {
  Sweep& sweep = *static_cast<Sweep*>(context);
  sweep.arrived.fetch_add(1, std::memory_order_acq_rel);
  while (sweep.arrived.load(std::memory_order_acquire) < sweep.threads &&
         clock_ns() < sweep.closes_ns) {
  }
  std::size_t sum = read_lines(share(sweep.memory, index, sweep.threads));
  for (const auto bytes : sweep.recent) sum += read_lines(share(bytes, index, sweep.threads));
  sweep.sum.fetch_add(sum, std::memory_order_relaxed);
}

#if defined(__x86_64__)
bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

__attribute__((target("clflushopt"))) void flush_lines(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kLine)
    __builtin_ia32_clflushopt(const_cast<std::byte*>(&bytes[at]));
  if (!bytes.empty()) __builtin_ia32_clflushopt(const_cast<std::byte*>(&bytes.back()));
  __builtin_ia32_mfence();
}
#endif

}  // namespace

const char* to_string(CacheResidency residency) noexcept {
  switch (residency) {
    case CacheResidency::own_cache:
      return "own cache";
    case CacheResidency::shared_cache:
      return "shared cache";
    default:
      return "memory";
  }
}

// clflush alone waits for each line: fifteen times as long.
bool can_flush() noexcept {
#if defined(__x86_64__)
  static const bool can = has_clflushopt();
  return can;
#else
  return false;
#endif
}

void flush(std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  if (can_flush()) flush_lines(bytes);
#else
  static_cast<void>(bytes);
#endif
}

std::size_t ColdCaches::own_bytes() const noexcept {
  return cache_bytes() * static_cast<std::size_t>(pool_.concurrency());
}

void ColdCaches::set_residency_of(std::size_t weights) noexcept {
  set_residency(2 * weights <= own_bytes()            ? CacheResidency::own_cache
                : 2 * weights <= shared_cache_bytes() ? CacheResidency::shared_cache
                                                      : CacheResidency::memory);
}

void ColdCaches::sweep(std::span<const std::span<const std::byte>> recent) {
  const PoolBurst burst(pool_);
  const auto threads = static_cast<std::size_t>(pool_.concurrency());
  if (memory_.empty()) memory_.resize(own_bytes() * 3 / 2, std::byte{1});
  Sweep sweep{memory_, recent, threads, clock_ns() + constants::kAtOnceNs};
  pool_.run(threads, sweep_share, &sweep);
}

void ColdCaches::prepare(std::span<const std::span<const std::byte>> weights,
                         std::span<const std::span<const std::byte>> recent) {
  if (residency_ == CacheResidency::memory)
    for (const auto bytes : weights) flush(bytes);
  else if (residency_ == CacheResidency::shared_cache)
    sweep(recent);
}

}  // namespace softneuro
