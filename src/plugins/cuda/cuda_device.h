// The GPU as a device, by CUDA's driver: the first one that CUDA_VISIBLE_DEVICES shows.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "plugins/cuda/driver.h"
#include "plugins/cuda/nvrtc.h"

namespace softneuro::cuda {

// Makes a context the calling thread's current one for as long as it lives. Not copied.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) noexcept : driver_(driver) {
    result_ = driver.cuCtxPushCurrent_v2(context);
  }
  ~CurrentContext() {
    CUcontext context = nullptr;
    if (result_ == CUDA_SUCCESS) driver_.cuCtxPopCurrent_v2(&context);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  Status status() const noexcept { return driver_.check(result_, "cuCtxPushCurrent"); }

 private:
  const Driver& driver_;
  CUresult result_;
};

class CudaDevice final : public Device {
 public:
  // unsupported if there is no GPU. `driver` outlives the device.
  static Result<std::unique_ptr<CudaDevice>> create(const Driver& driver);
  ~CudaDevice() override;

  // "NVIDIA H200, sm_90, 132 multiprocessors, driver 13.0"
  std::string name() const override { return name_; }
  Result<std::unique_ptr<Stream>> create_stream() noexcept override;

  const Driver& driver() const noexcept { return driver_; }
  // Compute capability 9.0 is 90.
  int architecture() const noexcept { return architecture_; }
  int multiprocessors() const noexcept { return multiprocessors_; }
  // The primary context, made at the first call: nets that do not use the GPU do without it.
  Result<CUcontext> context() noexcept;
  // The kernel `name` of `source`, which is compiled at the first call with it. Lives as long as
  // the device.
  Result<CUfunction> kernel(const Nvrtc& compiler, const std::string& source, const char* name);

 protected:
  Result<void*> allocate_bytes(std::size_t bytes) noexcept override;
  void deallocate_bytes(void* data, std::size_t bytes) noexcept override;

 private:
  CudaDevice(const Driver& driver, CUdevice device);
  Result<CUmodule> module_of(const Nvrtc& compiler, const std::string& source);

  const Driver& driver_;
  const CUdevice device_;
  std::string name_;
  int architecture_ = 0, multiprocessors_ = 1;
  std::mutex mutex_;
  CUcontext context_ = nullptr;
  std::map<std::string, CUmodule> modules_;  // by source
};

}  // namespace softneuro::cuda
