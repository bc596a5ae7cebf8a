#include "plugins/eigen/routines.h"

#include <Eigen/Core>

#include "core/base/error.h"

#define SN_TEXT_(x) #x
#define SN_TEXT(x) SN_TEXT_(x)
#define SN_EIGEN_VERSION       \
  SN_TEXT(EIGEN_WORLD_VERSION) \
  "." SN_TEXT(EIGEN_MAJOR_VERSION) "." SN_TEXT(EIGEN_MINOR_VERSION)

namespace softneuro::eigen {

const char* library_name() {
  return "eigen " SN_EIGEN_VERSION;
}

std::vector<PluginLibrary> libraries() {
  PluginLibrary eigen;
  eigen.name = "Eigen";
  eigen.version = SN_EIGEN_VERSION;
  eigen.note = "headers, compiled into the plugin";
  return {std::move(eigen)};
}

Status add_routines(Registry& registry) {
  if (registry.find("det", "cpu/eigen") != nullptr) return {};
  SN_RETURN_IF_ERROR(register_det(registry));
  SN_RETURN_IF_ERROR(register_einsum(registry));
  return register_matmul(registry);
}

}  // namespace softneuro::eigen
