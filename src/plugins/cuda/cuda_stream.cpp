#include "plugins/cuda/cuda_stream.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "plugins/cuda/cuda_recording.h"

namespace softneuro::cuda {
namespace {

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(const Driver& driver, CUcontext context, CUevent event)
      : handle(event), driver_(driver), context_(context) {}
  ~CudaEvent() override {
    const CurrentContext current(driver_, context_);
    driver_.cuEventDestroy_v2(handle);
  }

  const CUevent handle;

 private:
  const Driver& driver_;
  const CUcontext context_;
};

CUevent handle_of(const DeviceEvent& event) {
  return static_cast<const CudaEvent&>(event).handle;
}

}  // namespace

Result<std::unique_ptr<CudaStream>> CudaStream::create(Gpu& gpu) {
  SN_ASSIGN_OR_RETURN(const CUcontext context, gpu.context());
  std::unique_ptr<CudaStream> stream(new CudaStream(gpu, context));
  SN_RETURN_IF_ERROR(stream->open());
  return stream;
}

Status CudaStream::open() {
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  return gpu_.check(driver.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

Status CudaStream::open_staging() {
  const Driver& driver = gpu_.driver();
  for (Chunk& chunk : chunks_)
    if (chunk.is_free == nullptr)
      SN_RETURN_IF_ERROR(gpu_.check(driver.cuEventCreate(&chunk.is_free, CU_EVENT_DISABLE_TIMING),
                                    "cuEventCreate"));
  void* staging = nullptr;
  SN_RETURN_IF_ERROR(
      gpu_.check(driver.cuMemHostAlloc(&staging, kChunks * kChunkBytes, 0), "cuMemHostAlloc"));
  staging_ = static_cast<std::byte*>(staging);
  for (std::size_t i = 0; i < kChunks; ++i) chunks_[i].bytes = staging_ + i * kChunkBytes;
  return {};
}

CudaStream::~CudaStream() {
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  if (stream_ == nullptr) return;
  driver.cuStreamSynchronize(stream_);
  for (const Chunk& chunk : chunks_)
    if (chunk.is_free != nullptr) driver.cuEventDestroy_v2(chunk.is_free);
  if (staging_ != nullptr) driver.cuMemFreeHost(staging_);
  driver.cuStreamDestroy_v2(stream_);
}

Status CudaStream::check_not_recording(const char* call) noexcept {
  if (!records_) return {};
  Status status = make_error(StatusCode::device_failed, "{} in a recording", call);
  if (misuse_.ok()) misuse_ = status;
  return status;
}

Status CudaStream::upload(void* to, const void* from, std::size_t bytes) noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("upload"));
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  if (staging_ == nullptr) SN_RETURN_IF_ERROR(open_staging());
  for (std::size_t at = 0; at < bytes; at += kChunkBytes) {
    Chunk& chunk = chunks_[next_chunk_];
    next_chunk_ = (next_chunk_ + 1) % kChunks;
    const std::size_t count = std::min(kChunkBytes, bytes - at);
    // At once where it was never recorded.
    SN_RETURN_IF_ERROR(gpu_.check(driver.cuEventSynchronize(chunk.is_free), "cuEventSynchronize"));
    std::memcpy(chunk.bytes, static_cast<const std::byte*>(from) + at, count);
    SN_RETURN_IF_ERROR(
        gpu_.check(driver.cuMemcpyHtoDAsync_v2(reinterpret_cast<CUdeviceptr>(to) + at, chunk.bytes,
                                               count, stream_),
                   "cuMemcpyHtoDAsync"));
    SN_RETURN_IF_ERROR(gpu_.check(driver.cuEventRecord(chunk.is_free, stream_), "cuEventRecord"));
  }
  return {};
}

Status CudaStream::download(void* to, const void* from, std::size_t bytes) noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("download"));
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  if (bytes == 0) return {};
  return gpu_.check(
      driver.cuMemcpyDtoHAsync_v2(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream_),
      "cuMemcpyDtoHAsync");
}

Status CudaStream::synchronize() noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("synchronize"));
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  return gpu_.check(driver.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Result<std::unique_ptr<DeviceEvent>> CudaStream::record() noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("record"));
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  CUevent handle = nullptr;
  SN_RETURN_IF_ERROR(gpu_.check(driver.cuEventCreate(&handle, CU_EVENT_DEFAULT), "cuEventCreate"));
  auto event = std::make_unique<CudaEvent>(driver, context_, handle);
  SN_RETURN_IF_ERROR(gpu_.check(driver.cuEventRecord(handle, stream_), "cuEventRecord"));
  return std::unique_ptr<DeviceEvent>(std::move(event));
}

Result<double> CudaStream::microseconds(const DeviceEvent& from, const DeviceEvent& to) noexcept {
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  float milliseconds = 0;
  SN_RETURN_IF_ERROR(
      gpu_.check(driver.cuEventElapsedTime(&milliseconds, handle_of(from), handle_of(to)),
                 "cuEventElapsedTime"));
  return 1e3 * static_cast<double>(milliseconds);
}

Status CudaStream::begin_recording() noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("begin_recording"));
  const CurrentContext current(gpu_.driver(), context_);
  SN_RETURN_IF_ERROR(current.status());
  SN_RETURN_IF_ERROR(CudaRecording::begin(gpu_.driver(), stream_));
  records_ = true;
  misuse_ = Status();
  return {};
}

Result<std::unique_ptr<Recording>> CudaStream::end_recording() noexcept {
  const CurrentContext current(gpu_.driver(), context_);
  auto recording = CudaRecording::end(gpu_.driver(), context_, stream_);
  records_ = false;
  SN_RETURN_IF_ERROR(misuse_);
  return recording;
}

Status CudaStream::play(const Recording& recording) noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("play"));
  const CurrentContext current(gpu_.driver(), context_);
  SN_RETURN_IF_ERROR(current.status());
  return static_cast<const CudaRecording&>(recording).play();
}

Status CudaStream::launch(CUfunction kernel, unsigned blocks, unsigned threads,
                          void* argument) noexcept {
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  SN_RETURN_IF_ERROR(current.status());
  void* arguments[] = {argument};
  return gpu_.check(
      driver.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream_, arguments, nullptr),
      "cuLaunchKernel");
}

}  // namespace softneuro::cuda
