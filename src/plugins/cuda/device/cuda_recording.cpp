#include "plugins/cuda/device/cuda_recording.h"

#include "core/base/error.h"
#include "plugins/cuda/device/cuda_device.h"

namespace softneuro::cuda {

Status CudaRecording::begin(const Driver& driver, CUstream stream) noexcept {
  return driver.check(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                      "cuStreamBeginCapture");
}

Result<std::unique_ptr<Recording>> CudaRecording::make(const Driver& driver, CUcontext context,
                                                       CUstream stream, CUgraph captured) {
  std::unique_ptr<CudaRecording> made(new CudaRecording(driver, context, stream));
  SN_RETURN_IF_ERROR(driver.check(driver.cuGraphInstantiateWithFlags(&made->graph_, captured, 0),
                                  "cuGraphInstantiate"));
  return std::unique_ptr<Recording>(std::move(made));
}

Result<std::unique_ptr<Recording>> CudaRecording::end(const Driver& driver, CUcontext context,
                                                      CUstream stream) noexcept {
  CUgraph captured = nullptr;
  SN_RETURN_IF_ERROR(
      driver.check(driver.cuStreamEndCapture(stream, &captured), "cuStreamEndCapture"));
  auto recording = guarded([&] { return make(driver, context, stream, captured); });
  driver.cuGraphDestroy(captured);
  return recording;
}

CudaRecording::~CudaRecording() {
  if (graph_ == nullptr) return;
  const CurrentContext current(driver_, context_);
  // Older drivers do not wait for a graph that runs.
  driver_.cuStreamSynchronize(stream_);
  driver_.cuGraphExecDestroy(graph_);
}

Status CudaRecording::play() const noexcept {
  return driver_.check(driver_.cuGraphLaunch(graph_, stream_), "cuGraphLaunch");
}

}  // namespace softneuro::cuda
