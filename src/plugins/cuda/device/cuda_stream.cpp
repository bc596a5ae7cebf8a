#include "plugins/cuda/device/cuda_stream.h"

#include <utility>

#include "core/base/error.h"
#include "cpu/tensor/indexing.h"
#include "plugins/cuda/device/cuda_recording.h"

namespace softneuro::cuda {
namespace {

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(Gpu& gpu, CUevent event) : handle(event), gpu_(gpu) {}
  ~CudaEvent() override { gpu_.give_back(handle); }

  const CUevent handle;

 private:
  Gpu& gpu_;
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

CudaStream::~CudaStream() {
  const Driver& driver = gpu_.driver();
  const CurrentContext current(driver, context_);
  if (stream_ == nullptr) return;
  driver.cuStreamSynchronize(stream_);
  if (staging_ != nullptr) gpu_.give_back(std::move(staging_));
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
  const CurrentContext current(gpu_.driver(), context_);
  SN_RETURN_IF_ERROR(current.status());
  SN_RETURN_IF_ERROR(take_staging());
  return gpu_.check(staging_->upload(stream_, to, from, bytes), "cuMemcpyHtoDAsync");
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
  SN_RETURN_IF_ERROR(gpu_.check(driver.cuStreamSynchronize(stream_), "cuStreamSynchronize"));
  if (staging_ == nullptr || staging_->fault().claimed == 0) return {};
  const Fault fault = std::exchange(staging_->fault(), Fault());
  return index_error(fault.index, fault.place, fault.size);
}

Status CudaStream::take_staging() noexcept {
  if (staging_ != nullptr) return {};
  SN_RETURN_IF_ERROR(check_not_recording("page-locked memory"));
  SN_ASSIGN_OR_RETURN(staging_, guarded([&] { return gpu_.take_staging(); }));
  staging_->fault() = Fault();
  return {};
}

Result<Fault*> CudaStream::fault() noexcept {
  const CurrentContext current(gpu_.driver(), context_);
  SN_RETURN_IF_ERROR(current.status());
  SN_RETURN_IF_ERROR(take_staging());
  return &staging_->fault();
}

Result<std::unique_ptr<DeviceEvent>> CudaStream::record() noexcept {
  SN_RETURN_IF_ERROR(check_not_recording("record"));
  const CurrentContext current(gpu_.driver(), context_);
  SN_RETURN_IF_ERROR(current.status());
  return guarded([&]() -> Result<std::unique_ptr<DeviceEvent>> {
    SN_ASSIGN_OR_RETURN(const CUevent handle, gpu_.take_event());
    auto event = std::make_unique<CudaEvent>(gpu_, handle);
    SN_RETURN_IF_ERROR(gpu_.check(gpu_.driver().cuEventRecord(handle, stream_), "cuEventRecord"));
    return std::unique_ptr<DeviceEvent>(std::move(event));
  });
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
