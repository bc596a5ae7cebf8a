// A stream of the GPU.
#pragma once

#include <memory>

#include "core/device/device.h"
#include "plugins/cuda/device/gpu.h"

namespace softneuro::cuda {

class CudaStream final : public Stream {
 public:
  static Result<std::unique_ptr<CudaStream>> create(Gpu& gpu);
  ~CudaStream() override;

  Status upload(void* to, const void* from, std::size_t bytes) noexcept override;
  Status download(void* to, const void* from, std::size_t bytes) noexcept override;
  Status synchronize() noexcept override;
  Result<std::unique_ptr<DeviceEvent>> record() noexcept override;
  Result<double> microseconds(const DeviceEvent& from, const DeviceEvent& to) noexcept override;
  Status begin_recording() noexcept override;
  Result<std::unique_ptr<Recording>> end_recording() noexcept override;
  Status play(const Recording& recording) noexcept override;

  Gpu& gpu() const noexcept { return gpu_; }
  CUcontext context() const noexcept { return context_; }
  CUstream handle() const noexcept { return stream_; }
  // Where kernels in this stream report; what they did is an error of synchronize().
  Result<Fault*> fault() noexcept;
  // Puts a kernel in that takes one argument by value.
  Status launch(CUfunction kernel, unsigned blocks, unsigned threads, void* argument) noexcept;

 private:
  CudaStream(Gpu& gpu, CUcontext context) : gpu_(gpu), context_(context) {}
  Status open();
  Status take_staging() noexcept;
  // Ready for what may not be recorded; else an error, and one of the recording. CUDA would record
  // some of it: a copy out of page-locked memory that holds other bytes when it is played.
  Status check_not_recording(const char* call) noexcept;

  Gpu& gpu_;
  const CUcontext context_;
  CUstream stream_ = nullptr;
  std::unique_ptr<Staging> staging_;  // there from the first need on
  bool records_ = false;
  Status misuse_;  // the first of this recording
};

}  // namespace softneuro::cuda
