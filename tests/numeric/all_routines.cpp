// The built-in routines and those of the library plugins that this program is linked with.
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"
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
namespace {

Registry make_all_routines() {
  Registry registry = make_builtin_registry().value();
#if defined(SOFTNEURO_HAS_EIGEN_PLUGIN)
  if (const Status status = eigen::add_routines(registry); !status.ok())
    WARN("the Eigen plugin: " << status.message());
#endif
#if defined(SOFTNEURO_HAS_ONEDNN_PLUGIN)
  if (const Status status = onednn::add_routines(registry); !status.ok())
    WARN("the oneDNN plugin: " << status.message());
#endif
#if defined(SOFTNEURO_HAS_XNNPACK_PLUGIN)
  if (const Status status = xnnpack::add_routines(registry); !status.ok())
    WARN("the XNNPACK plugin: " << status.message());
#endif
  return registry;
}

}  // namespace

const Registry& all_routines() {
  static const Registry registry = make_all_routines();
  return registry;
}

}  // namespace softneuro::test
