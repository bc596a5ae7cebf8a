#include "plugins/cuda/libraries/cublaslt.h"

#include "core/base/error.h"
#include "plugins/cuda/libraries/shared_library.h"

namespace softneuro::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

Result<CublasLt> open_cublaslt() {
  SN_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::open(kNames));
  CublasLt cublaslt;
  cublaslt.path = library.path();
  cublaslt.found_by = library.found_by();
#define SN_RESOLVE(name) SN_RETURN_IF_ERROR(resolve(library, #name, cublaslt.name));
  SN_CUDA_CUBLASLT(SN_RESOLVE)
#undef SN_RESOLVE
  return cublaslt;
}

}  // namespace

Status CublasLt::check(cublasStatus_t status, const char* call) const noexcept {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return make_error(
      status == CUBLAS_STATUS_ALLOC_FAILED ? StatusCode::out_of_memory : StatusCode::device_failed,
      "{}: {}", call, cublasLtGetStatusString(status));
}

std::string CublasLt::version() const {
  const std::size_t number = cublasLtGetVersion();  // 130002; 120805
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Result<const CublasLt*> load_cublaslt() {
  static const Result<CublasLt> cublaslt = open_cublaslt();
  if (!cublaslt.ok()) return cublaslt.status();
  return &*cublaslt;
}

}  // namespace softneuro::cuda
