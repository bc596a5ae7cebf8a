// The part of the C API that lives beside the importers.
#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace softneuro;
using namespace softneuro::capi;

namespace {

Result<ImportOptions> import_options(const sn_net_options* given, std::shared_ptr<Host>& host) {
  SN_ASSIGN_OR_RETURN(const sn_net_options known, read(given, "sn_net_options"));
  SN_ASSIGN_OR_RETURN(NetOptions common, net_options(given, host));
  ImportOptions options;
  static_cast<NetOptions&>(options) = std::move(common);
  options.cancel = request_of(known.cancel);
  return options;
}

}  // namespace

sn_status sn_net_import(const char* path, const sn_net_options* options, sn_net** net) {
  return call([&]() -> Status {
    if (net == nullptr) return invalid_argument("no place for the net");
    *net = nullptr;
    if (path == nullptr) return invalid_argument("the path is null");
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const ImportOptions cpp, import_options(options, host));
    return make_net(std::move(host), Net::import(path, cpp), net);
  });
}

sn_status sn_net_import_memory(const void* data, size_t bytes, const char* folder,
                               const sn_net_options* options, sn_net** net) {
  return call([&]() -> Status {
    if (net == nullptr) return invalid_argument("no place for the net");
    *net = nullptr;
    std::shared_ptr<Host> host;
    SN_ASSIGN_OR_RETURN(const ImportOptions cpp, import_options(options, host));
    return make_net(std::move(host),
                    Net::import_memory(data, bytes, cpp, folder != nullptr ? folder : ""), net);
  });
}
