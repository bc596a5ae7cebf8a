#include "plugins/cuda/libraries/driver.h"

#include <string_view>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

// Containers often have this name alone.
constexpr const char* kNames[] = {"libcuda.so.1"};

Result<Driver> open_driver() {
  const Result<SharedLibrary> library = SharedLibrary::open(kNames);
  if (!library.ok())
    return unsupported("NVIDIA's driver is not installed: {}", library.status().message());
  return driver_of(*library);
}

// What drivers that are older than cuda.h call a function with the same arguments; else null.
const char* older_name(std::string_view name) {
  return name == "cuEventElapsedTime_v2" ? "cuEventElapsedTime" : nullptr;
}

// By the name of the ABI that cuda.h declares, which the plain symbol may not be.
template <class Function>
Status resolve_entry(const SharedLibrary& library, const char* name, Function*& entry) {
  const char* const older = older_name(name);
  if (older != nullptr && library.symbol(name) == nullptr) name = older;
  return resolve(library, name, entry);
}

Status initialise() {
  SN_ASSIGN_OR_RETURN(const Driver* const driver, find_driver());
  if (const Status status = driver->check(driver->cuInit(0), "cuInit"); !status.ok())
    return unsupported("NVIDIA's driver sees no GPU: {}", status.message());
  return {};
}

}  // namespace

// The argument as cuda.h has redefined it, as a text.
#define SN_TEXT_OF(text) #text
#define SN_TEXT(name) SN_TEXT_OF(name)
#define SN_RESOLVE(name) SN_RETURN_IF_ERROR(resolve_entry(library, SN_TEXT(name), driver.name));

Result<Driver> driver_of(const SharedLibrary& library) {
  Driver driver;
  driver.path = library.path();
  driver.found_by = library.found_by();
  SN_CUDA_DRIVER(SN_RESOLVE)
  return driver;
}

#undef SN_RESOLVE
#undef SN_TEXT
#undef SN_TEXT_OF

Status Driver::check(CUresult result, const char* call) const noexcept {
  if (result == CUDA_SUCCESS) return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  const StatusCode code =
      result == CUDA_ERROR_OUT_OF_MEMORY ? StatusCode::out_of_memory : StatusCode::device_failed;
  return make_error(code, "{}: {} ({})", call, name == nullptr ? "an unknown error" : name,
                    text == nullptr ? std::to_string(static_cast<int>(result)) : text);
}

Result<std::string> Driver::version() const {
  int number = 0;
  SN_RETURN_IF_ERROR(check(cuDriverGetVersion(&number), "cuDriverGetVersion"));
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);  // 13000
}

Result<const Driver*> find_driver() {
  static const Result<Driver> driver = open_driver();
  if (!driver.ok()) return driver.status();
  return &*driver;
}

Result<const Driver*> load_driver() {
  static const Status status = initialise();
  if (!status.ok()) return status;
  return find_driver();
}

}  // namespace softneuro::cuda
