#include "softneuro/allocator.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <new>

namespace softneuro {
namespace {

// Weights are read from end to end in every run. In small pages, finding the pages costs as much as
// reading them: large blocks ask for huge ones. Whether they get them is the system's business.
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kLargeBlock = 2 * kHugePage;

class SystemAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (alignment < sizeof(void*)) alignment = sizeof(void*);
    if (bytes >= kLargeBlock && alignment < kHugePage) alignment = kHugePage;
    void* pointer = nullptr;
    if (posix_memalign(&pointer, alignment, bytes) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
    if (bytes >= kLargeBlock) madvise(pointer, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return pointer;
  }
  void deallocate(void* pointer, std::size_t) noexcept override {
    std::free(pointer);
  }
};

// Never destroyed: tensors of static storage duration may outlive everything else.
alignas(SystemAllocator) unsigned char g_storage[sizeof(SystemAllocator)];

class SpinGuard {
 public:
  explicit SpinGuard(bool& flag) noexcept : flag_(flag) {
    while (__atomic_test_and_set(&flag_, __ATOMIC_ACQUIRE)) {
    }
  }
  ~SpinGuard() { __atomic_clear(&flag_, __ATOMIC_RELEASE); }

 private:
  bool& flag_;
};

}  // namespace

Allocator::~Allocator() = default;

Allocator& default_allocator() noexcept {
  static SystemAllocator* const allocator = new (g_storage) SystemAllocator;
  return *allocator;
}

FixedArenaAllocator::FixedArenaAllocator(void* memory, std::size_t bytes) noexcept
    : base_(static_cast<std::byte*>(memory)), capacity_(bytes) {}

void* FixedArenaAllocator::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const SpinGuard guard(lock_);
  const auto start = reinterpret_cast<std::uintptr_t>(base_);
  const std::uintptr_t aligned = (start + used_ + alignment - 1) & ~(alignment - 1);
  const std::size_t offset = aligned - start;
  if (offset > capacity_ || bytes > capacity_ - offset) return nullptr;
  used_ = offset + bytes;
  if (used_ > peak_) peak_ = used_;
  ++live_;
  return base_ + offset;
}

void FixedArenaAllocator::deallocate(void* pointer, std::size_t bytes) noexcept {
  const SpinGuard guard(lock_);
  auto* piece = static_cast<std::byte*>(pointer);
  if (piece + bytes == base_ + used_) used_ = static_cast<std::size_t>(piece - base_);
  if (--live_ == 0) used_ = 0;
}

std::size_t FixedArenaAllocator::used() const noexcept {
  const SpinGuard guard(lock_);
  return used_;
}

std::size_t FixedArenaAllocator::peak() const noexcept {
  const SpinGuard guard(lock_);
  return peak_;
}

}  // namespace softneuro
