// Device: what computes layers apart from the host – its memory, its queues, its clock. A plugin
// brings one, with the routines that work there; the host itself is none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "core/device/memory_pool.h"
#include "softneuro/status.h"
#include "softneuro/types.h"

namespace softneuro {

class Device;

// Memory of a device; given back when it goes, and may serve anyone then: nothing in a stream may
// use it any more. Move only. The device outlives it.
class SN_INTREE DeviceMemory {
 public:
  DeviceMemory() noexcept = default;  // none
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(block_, other.block_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();

  // An address of the device: the host must not read or write there. Null where there is none.
  void* data() const noexcept { return block_.data; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  friend class Device;
  DeviceMemory(Device& device, const MemoryPool::Block& block, std::size_t bytes) noexcept
      : device_(&device), block_(block), bytes_(bytes) {}

  Device* device_ = nullptr;
  MemoryPool::Block block_;
  std::size_t bytes_ = 0;
};

// A point in a stream, and the device's time when it got there.
class SN_INTREE DeviceEvent {
 public:
  virtual ~DeviceEvent();
};

// Work that was put into a stream once, kept to be done again at less cost: the same on the same
// addresses, whose bytes may have changed since. Part of its stream: one thread at a time uses
// both, and it is destroyed first. Its destructor waits until what was played of it is done.
class SN_INTREE Recording {
 public:
  virtual ~Recording();
};

// A queue: what is put in is done in order, beside the caller, who goes on. One thread at a time.
// An error of what was put in comes with any later call; synchronize() clears it. After any error
// the bytes that were to be written are undefined.
class SN_INTREE Stream {
 public:
  virtual ~Stream();  // waits for what was put in
  // `to` is memory of the device. The bytes at `from` may change as soon as the call returns.
  virtual Status upload(void* to, const void* from, std::size_t bytes) noexcept = 0;
  // `from` is memory of the device. The bytes at `to` are there after synchronize().
  virtual Status download(void* to, const void* from, std::size_t bytes) noexcept = 0;
  // Waits for what was put in. The first error of it.
  virtual Status synchronize() noexcept = 0;
  virtual Result<std::unique_ptr<DeviceEvent>> record() noexcept = 0;
  // From one recorded event to a later one of this stream, by the device's clock. Precondition:
  // synchronize() was called since.
  virtual Result<double> microseconds(const DeviceEvent& from, const DeviceEvent& to) noexcept = 0;

  // --- recordings: unsupported where a device has none -----------------------------------------
  // From here to end_recording(), in the same thread, what is put in is kept, not done; what was
  // put in before goes on. It may be work of kernels on memory of the device. Other calls of this
  // stream are errors meanwhile, as it is to allocate or free memory of the device in this thread;
  // end_recording() fails then, too. After an error of this call the stream is as before.
  virtual Status begin_recording() noexcept;
  // Ends each recording that was begun, also where something in between failed: what it gives then
  // is of no use. After an error nothing of it was done, and the stream is as before the recording.
  virtual Result<std::unique_ptr<Recording>> end_recording() noexcept;
  // Puts in what was recorded from this stream; nothing where it fails.
  virtual Status play(const Recording& recording) noexcept;
};

// Thread safe. A device's destructor begins with pool().trim(): what is kept can be given back as
// long as the device is whole.
class SN_INTREE Device {
 public:
  explicit Device(DeviceId id) noexcept : id_(id), pool_(*this) {}
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceId id() const noexcept { return id_; }
  // Opens the device's libraries and the device at the first call: a registry has devices that no
  // net uses. unsupported, with the reason, where there is none; device_failed where it was lost.
  // Whoever means to use the device calls it first, by Registry::started_device().
  virtual Status start() noexcept { return {}; }
  // What times depend on, for people too: "NVIDIA H200, driver 570.86". Measurements and tuned
  // paths are kept under it: no two that are not alike have one name. Known once start() was fine.
  virtual std::string name() const = 0;
  // Aligned to kTensorAlignment at least. out_of_memory if there is not as much. No bytes: none.
  // It and create_stream() fail as start() does.
  Result<DeviceMemory> allocate(std::size_t bytes) noexcept;
  MemoryPool& pool() noexcept { return pool_; }
  const MemoryPool& pool() const noexcept { return pool_; }
  virtual Result<std::unique_ptr<Stream>> create_stream() noexcept = 0;

 protected:
  // `bytes` > 0. The error's message says how many were asked for.
  virtual Result<void*> allocate_bytes(std::size_t bytes) noexcept = 0;
  virtual void deallocate_bytes(void* data, std::size_t bytes) noexcept = 0;
  // Whether memory that was given back may serve again.
  virtual bool keeps_memory() const noexcept { return true; }

 private:
  friend class MemoryPool;
  const DeviceId id_;
  MemoryPool pool_;
};

// A copy of host memory on the device, made with a stream of its own.
SN_INTREE Result<DeviceMemory> upload(Device& device, const void* bytes, std::size_t count);

}  // namespace softneuro
