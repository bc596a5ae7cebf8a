#include "softneuro/status.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/printable.h"

namespace softneuro {

Status::Status(StatusCode code, std::string message)
    : code_(code), message_(printable_text(std::move(message))) {}

Status Status::with_context(std::string_view context) && {
  if (!ok()) message_ = printable_text(std::string(context)) + ": " + message_;
  return std::move(*this);
}

void abort_with(const Status& status) noexcept {
  std::fprintf(stderr, "softneuro: a Result without a value was read: %s: %s\n",
               to_string(status.code()), status.message().c_str());
  std::abort();
}

const char* to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::invalid_model:
      return "invalid_model";
    case StatusCode::unsupported:
      return "unsupported";
    case StatusCode::not_found:
      return "not_found";
    case StatusCode::out_of_memory:
      return "out_of_memory";
    case StatusCode::io_error:
      return "io_error";
    case StatusCode::corrupt_file:
      return "corrupt_file";
    case StatusCode::cancelled:
      return "cancelled";
    case StatusCode::incompatible:
      return "incompatible";
    case StatusCode::internal:
      return "internal";
    case StatusCode::device_failed:
      return "device_failed";
  }
  return "unknown";
}

}  // namespace softneuro
