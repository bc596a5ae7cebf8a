#include "plugins/xnnpack/library.h"

#include "core/base/error.h"
#include "core/base/isa_variants.h"
#include "core/plugin/loaded_file.h"

namespace softneuro::xnnpack {
namespace {

Status prepare() {
  // It chooses by what our variants require, of all that can be masked
  // (docs/internals/libraries.md).
  if (&best_variant(processor_features()) != &best_variant(usable_features()))
    return unsupported("XNNPACK cannot be limited to the instruction sets of SOFTNEURO_MAX_ISA");
  return status_of(xnn_initialize(nullptr), "initialising");
}

}  // namespace

Status prepare_library() {
  static const Status status = prepare();
  return status;
}

const char* library_name() {
  return "xnnpack 2022";
}

std::vector<PluginLibrary> libraries() {
  PluginLibrary xnnpack;
  xnnpack.name = "XNNPACK";
  xnnpack.path = file_of(&xnn_initialize);
  xnnpack.problem = prepare_library().message();
  xnnpack.note = "reports no version; the plugin is built for that of 2022";
  return {std::move(xnnpack)};
}

Status status_of(xnn_status status, const char* what) {
  switch (status) {
    case xnn_status_success:
      return {};
    case xnn_status_out_of_memory:
      return make_error(StatusCode::out_of_memory, "XNNPACK: {}: out of memory", what);
    case xnn_status_unsupported_parameter:
    case xnn_status_unsupported_hardware:
      return unsupported("XNNPACK: {}: not supported ({})", what, static_cast<int>(status));
    default:
      return internal_error("XNNPACK: {} failed ({})", what, static_cast<int>(status));
  }
}

}  // namespace softneuro::xnnpack
