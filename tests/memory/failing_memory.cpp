#include "memory/failing_memory.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace softneuro::test {
namespace {

constexpr unsigned kMostSeconds = 60;  // of a call that is not hanging

std::atomic<long> g_first{FailingMemory::kNone};
std::atomic<long> g_last{0};
std::atomic<long> g_count{0};
std::atomic<long> g_live{0};

bool fails() {
  const long i = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
  return i >= g_first.load(std::memory_order_relaxed) &&
         i <= g_last.load(std::memory_order_relaxed);
}

void* counted(void* block) {
  if (block != nullptr) g_live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

// What is left to say must not need memory.
void report(const char* what) {
  const long first = g_first.exchange(FailingMemory::kNone);
  char line[128];
  const int size = std::snprintf(line, sizeof(line), "%s where allocation %ld%s fails\n", what,
                                 first, g_last > first ? " and each after it" : "");
  static_cast<void>(!write(STDERR_FILENO, line, static_cast<std::size_t>(size)));
}

}  // namespace

FailingMemory::FailingMemory(long n, bool from_then_on) {
  std::signal(SIGALRM, [](int) {
    report("the process hangs");
    _exit(1);
  });
  std::set_terminate([] {
    report("the process is terminated");
    std::abort();
  });
  alarm(kMostSeconds);
  g_count = 0;
  g_last = from_then_on ? kNone : n;
  g_first = n;
}

FailingMemory::~FailingMemory() {
  g_first = kNone;
  g_last = 0;
  alarm(0);
}

long FailingMemory::allocations() {
  return g_count;
}

long live_blocks() {
  return g_live;
}

}  // namespace softneuro::test

// The program's come before those of all libraries.
#pragma GCC visibility push(default)
extern "C" {

using softneuro::test::counted;
using softneuro::test::fails;

// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  if (!fails()) return counted(__libc_malloc(bytes));
  errno = ENOMEM;
  return nullptr;
}

void* calloc(std::size_t count, std::size_t bytes) {
  if (!fails()) return counted(__libc_calloc(count, bytes));
  errno = ENOMEM;
  return nullptr;
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  if (!fails()) return counted(__libc_memalign(alignment, bytes));
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  void* const got = memalign(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}

void free(void* block) {
  if (block != nullptr) softneuro::test::g_live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

void* realloc(void* block, std::size_t bytes) {
  if (block == nullptr) return malloc(bytes);
  if (bytes == 0) {
    free(block);
    return nullptr;
  }
  if (!fails()) return __libc_realloc(block, bytes);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"
#pragma GCC visibility pop
