// A GPU as a device of a net, by CUDA's driver.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/device/device.h"
#include "plugins/cuda/device/gpu.h"

namespace softneuro::cuda {

struct Cudnn;  // libraries/cudnn.h

// Where CUDA's libraries come from: this machine's, or a test's. Each is opened at the first call,
// by whatever thread, and always gives the same answer. None is opened before somebody needs it:
// they are large, and the driver takes a while to start.
struct Toolkit {
  Result<const Driver*> (*driver)();  // initialised
  Result<const Nvrtc*> (*nvrtc)();
  Result<const CublasLt*> (*cublaslt)();
  Result<const Cudnn*> (*cudnn)() = nullptr;  // null: the plugin was built without its headers
};

class CudaDevice final : public Device {
 public:
  // The GPU `ordinal` of those that CUDA_VISIBLE_DEVICES shows. Opens nothing.
  explicit CudaDevice(const Toolkit& toolkit, int ordinal = 0)
      : Device(*DeviceId::parse("cuda")), toolkit_(toolkit), ordinal_(ordinal) {}

  ~CudaDevice() override;

  Status start() noexcept override { return gpu().status(); }
  std::string name() const override;
  Result<std::unique_ptr<Stream>> create_stream() noexcept override;

  const Toolkit& toolkit() const noexcept { return toolkit_; }
  bool is_started() const noexcept { return gpu_ != nullptr; }
  // Started by this call if need be. An error once it is lost.
  Result<Gpu*> gpu() noexcept;

 protected:
  Result<void*> allocate_bytes(std::size_t bytes) noexcept override;
  void deallocate_bytes(void* data, std::size_t bytes) noexcept override;

 private:
  const Toolkit toolkit_;
  const int ordinal_;
  std::atomic<Gpu*> gpu_ = nullptr;  // there once it is started
};

}  // namespace softneuro::cuda
