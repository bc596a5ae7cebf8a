#include "plugins/cuda/libraries/cudnn.h"

#include <filesystem>

#include "core/base/error.h"
#include "plugins/cuda/libraries/shared_library.h"

namespace softneuro::cuda {
namespace {

constexpr const char* kNames[] = {"libcudnn.so.9"};
// What the others need comes first.
constexpr const char* kParts[] = {"graph",
                                  "ops",
                                  "cnn",
                                  "adv",
                                  "heuristic",
                                  "engines_precompiled",
                                  "engines_runtime_compiled",
                                  "engines_tensor_ir"};

Result<Cudnn> open_cudnn() {
  SN_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::open(kNames));
  Cudnn cudnn;
  cudnn.path = library.path();
  cudnn.found_by = library.found_by();
  SN_ASSIGN_OR_RETURN(cudnn.parts, open_cudnn_parts(library.folder()));
#define SN_RESOLVE(name) SN_RETURN_IF_ERROR(resolve(library, #name, cudnn.name));
  SN_CUDA_CUDNN(SN_RESOLVE)
#undef SN_RESOLVE
  return cudnn;
}

StatusCode code_of(cudnnStatus_t status) {
  if (CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED)
    return StatusCode::unsupported;
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return StatusCode::out_of_memory;
    default:
      return StatusCode::device_failed;
  }
}

}  // namespace

Result<std::string> open_cudnn_parts(const std::string& folder) {
  std::string opened;
  for (const char* const part : kParts) {
    const std::string name = fmt::format("libcudnn_{}.so.9", part);
    const std::string file = fmt::format("{}/{}", folder, name);
    std::error_code error;
    if (std::filesystem::exists(file, error))
      SN_RETURN_IF_ERROR(SharedLibrary::open_file(file).status());
    else if (!SharedLibrary::open_file(name).ok())
      continue;  // there is none: some packages and versions do without
    const std::string loaded = loaded_folder(name.c_str());
    if (loaded != folder)
      return unsupported(
          "cuDNN is mixed from two folders, which may have two versions: {} is in {}, {} in {}; "
          "SOFTNEURO_CUDA_LIBRARIES names the one to take",
          kNames[0], folder, name, loaded);
    opened += (opened.empty() ? "" : ", ") + std::string(part);
  }
  return opened;
}

Status Cudnn::check(cudnnStatus_t status, const char* call) const noexcept {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  char detail[512] = {};
  cudnnGetLastErrorString(detail, sizeof(detail) - 1);
  return make_error(code_of(status), "{}: {}{}{}", call, cudnnGetErrorString(status),
                    detail[0] == '\0' ? "" : ": ", detail);
}

std::string Cudnn::version() const {
  const std::size_t number = cudnnGetVersion();  // 91900
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Result<const Cudnn*> load_cudnn() {
  static const Result<Cudnn> cudnn = open_cudnn();
  if (!cudnn.ok()) return cudnn.status();
  return &*cudnn;
}

}  // namespace softneuro::cuda
