#include "capi/error.h"

#include <algorithm>
#include <cstring>

#include "softneuro/version.h"

namespace softneuro::capi {
namespace {

// Of a fixed size: there must be a message even where memory has run out.
thread_local char last_error[1024];

static_assert(SN_INVALID_ARGUMENT == static_cast<int>(StatusCode::invalid_argument));
static_assert(SN_OUT_OF_MEMORY == static_cast<int>(StatusCode::out_of_memory));
static_assert(SN_INTERNAL == static_cast<int>(StatusCode::internal));

}  // namespace

sn_status report(const Status& status) noexcept {
  if (status.ok()) return SN_OK;
  const std::string& message = status.message();
  std::size_t length = std::min(message.size(), sizeof(last_error) - 1);
  // Never half a character of UTF-8.
  while (length > 0 && length < message.size() && (message[length] & 0xc0) == 0x80) --length;
  std::memcpy(last_error, message.data(), length);
  last_error[length] = 0;
  return static_cast<sn_status>(status.code());
}

}  // namespace softneuro::capi

using namespace softneuro;

const char* sn_last_error(void) {
  return capi::last_error;
}

const char* sn_status_name(sn_status status) {
  if (status < SN_OK || status > SN_DEVICE_FAILED) return "unknown";
  return to_string(static_cast<StatusCode>(status));
}

const char* sn_version(void) {
  return version();
}
