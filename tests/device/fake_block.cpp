#include "device/fake_block.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace softneuro::test {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;

enum class ThreadOrder { forward, backward, mixed };
thread_local ThreadOrder current_order = ThreadOrder::forward;

// The sanitizers must know which stack is in use.
class Switch {
 public:
  void leave(void** kept, const void* stack, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(kept, stack, bytes);
#else
    (void)kept, (void)stack, (void)bytes;
#endif
  }
  void arrive(void* kept, const void** stack = nullptr, std::size_t* bytes = nullptr) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(kept, stack, bytes);
#else
    (void)kept, (void)stack, (void)bytes;
#endif
  }
};

struct Fibre {
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
  void* kept = nullptr;
  bool is_done = false;
#if defined(__SANITIZE_THREAD__)
  void* known = __tsan_create_fiber(0);
  ~Fibre() {
    __tsan_destroy_fiber(known);
  }
#endif
};

// Of one thread of the host.
class Block {
 public:
  void run(unsigned threads, void (*thread)(unsigned)) {
    while (fibres_.size() < threads) fibres_.push_back(std::make_unique<Fibre>());
    thread_ = thread;
    for (unsigned t = 0; t < threads; ++t) start(*fibres_[t]);
    std::size_t left = threads;
    while (left > 0) {
      const std::size_t before = left;
      for (unsigned k = 0; k < threads; ++k) {
        current_ = block_functions().nth(k, threads);
        Fibre& fibre = *fibres_[current_];
        if (fibre.is_done) continue;
        enter(fibre);
        if (fibre.is_done) --left;
      }
      // A thread that does not wait ends, or passes a barrier.
      idle_ = left == before && !passed_ ? idle_ + 1 : 0;
      passed_ = false;
      if (idle_ > 2) {
        std::fputs("a barrier of a kernel is not reached by all threads\n", stderr);
        std::abort();
      }
    }
  }
  void pass() { passed_ = true; }
  void yield() {
    Fibre& fibre = *fibres_[current_];
    leave(fibre, &fibre.kept);
  }

 private:
  void start(Fibre& fibre) {
    fibre.is_done = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStackBytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, reinterpret_cast<void (*)()>(&begin), 0);
  }
  static void begin();

  void enter(Fibre& fibre) {
    void* kept = nullptr;
    switch_.leave(&kept, fibre.stack.get(), kStackBytes);
#if defined(__SANITIZE_THREAD__)
    home_fibre_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibre.known, 0);
#endif
    swapcontext(&home_, &fibre.context);
    switch_.arrive(kept);
  }
  // `kept` null: for good.
  void leave(Fibre& fibre, void** kept) {
    switch_.leave(kept, home_stack_, home_bytes_);
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(home_fibre_, 0);
#endif
    swapcontext(&fibre.context, &home_);
    switch_.arrive(fibre.kept, &home_stack_, &home_bytes_);
  }

  std::vector<std::unique_ptr<Fibre>> fibres_;
  void (*thread_)(unsigned) = nullptr;
  unsigned current_ = 0;
  unsigned idle_ = 0;  // rounds in a row in which all wait
  bool passed_ = false;
  ucontext_t home_{};
  const void* home_stack_ = nullptr;
  std::size_t home_bytes_ = 0;
  Switch switch_;
#if defined(__SANITIZE_THREAD__)
  void* home_fibre_ = nullptr;
#endif
};

thread_local Block block;

void Block::begin() {
  block.switch_.arrive(nullptr, &block.home_stack_, &block.home_bytes_);
  const unsigned thread = block.current_;
  block.thread_(thread);
  Fibre& fibre = *block.fibres_[thread];
  fibre.is_done = true;
  block.leave(fibre, nullptr);
}

// A permutation of 0 to count − 1: steps of a number that has no divisor in common with `count`.
unsigned nth(unsigned k, unsigned count) {
  switch (current_order) {
    case ThreadOrder::forward:
      return k;
    case ThreadOrder::backward:
      return count - 1 - k;
    case ThreadOrder::mixed:
      break;
  }
  unsigned step = count / 2 + count / 7 + 1;
  while (std::gcd(step, count) != 1) ++step;
  return static_cast<unsigned>((k * static_cast<unsigned long long>(step) + count / 3) % count);
}

}  // namespace

const BlockFunctions& block_functions() {
  static const BlockFunctions functions = {
      [](unsigned threads, void (*thread)(unsigned)) { block.run(threads, thread); },
      [] { block.yield(); }, [] { block.pass(); }, &nth};
  return functions;
}

void change_thread_order() {
  current_order = static_cast<ThreadOrder>((static_cast<int>(current_order) + 1) % 3);
}

}  // namespace softneuro::test
