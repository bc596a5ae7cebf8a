// Neighbours that take processors away: measurements begin, and should end, with all of the pool's
// threads on a processor at once.
#pragma once

#include <cstdint>
#include <vector>

#include "softneuro/thread_pool.h"

namespace softneuro {

// A thread that waits for its turn on a processor is away for milliseconds, through dozens of
// samples in a row that agree with each other on a wrong time. Such a thread comes late to a
// meeting, and has a fresh slice of time when it does come.
class Meeting {
 public:
  explicit Meeting(ThreadPool& pool) noexcept;
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Keeps each of the pool's threads, this one included, on a processor of its own while this
  // object lives: beside a neighbour the operating system puts two of them on one as readily, where
  // they never run at once. They stay where they are, if these are different processors. Without
  // effect where there are fewer processors than threads, or no such thing as affinity.
  void hold_places();

  // Waits until all threads of the pool have been running at the same time, for 20 ms at most.
  // Within a burst of the pool. Whether they came at once, as they do on a quiet machine. Threads
  // for which there are no processors, or that never come, are not waited for: always true.
  bool gather() noexcept;

  // Of gather(): how often it was called, and how often not all came at once.
  std::int64_t calls() const noexcept { return calls_; }
  std::int64_t delays() const noexcept { return delays_; }
  // The share of the time since this object was made that was spent waiting for those who came
  // late: a neighbour's. Late are few meetings, since nothing is measured meanwhile.
  double waited() const noexcept;
  // Much of it, or so much that threads who had come before are no longer waited for.
  bool disturbed() const noexcept { return lost_ || waited() > 0.05; }

 private:
  struct Place;
  struct Hall;
  static void arrive(void* context, std::size_t index) noexcept;
  bool meet(std::vector<Place>* places) noexcept;

  ThreadPool& pool_;
  bool possible_;
  int missed_ = 0;     // in a row
  bool lost_ = false;  // given up, after they had met
  std::int64_t calls_ = 0, delays_ = 0;
  std::int64_t begin_ns_ = 0, waited_ns_ = 0;
  std::vector<Place> places_;  // that are held
};

}  // namespace softneuro
