#include "plugins/cuda/cuda_device.h"

#include "core/base/error.h"
#include "plugins/cuda/cuda_stream.h"

namespace softneuro::cuda {

CudaDevice::CudaDevice(const Driver& driver, CUdevice device)
    : Device(*DeviceId::parse("cuda")), driver_(driver), device_(device) {}

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const Driver& driver) {
  int count = 0, major = 0, minor = 0;
  SN_RETURN_IF_ERROR(driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) return unsupported("NVIDIA's driver sees no GPU");
  CUdevice ordinal = 0;
  SN_RETURN_IF_ERROR(driver.check(driver.cuDeviceGet(&ordinal, 0), "cuDeviceGet"));
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, ordinal));
  char model[128] = {};
  SN_RETURN_IF_ERROR(
      driver.check(driver.cuDeviceGetName(model, sizeof(model) - 1, ordinal), "cuDeviceGetName"));
  SN_ASSIGN_OR_RETURN(const std::string version, driver.version());
  const struct {
    CUdevice_attribute attribute;
    int* value;
  } kAttributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->multiprocessors_},
  };
  for (const auto& [attribute, value] : kAttributes)
    SN_RETURN_IF_ERROR(driver.check(driver.cuDeviceGetAttribute(value, attribute, ordinal),
                                    "cuDeviceGetAttribute"));
  device->architecture_ = 10 * major + minor;
  device->name_ = fmt::format("{}, sm_{}, {} multiprocessors, driver {}", model,
                              device->architecture_, device->multiprocessors_, version);
  return device;
}

CudaDevice::~CudaDevice() {
  pool().trim();
  if (context_ == nullptr) return;
  {
    const CurrentContext current(driver_, context_);
    for (const auto& [source, module] : modules_) driver_.cuModuleUnload(module);
  }
  driver_.cuDevicePrimaryCtxRelease_v2(device_);
}

Result<CUcontext> CudaDevice::context() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (context_ == nullptr)
    SN_RETURN_IF_ERROR(driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_),
                                     "cuDevicePrimaryCtxRetain"));
  return context_;
}

Result<std::unique_ptr<Stream>> CudaDevice::create_stream() noexcept {
  return guarded([&]() -> Result<std::unique_ptr<Stream>> {
    SN_ASSIGN_OR_RETURN(std::unique_ptr<CudaStream> stream, CudaStream::create(*this));
    return std::unique_ptr<Stream>(std::move(stream));
  });
}

Result<void*> CudaDevice::allocate_bytes(std::size_t bytes) noexcept {
  SN_ASSIGN_OR_RETURN(const CUcontext context, this->context());
  const CurrentContext current(driver_, context);
  SN_RETURN_IF_ERROR(current.status());
  CUdeviceptr data = 0;
  const CUresult result = driver_.cuMemAlloc_v2(&data, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    driver_.cuMemGetInfo_v2(&free, &total);
    return make_error(StatusCode::out_of_memory, "{} has no {} bytes: {} of its {} are free", name_,
                      bytes, free, total);
  }
  SN_RETURN_IF_ERROR(driver_.check(result, "cuMemAlloc"));
  return reinterpret_cast<void*>(data);  // NOLINT: CUDA's addresses are numbers
}

void CudaDevice::deallocate_bytes(void* data, std::size_t) noexcept {
  const CurrentContext current(driver_, context_);  // there, as something was allocated
  driver_.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(data));
}

Result<CUmodule> CudaDevice::module_of(const Nvrtc& compiler, const std::string& source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto known = modules_.find(source); known != modules_.end()) return known->second;
  SN_ASSIGN_OR_RETURN(const std::string image, compile(compiler, source, architecture_));
  CUmodule module = nullptr;
  SN_RETURN_IF_ERROR(
      driver_.check(driver_.cuModuleLoadData(&module, image.data()), "cuModuleLoadData"));
  modules_.emplace(source, module);
  return module;
}

Result<CUfunction> CudaDevice::kernel(const Nvrtc& compiler, const std::string& source,
                                      const char* name) {
  SN_ASSIGN_OR_RETURN(const CUcontext context, this->context());
  const CurrentContext current(driver_, context);
  SN_RETURN_IF_ERROR(current.status());
  SN_ASSIGN_OR_RETURN(const CUmodule module, module_of(compiler, source));
  CUfunction function = nullptr;
  SN_RETURN_IF_ERROR(
      driver_.check(driver_.cuModuleGetFunction(&function, module, name), "cuModuleGetFunction"));
  return function;
}

}  // namespace softneuro::cuda
