// Memory that runs out on demand: this program's malloc and its relatives, over those of glibc.
#pragma once

namespace softneuro::test {

// While it lives, the n-th allocation of the process from then on fails, and with `from_then_on`
// all that follow. One at a time. A process that hangs meanwhile ends, and says where.
class FailingMemory {
 public:
  FailingMemory(long n, bool from_then_on);
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  ~FailingMemory();

  static constexpr long kNone = 1L << 60;  // as n: all succeed
  // So far, those that failed included.
  static long allocations();
};

// Blocks of memory that are not freed yet.
long live_blocks();

}  // namespace softneuro::test
