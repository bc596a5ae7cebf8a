// Allocator: where the memory for tensors, weights and arenas comes from.
#pragma once

#include <cstddef>

#include "softneuro/export.h"

namespace softneuro {

inline constexpr std::size_t kTensorAlignment = 64;

// Implemented by a host application that wants to own the memory. Must be safe to call from any
// thread. It may refuse: the library then returns out_of_memory and stays usable.
class SN_API Allocator {
 public:
  virtual ~Allocator();
  // At least `bytes` (> 0) bytes aligned to `alignment` (a power of two), or null.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  // `pointer` came from allocate() of this object with the same `bytes`.
  virtual void deallocate(void* pointer, std::size_t bytes) noexcept = 0;
};

// The operating system's aligned allocation. Lives as long as the process.
SN_API Allocator& default_allocator() noexcept;

// Serves from one block of the caller's memory, first come, and refuses when it is full.
// Memory returns to the block only when it was the last that was handed out, or when all of it
// has come back: meant for edge devices that load one net and keep it.
class SN_API FixedArenaAllocator final : public Allocator {
 public:
  // Borrows `memory`; it must outlive this object and all that it serves.
  FixedArenaAllocator(void* memory, std::size_t bytes) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* pointer, std::size_t bytes) noexcept override;
  std::size_t used() const noexcept { return used_; }
  std::size_t peak() const noexcept { return peak_; }

 private:
  std::byte* base_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t live_ = 0;  // pieces handed out and not returned
  bool lock_ = false;     // spin lock, taken with atomic builtins: held for a few instructions
};

}  // namespace softneuro
