// A stream of the GPU.
#pragma once

#include <array>

#include "core/device/device.h"
#include "plugins/cuda/gpu.h"

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
  // Puts a kernel in that takes one argument by value.
  Status launch(CUfunction kernel, unsigned blocks, unsigned threads, void* argument) noexcept;

 private:
  // Where bytes wait for the way to the GPU, which reads them when it comes to it. A copy from any
  // other memory may read its source later than the call, or not, as that memory is.
  struct Chunk {
    std::byte* bytes = nullptr;
    CUevent is_free = nullptr;  // recorded behind the copy out of it
  };
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;  // the bus is busy with one well
  static constexpr std::size_t kChunks = 8;                         // small inputs take one each

  CudaStream(Gpu& gpu, CUcontext context) : gpu_(gpu), context_(context) {}
  Status open();
  Status open_staging();
  // Ready for what may not be recorded; else an error, and one of the recording. CUDA would record
  // some of it: a copy out of a chunk that holds other bytes when it is played.
  Status check_not_recording(const char* call) noexcept;

  Gpu& gpu_;
  const CUcontext context_;
  CUstream stream_ = nullptr;
  std::byte* staging_ = nullptr;  // pinned; there from the first upload on
  std::array<Chunk, kChunks> chunks_;
  std::size_t next_chunk_ = 0;
  bool records_ = false;
  Status misuse_;  // the first of this recording
};

}  // namespace softneuro::cuda
