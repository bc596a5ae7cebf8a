// What the opaque handles of the C API are.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "capi/host.h"
#include "softneuro/c_api.h"
#include "softneuro/net.h"
#include "softneuro/session.h"

// In each of them the host comes first, so that it goes last.

struct sn_net {
  std::shared_ptr<softneuro::capi::Host> host;
  softneuro::Net net;
};

struct sn_result {
  std::shared_ptr<softneuro::capi::Host> host;
  std::vector<std::pair<std::string, softneuro::Tensor>> outputs;
};

struct sn_tuned_paths {
  struct Path {
    softneuro::TunedPathInfo info;
    std::vector<sn_shape> shapes;
    std::vector<const char*> schemas;
  };
  std::vector<Path> paths;
};

struct sn_session {
  std::shared_ptr<softneuro::capi::Host> host;
  softneuro::Net net;  // plans other shapes
  std::vector<std::string> extra_outputs;
  softneuro::NamedDevices devices;
  std::unique_ptr<softneuro::capi::HostAllocator> allocator;
  softneuro::Session session;
  // Room for each run's tensors, taken once.
  std::vector<softneuro::Tensor> inputs;
  std::vector<softneuro::Tensor> outputs;
};

struct sn_cancel {
  std::atomic<bool> requested{false};
};
inline const std::atomic<bool>* request_of(const sn_cancel* cancel) {
  return cancel == nullptr ? nullptr : &cancel->requested;
}

namespace softneuro::capi {

// A handle in the memory of this library, which frees it: sn_net_import lives in another.
SN_INTREE Status make_net(std::shared_ptr<Host> host, Result<Net> net, sn_net** handle);
// Input name → shape.
SN_INTREE Result<NamedShapes> named_shapes(const sn_shape* shapes, std::size_t count);

// Over the caller's callbacks; all defaults for null.
Result<RunOptions> run_options(const sn_run_options* given);

}  // namespace softneuro::capi
