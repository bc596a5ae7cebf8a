#include "core/device/memory_pool.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/device/device.h"

namespace softneuro {

Result<MemoryPool::Block> MemoryPool::take(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block block = take_kept(bytes);
  if (block.data == nullptr) {
    SN_ASSIGN_OR_RETURN(block, take_new(bytes));
  }
  usage_.used += block.capacity;
  most_used_ = std::max(most_used_, usage_.used);
  return block;
}

Result<MemoryPool::Block> MemoryPool::take_new(std::size_t bytes) {
  const std::size_t used = usage_.used;
  if (limit_ > 0 && (used > limit_ || bytes > limit_ - used)) return beyond_limit(bytes);
  std::size_t most = std::max(most_used_, used + bytes);
  if (limit_ > 0) most = std::min(most, limit_);
  shrink_to(most - used - bytes);
  Result<void*> data = device_.allocate_bytes(bytes);
  if (!data.ok() && data.status().code() == StatusCode::out_of_memory && !kept_.empty()) {
    shrink_to(0);
    data = device_.allocate_bytes(bytes);
  }
  if (!data.ok()) return data.status();
  return Block{*data, bytes};
}

MemoryPool::Block MemoryPool::take_kept(std::size_t bytes) noexcept {
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first - bytes > found->first / 8) return {};
  const Block block{found->second, found->first};
  if (limit_ > 0 && usage_.used + block.capacity > limit_) return {};
  kept_.erase(found);
  usage_.kept -= block.capacity;
  return block;
}

Status MemoryPool::beyond_limit(std::size_t bytes) const {
  return make_error(
      StatusCode::out_of_memory,
      "{} bytes on the device {} are beyond the net's limit: {} of {} are in use; raise the limit "
      "(NetOptions::device_memory), let plans or sessions go, or take smaller shapes",
      bytes, device_.id().c_str(), usage_.used, limit_);
}

void MemoryPool::give_back(const Block& block) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  usage_.used -= block.capacity;
  const auto keep = [&]() -> Status {
    kept_.emplace(block.capacity, block.data);
    usage_.kept += block.capacity;
    return {};
  };
  if (!device_.keeps_memory() || !guarded(keep).ok())
    device_.deallocate_bytes(block.data, block.capacity);
}

void MemoryPool::trim() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  shrink_to(0);
  most_used_ = usage_.used;
}

void MemoryPool::set_limit(std::size_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = bytes;
}

MemoryPool::Usage MemoryPool::usage() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return usage_;
}

void MemoryPool::shrink_to(std::size_t bytes) noexcept {
  while (usage_.kept > bytes) {
    const auto smallest = kept_.begin();
    device_.deallocate_bytes(smallest->second, smallest->first);
    usage_.kept -= smallest->first;
    kept_.erase(smallest);
  }
}

}  // namespace softneuro
