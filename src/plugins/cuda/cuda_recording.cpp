#include "plugins/cuda/cuda_recording.h"

#include "core/base/error.h"
#include "plugins/cuda/cuda_device.h"

namespace softneuro::cuda {

Status CudaRecording::begin(const Driver& driver, CUstream stream) noexcept {
  return driver.check(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                      "cuStreamBeginCapture");
}

Result<std::unique_ptr<Recording>> CudaRecording::end(const Driver& driver, CUcontext context,
                                                      CUstream stream) noexcept {
  CUgraph captured = nullptr;
  const CUresult ended = driver.cuStreamEndCapture(stream, &captured);
  auto recording = guarded([&]() -> Result<std::unique_ptr<Recording>> {
    SN_RETURN_IF_ERROR(driver.check(ended, "cuStreamEndCapture"));
    std::unique_ptr<CudaRecording> made(new CudaRecording(driver, context, stream));
    SN_RETURN_IF_ERROR(driver.check(driver.cuGraphInstantiateWithFlags(&made->graph_, captured, 0),
                                    "cuGraphInstantiate"));
    return std::unique_ptr<Recording>(std::move(made));
  });
  if (captured != nullptr) driver.cuGraphDestroy(captured);
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
