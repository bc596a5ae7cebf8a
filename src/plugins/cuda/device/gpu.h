// What all nets of a process share of one GPU.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugins/cuda/device/staging.h"
#include "plugins/cuda/libraries/cublaslt.h"
#include "plugins/cuda/libraries/driver.h"
#include "plugins/cuda/libraries/nvrtc.h"

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

// One GPU. Thread safe. What it has once made – the context, kernels, handles – stays for as long
// as the process lives: the next net needs it again.
class Gpu {
 public:
  // The object for GPU `ordinal` of `driver`, which is initialised; always the same one.
  // unsupported if there is no such GPU. `driver` and the object are never destroyed.
  static Result<Gpu*> find(const Driver& driver, int ordinal);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const noexcept { return driver_; }
  // "NVIDIA H200, sm_90, 132 multiprocessors, driver 13.0"
  const std::string& name() const noexcept { return name_; }
  // Compute capability 9.0 is 90.
  int architecture() const noexcept { return architecture_; }
  int multiprocessors() const noexcept { return multiprocessors_; }

  // As Driver::check(). Remembers errors after which CUDA does nothing more in this process: the
  // GPU is lost.
  Status check(CUresult result, const char* call) noexcept;
  // device_failed, with the reason, once it is lost.
  Status status() const noexcept;

  // The primary context, made at the first call. An error once the GPU is lost.
  Result<CUcontext> context() noexcept;
  // The same for giving back, also once it is lost; null where none was made.
  CUcontext made_context() noexcept;
  // The kernel `name` of `source`, which is compiled at the first call with it; other kernels can
  // be had meanwhile.
  Result<CUfunction> kernel(const Nvrtc& compiler, const std::string& source, const char* name);
  // The library's handle. The GPU's context must be current.
  Result<cublasLtHandle_t> handle(const CublasLt& library);

  // One that was given back, else a new one: both are dear to make. The context must be current.
  Result<CUevent> take_event();
  Result<std::unique_ptr<Staging>> take_staging();
  // Once nothing is under way there.
  void give_back(CUevent event) noexcept;
  void give_back(std::unique_ptr<Staging> staging) noexcept;

 private:
  struct Module {
    std::mutex mutex;  // held while compiling
    CUmodule loaded = nullptr;
  };
  Gpu(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}
  ~Gpu() = default;
  Status describe();
  Result<CUmodule> module_of(const Nvrtc& compiler, const std::string& source);

  const Driver& driver_;
  const CUdevice device_;
  std::string name_;
  int architecture_ = 0, multiprocessors_ = 1;
  std::atomic<CUresult> lost_ = CUDA_SUCCESS;  // the first error that does not go away
  std::mutex mutex_;                           // for what follows
  CUcontext context_ = nullptr;
  std::map<std::pair<const Nvrtc*, std::string>, std::shared_ptr<Module>> modules_;  // by source
  std::map<const CublasLt*, cublasLtHandle_t> handles_;
  // As many as were ever in use at once. There is always room for all that were made.
  std::vector<CUevent> idle_events_;
  std::vector<std::unique_ptr<Staging>> idle_stagings_;
  std::size_t events_ = 0, stagings_ = 0;
};

}  // namespace softneuro::cuda
