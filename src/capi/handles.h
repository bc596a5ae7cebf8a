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

struct sn_session {
  std::shared_ptr<softneuro::capi::Host> host;
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
Result<NamedShapes> named_shapes(const sn_shape* shapes, std::size_t count);

}  // namespace softneuro::capi
