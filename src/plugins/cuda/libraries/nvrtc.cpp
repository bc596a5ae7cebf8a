#include "plugins/cuda/libraries/nvrtc.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "plugins/cuda/libraries/shared_library.h"

namespace softneuro::cuda {
namespace {

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

Result<Nvrtc> open_nvrtc() {
  SN_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::open(kNames));
  Nvrtc nvrtc;
  nvrtc.path = library.path();
  nvrtc.found_by = library.found_by();
#define SN_RESOLVE(name) SN_RETURN_IF_ERROR(resolve(library, #name, nvrtc.name));
  SN_CUDA_NVRTC(SN_RESOLVE)
#undef SN_RESOLVE
  // NVRTC opens these by name when it compiles. The loader finds none, or those of another
  // installation, where NVRTC's folder is none of its own. What is missing then, compiling says.
  [[maybe_unused]] const auto builtins =
      SharedLibrary::open_file(library.folder() + "/libnvrtc-builtins.so." + nvrtc.version());
  return nvrtc;
}

class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (handle_ != nullptr) nvrtc_.nvrtcDestroyProgram(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Status compile(const std::string& source, const std::string& architecture);
  Result<std::string> image(bool is_machine_code) const;

 private:
  std::string log() const;

  const Nvrtc& nvrtc_;
  nvrtcProgram handle_ = nullptr;
};

Status Program::compile(const std::string& source, const std::string& architecture) {
  SN_RETURN_IF_ERROR(nvrtc_.check(
      nvrtc_.nvrtcCreateProgram(&handle_, source.c_str(), "softneuro.cu", 0, nullptr, nullptr),
      "nvrtcCreateProgram"));
  const std::string option = "--gpu-architecture=" + architecture;
  const char* const options[] = {option.c_str(), "--std=c++17"};
  const nvrtcResult result = nvrtc_.nvrtcCompileProgram(handle_, 2, options);
  if (result == NVRTC_SUCCESS) return {};
  return nvrtc_.check(result, "nvrtcCompileProgram").with_context(log());
}

std::string Program::log() const {
  std::size_t size = 0;
  if (nvrtc_.nvrtcGetProgramLogSize(handle_, &size) != NVRTC_SUCCESS || size < 2) return "no log";
  std::string log(size, '\0');
  nvrtc_.nvrtcGetProgramLog(handle_, log.data());
  return log.substr(0, log.find('\0'));
}

Result<std::string> Program::image(bool is_machine_code) const {
  std::size_t size = 0;
  SN_RETURN_IF_ERROR(nvrtc_.check(is_machine_code ? nvrtc_.nvrtcGetCUBINSize(handle_, &size)
                                                  : nvrtc_.nvrtcGetPTXSize(handle_, &size),
                                  "nvrtcGetCUBINSize"));
  std::string image(size, '\0');
  SN_RETURN_IF_ERROR(nvrtc_.check(is_machine_code ? nvrtc_.nvrtcGetCUBIN(handle_, image.data())
                                                  : nvrtc_.nvrtcGetPTX(handle_, image.data()),
                                  "nvrtcGetCUBIN"));
  return image;
}

}  // namespace

Status Nvrtc::check(nvrtcResult result, const char* call) const {
  if (result == NVRTC_SUCCESS) return {};
  return make_error(StatusCode::device_failed, "{}: {}", call, nvrtcGetErrorString(result));
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<const Nvrtc*> load_nvrtc() {
  static const Result<Nvrtc> nvrtc = open_nvrtc();
  if (!nvrtc.ok()) return nvrtc.status();
  return &*nvrtc;
}

Result<std::string> compile(const Nvrtc& nvrtc, const std::string& source, int architecture) {
  int count = 0;
  SN_RETURN_IF_ERROR(
      nvrtc.check(nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs"));
  std::vector<int> known(static_cast<std::size_t>(count));
  SN_RETURN_IF_ERROR(
      nvrtc.check(nvrtc.nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs"));
  int target = 0;
  for (const int each : known)
    if (each <= architecture) target = std::max(target, each);
  if (target == 0)
    return unsupported("NVRTC {} does not compile for GPUs as old as sm_{}", nvrtc.version(),
                       architecture);
  const bool is_machine_code = target == architecture;
  Program program(nvrtc);
  SN_RETURN_IF_ERROR(
      program.compile(source, fmt::format("{}_{}", is_machine_code ? "sm" : "compute", target)));
  return program.image(is_machine_code);
}

}  // namespace softneuro::cuda
