// What a device gave: the blocks in use, and those that were given back and serve again.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

class Device;

// A block that was given back serves a request that fills at least seven eighths of it, the
// smallest such block first; requests are not rounded up. Together with those in use, kept blocks
// never take more than was in use at one time since the last trim(), nor more than the limit.
// Thread safe.
class SN_INTREE MemoryPool {
 public:
  struct Block {
    void* data = nullptr;
    std::size_t capacity = 0;
  };
  struct Usage {
    std::size_t used = 0, kept = 0;  // bytes
  };

  explicit MemoryPool(Device& device) noexcept : device_(device) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // `bytes` > 0. out_of_memory beyond the limit, or if the device has not as much.
  Result<Block> take(std::size_t bytes);
  void give_back(const Block& block) noexcept;
  // The device gets back all that is kept.
  void trim() noexcept;
  // Bytes that may be in use; 0: as many as the device has.
  void set_limit(std::size_t bytes) noexcept;
  Usage usage() const noexcept;

 private:
  Result<Block> take_new(std::size_t bytes);
  // Of what is kept; no data: nothing fits.
  Block take_kept(std::size_t bytes) noexcept;
  Status beyond_limit(std::size_t bytes) const;
  // Lets kept blocks go, the smallest first, until at most so many bytes are kept.
  void shrink_to(std::size_t bytes) noexcept;

  Device& device_;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, void*> kept_;  // by capacity
  Usage usage_;
  std::size_t most_used_ = 0, limit_ = 0;
};

}  // namespace softneuro
