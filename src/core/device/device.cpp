#include "core/device/device.h"

#include "core/base/error.h"

namespace softneuro {

DeviceMemory::~DeviceMemory() {
  if (block_.data != nullptr) device_->pool().give_back(block_);
}
DeviceEvent::~DeviceEvent() = default;
Recording::~Recording() = default;
Stream::~Stream() = default;

Status Stream::begin_recording() noexcept {
  return unsupported("the device has no recordings");
}
Result<std::unique_ptr<Recording>> Stream::end_recording() noexcept {
  return unsupported("the device has no recordings");
}
Status Stream::play(const Recording&) noexcept {
  return unsupported("the device has no recordings");
}

Device::~Device() = default;

Result<DeviceMemory> Device::allocate(std::size_t bytes) noexcept {
  if (bytes == 0) return DeviceMemory();
  return guarded([&]() -> Result<DeviceMemory> {
    SN_ASSIGN_OR_RETURN(const MemoryPool::Block block, pool_.take(bytes));
    return DeviceMemory(*this, block, bytes);
  });
}

Result<DeviceMemory> upload(Device& device, const void* bytes, std::size_t count) {
  SN_ASSIGN_OR_RETURN(DeviceMemory memory, device.allocate(count));
  if (count == 0) return memory;
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.create_stream());
  SN_RETURN_IF_ERROR(stream->upload(memory.data(), bytes, count));
  SN_RETURN_IF_ERROR(stream->synchronize());
  return memory;
}

}  // namespace softneuro
