// The threads of a block of the fake GPU: fibres of one thread of the host, since barriers let them
// wait for each other.
#pragma once

namespace softneuro::test {

// What a compiled kernel calls; its text in fake_nvrtc.cpp declares the same.
struct BlockFunctions {
  // Runs thread(0), thread(1), … of a block, in nth()'s order, until all are at an end. Ends the
  // process with a message if all that are left wait: some never reach a barrier.
  void (*run)(unsigned threads, void (*thread)(unsigned));
  // Called by a thread that waits: others go on.
  void (*yield)();
  // Called by the last thread that reaches a barrier.
  void (*pass)();
  // The thread that runs as `k`-th, and likewise the block of a grid.
  unsigned (*nth)(unsigned k, unsigned count);
};
const BlockFunctions& block_functions();

// Threads and blocks of the calling thread's kernels run forward, backward or mixed from now on, in
// turns: a kernel's result must not depend on it.
void change_thread_order();

}  // namespace softneuro::test
