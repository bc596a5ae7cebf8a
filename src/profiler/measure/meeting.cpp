#include "profiler/measure/meeting.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/base/parallel.h"
#include "profiler/measure/timer.h"

namespace softneuro {
namespace {

constexpr std::int64_t kAtOnceNs = 300'000;  // waking a parked thread takes a third of that
constexpr std::int64_t kPatienceNs = 20'000'000;
constexpr int kMostMissed = 3;

}  // namespace

// Where a thread is, and where it might be.
struct Meeting::Place {
  pid_t thread = 0;
  int processor = -1;
  cpu_set_t allowed = {};
};

struct Meeting::Hall {
  std::vector<Place>* places = nullptr;  // one per thread; null: nobody asks
  int all = 0;
  std::int64_t closes_ns = 0;
  std::atomic<int> arrived{0};
};

Meeting::Meeting(ThreadPool& pool) noexcept
    : pool_(pool),
      possible_(pool.concurrency() > 1 &&
                pool.concurrency() <= static_cast<int>(std::thread::hardware_concurrency())),
      begin_ns_(clock_ns()) {}

Meeting::~Meeting() {
  for (const Place& place : places_)
    sched_setaffinity(place.thread, sizeof place.allowed, &place.allowed);
}

// Nobody leaves before all are there, so each thread comes once.
void Meeting::arrive(void* context, std::size_t index) noexcept {
  Hall& hall = *static_cast<Hall*>(context);
  if (hall.places != nullptr) {
    Place& place = (*hall.places)[index];
    if (sched_getaffinity(0, sizeof place.allowed, &place.allowed) == 0) {
      place.thread = gettid();
      place.processor = sched_getcpu();
    }
  }
  hall.arrived.fetch_add(1, std::memory_order_acq_rel);
  while (hall.arrived.load(std::memory_order_acquire) < hall.all && clock_ns() < hall.closes_ns) {
  }
}

bool Meeting::meet(std::vector<Place>* places) noexcept {
  const std::int64_t begin = clock_ns();
  Hall hall;
  hall.places = places;
  hall.all = pool_.concurrency();
  hall.closes_ns = begin + kPatienceNs;
  pool_.run(static_cast<std::size_t>(hall.all), arrive, &hall);
  const std::int64_t took = clock_ns() - begin;
  // A pool may have lent its threads to others for good, or run everything on one of them.
  missed_ = took < kPatienceNs ? 0 : missed_ + 1;
  if (missed_ == kMostMissed) {
    possible_ = false;
    lost_ = delays_ < calls_;
  }
  return took <= kAtOnceNs;
}

bool Meeting::gather() noexcept {
  if (!possible_) return true;
  const std::int64_t begin = clock_ns();
  const bool at_once = meet(nullptr);
  ++calls_;
  delays_ += !at_once;
  if (!at_once) waited_ns_ += clock_ns() - begin;
  return at_once;
}

double Meeting::waited() const noexcept {
  return static_cast<double>(waited_ns_) / static_cast<double>(clock_ns() - begin_ns_ + 1);
}

void Meeting::hold_places() {
  if (!possible_ || !places_.empty()) return;
  std::vector<Place> places(static_cast<std::size_t>(pool_.concurrency()));
  {
    const PoolBurst burst(pool_);
    meet(&places);
  }
  std::set<int> taken;
  std::set<pid_t> threads;
  for (Place& place : places) {
    if (place.thread == 0 || !threads.insert(place.thread).second) return;  // not all have come
    for (int cpu = 0; taken.contains(place.processor) && cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &place.allowed)) place.processor = cpu;
    if (place.processor < 0 || !taken.insert(place.processor).second) return;  // too few for all
  }
  for (const Place& place : places) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(place.processor, &own);
    sched_setaffinity(place.thread, sizeof own, &own);
  }
  places_ = std::move(places);
}

}  // namespace softneuro
