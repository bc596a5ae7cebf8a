// Recordings as CUDA graphs, by capturing a stream.
#pragma once

#include <memory>

#include "core/device/device.h"
#include "plugins/cuda/libraries/driver.h"

namespace softneuro::cuda {

// A graph that is ready to run. In all functions the stream's context is current, but for the
// destructor.
class CudaRecording final : public Recording {
 public:
  // The stream, which outlives the recording, captures from here to end(): in this thread alone,
  // others may allocate meanwhile.
  static Status begin(const Driver& driver, CUstream stream) noexcept;
  // Ends the capture in any case.
  static Result<std::unique_ptr<Recording>> end(const Driver& driver, CUcontext context,
                                                CUstream stream) noexcept;
  ~CudaRecording() override;
  Status play() const noexcept;

 private:
  static Result<std::unique_ptr<Recording>> make(const Driver& driver, CUcontext context,
                                                 CUstream stream, CUgraph captured);
  CudaRecording(const Driver& driver, CUcontext context, CUstream stream)
      : driver_(driver), context_(context), stream_(stream) {}

  const Driver& driver_;
  const CUcontext context_;
  const CUstream stream_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace softneuro::cuda
