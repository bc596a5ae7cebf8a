#include "numeric/library_routines.h"

#include <cstdlib>

#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
#include "device/fake_cuda.h"
#endif
#if defined(SOFTNEURO_HAS_EIGEN_PLUGIN)
#include "plugins/eigen/routines.h"
#endif
#if defined(SOFTNEURO_HAS_ONEDNN_PLUGIN)
#include "plugins/onednn/routines.h"
#endif
#if defined(SOFTNEURO_HAS_XNNPACK_PLUGIN)
#include "plugins/xnnpack/routines.h"
#endif

namespace softneuro::test {

std::vector<std::string> add_library_routines([[maybe_unused]] Registry& registry) {
  std::vector<std::string> refused;
#if defined(SOFTNEURO_HAS_EIGEN_PLUGIN)
  if (const Status status = eigen::add_routines(registry); !status.ok())
    refused.push_back("the Eigen plugin: " + status.message());
#endif
#if defined(SOFTNEURO_HAS_ONEDNN_PLUGIN)
  if (const Status status = onednn::add_routines(registry); !status.ok())
    refused.push_back("the oneDNN plugin: " + status.message());
#endif
#if defined(SOFTNEURO_HAS_XNNPACK_PLUGIN)
  if (const Status status = xnnpack::add_routines(registry); !status.ok())
    refused.push_back("the XNNPACK plugin: " + status.message());
#endif
#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
  // What a GPU computes does not depend on the processor's instruction set.
  if (std::getenv("SOFTNEURO_TEST_VARIANTS") != nullptr) return refused;
  if (const Status status = add_gpu_or_fake(registry); !status.ok())
    refused.push_back("the CUDA plugin: " + status.message());
#endif
  return refused;
}

}  // namespace softneuro::test
