// The part of the C API that lives beside the importers.
#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace softneuro;
using namespace softneuro::capi;

namespace {

Result<NamedTensors> named_constants(const sn_tensor* tensors, std::size_t count) {
  if (tensors == nullptr && count > 0) return invalid_argument("sn_net_options.constants is null");
  NamedTensors named;
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(const sn_tensor given, read(element(tensors, i), "sn_tensor"));
    if (given.name == nullptr) return invalid_argument("constant {} names no input", i);
    SN_ASSIGN_OR_RETURN(Tensor value, tensor_from(given, false));
    if (!named.emplace(given.name, std::move(value)).second)
      return invalid_argument("two constants are given for input '{}'", given.name);
  }
  return named;
}

// What an import takes of the options, beside what every net does.
Result<ImportOptions> import_options(const sn_net_options* given) {
  SN_ASSIGN_OR_RETURN(const sn_net_options known, read(given, "sn_net_options"));
  ImportOptions options;
  SN_ASSIGN_OR_RETURN(options.shapes, named_shapes(known.shapes, known.shape_count));
  SN_ASSIGN_OR_RETURN(options.constants, named_constants(known.constants, known.constant_count));
  SN_ASSIGN_OR_RETURN(options.disabled_passes,
                      texts_from(known.disabled_passes, known.disabled_pass_count,
                                 "sn_net_options.disabled_passes"));
  options.verify = known.verify_import != 0;
  options.cancel = request_of(known.cancel);
  return options;
}

}  // namespace

sn_status sn_net_import(const char* path, const sn_net_options* options, sn_net** net) {
  return call_for(net, "net", [&]() -> Status {
    if (path == nullptr) return invalid_argument("the path is null");
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const NetOptions common, net_options(options, host));
    SN_ASSIGN_OR_RETURN(const ImportOptions model, import_options(options));
    return make_net(std::move(host), Net::import(path, common, model), net);
  });
}

sn_status sn_net_import_memory(const void* data, size_t bytes, const char* folder,
                               const sn_net_options* options, sn_net** net) {
  return call_for(net, "net", [&]() -> Status {
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const NetOptions common, net_options(options, host));
    SN_ASSIGN_OR_RETURN(ImportOptions model, import_options(options));
    if (folder != nullptr) model.folder = folder;
    return make_net(std::move(host), Net::import_memory(data, bytes, common, model), net);
  });
}
