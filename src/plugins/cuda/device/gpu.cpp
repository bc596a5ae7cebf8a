#include "plugins/cuda/device/gpu.h"

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

// Those of which cuda.h says that the process is left in an inconsistent state and must be
// relaunched to use CUDA; those of hardware; and the end of the context or of the driver.
bool is_final(CUresult result) {
  constexpr int kContained = 226, kTensorMemoryLeak = 721;  // not in cuda.h of CUDA 12
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case kContained:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case kTensorMemoryLeak:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<Gpu*> Gpu::find(const Driver& driver, int ordinal) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<const Driver*, int>, Gpu*>;  // see gpu.h
  int count = 0;
  SN_RETURN_IF_ERROR(driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) return unsupported("NVIDIA's driver sees no GPU");
  if (ordinal >= count) return unsupported("NVIDIA's driver sees no GPU {}", ordinal);
  CUdevice device = 0;
  SN_RETURN_IF_ERROR(driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  const std::lock_guard<std::mutex> lock(mutex);
  Gpu*& gpu = known[{&driver, ordinal}];
  if (gpu != nullptr) return gpu;
  auto made = std::unique_ptr<Gpu, void (*)(Gpu*)>(new Gpu(driver, device),
                                                   [](Gpu* unfinished) { delete unfinished; });
  SN_RETURN_IF_ERROR(made->describe());
  return gpu = made.release();
}

Status Gpu::describe() {
  char model[128] = {};
  SN_RETURN_IF_ERROR(
      check(driver_.cuDeviceGetName(model, sizeof(model) - 1, device_), "cuDeviceGetName"));
  SN_ASSIGN_OR_RETURN(const std::string version, driver_.version());
  int major = 0, minor = 0;
  const struct {
    CUdevice_attribute attribute;
    int* value;
  } kAttributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors_},
  };
  for (const auto& [attribute, value] : kAttributes)
    SN_RETURN_IF_ERROR(
        check(driver_.cuDeviceGetAttribute(value, attribute, device_), "cuDeviceGetAttribute"));
  architecture_ = 10 * major + minor;
  name_ = fmt::format("{}, sm_{}, {} multiprocessors, driver {}", model, architecture_,
                      multiprocessors_, version);
  return {};
}

Status Gpu::check(CUresult result, const char* call) noexcept {
  CUresult none = CUDA_SUCCESS;
  if (is_final(result)) lost_.compare_exchange_strong(none, result);
  return driver_.check(result, call);
}

Status Gpu::status() const noexcept {
  const CUresult lost = lost_;
  if (lost == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  driver_.cuGetErrorName(lost, &name);
  return make_error(
      StatusCode::device_failed,
      "the GPU ({}) is lost to this process, which must be restarted to use it again: {}", name_,
      name == nullptr ? "an unknown error" : name);
}

Result<CUcontext> Gpu::context() noexcept {
  SN_RETURN_IF_ERROR(status());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (context_ == nullptr)
    SN_RETURN_IF_ERROR(
        check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  return context_;
}

CUcontext Gpu::made_context() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return context_;
}

Result<CUmodule> Gpu::module_of(const Nvrtc& compiler, const std::string& source) {
  std::shared_ptr<Module> module;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Module>& known = modules_[{&compiler, source}];
    if (known == nullptr) known = std::make_shared<Module>();
    module = known;
  }
  const std::lock_guard<std::mutex> lock(module->mutex);
  if (module->loaded != nullptr) return module->loaded;
  SN_ASSIGN_OR_RETURN(const std::string image, compile(compiler, source, architecture_));
  SN_RETURN_IF_ERROR(
      check(driver_.cuModuleLoadData(&module->loaded, image.data()), "cuModuleLoadData"));
  return module->loaded;
}

Result<CUfunction> Gpu::kernel(const Nvrtc& compiler, const std::string& source, const char* name) {
  SN_ASSIGN_OR_RETURN(const CUcontext context, this->context());
  const CurrentContext current(driver_, context);
  SN_RETURN_IF_ERROR(current.status());
  SN_ASSIGN_OR_RETURN(const CUmodule module, module_of(compiler, source));
  CUfunction function = nullptr;
  SN_RETURN_IF_ERROR(
      check(driver_.cuModuleGetFunction(&function, module, name), "cuModuleGetFunction"));
  return function;
}

Result<cublasLtHandle_t> Gpu::handle(const CublasLt& library) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cublasLtHandle_t& handle = handles_[&library];
  if (handle == nullptr)
    SN_RETURN_IF_ERROR(library.check(library.cublasLtCreate(&handle), "cublasLtCreate"));
  return handle;
}

Result<CUevent> Gpu::take_event() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!idle_events_.empty()) {
    const CUevent event = idle_events_.back();
    idle_events_.pop_back();
    return event;
  }
  idle_events_.reserve(++events_);
  CUevent event = nullptr;
  SN_RETURN_IF_ERROR(check(driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
  return event;
}

Result<std::unique_ptr<Staging>> Gpu::take_staging() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_stagings_.empty()) {
      std::unique_ptr<Staging> staging = std::move(idle_stagings_.back());
      idle_stagings_.pop_back();
      return staging;
    }
    idle_stagings_.reserve(++stagings_);
  }
  return Staging::create(driver_);
}

void Gpu::give_back(CUevent event) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(event);
}

void Gpu::give_back(std::unique_ptr<Staging> staging) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_stagings_.push_back(std::move(staging));
}

}  // namespace softneuro::cuda
