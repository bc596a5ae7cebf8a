// Allocator: where tensors, weights that are not mapped from a file, packed weights and session
// arenas come from. Everything else (graph, plans, names, what oneDNN and XNNPACK keep) comes from
// the heap.
#pragma once

#include <cstddef>

#include "softneuro/export.h"

namespace softneuro {

inline constexpr std::size_t kTensorAlignment = 64;

// Implemented by an application that owns the memory. Must be safe to call from any thread. It may
// refuse: the library then returns out_of_memory and stays usable.
class SN_API Allocator {
 public:
  virtual ~Allocator();
  // At least `bytes` (> 0) bytes aligned to `alignment`, or nullptr. The library asks for a power
  // of two, at most kTensorAlignment. Some requests are freed before the call returns
  // (NetOptions::allocator). Must not call the library.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  // `pointer` came from allocate() of this object with the same `bytes`; never null.
  virtual void deallocate(void* pointer, std::size_t bytes) noexcept = 0;
};

// The C library's aligned allocation; blocks from 4 MiB on are aligned to 2 MiB and may take huge
// pages. Lives as long as the process.
SN_API Allocator& default_allocator() noexcept;

// Allocates from one block of the caller's memory, front to back, and refuses when it is full.
// Memory returns to the block only if it was the last piece that was allocated, or when all of it
// was deallocated: meant for edge devices that load one net and keep it. Safe from any thread.
class SN_API FixedArenaAllocator final : public Allocator {
 public:
  // Borrows `memory`; it must outlive this object and all memory that comes from it.
  FixedArenaAllocator(void* memory, std::size_t bytes) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* pointer, std::size_t bytes) noexcept override;
  // Bytes of the block that are in use, and the most that ever were.
  std::size_t used() const noexcept;
  std::size_t peak() const noexcept;

 private:
  std::byte* base_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::size_t live_ = 0;       // pieces handed out and not returned
  mutable bool lock_ = false;  // spin lock, taken with atomic builtins, for a few instructions
};

}  // namespace softneuro
