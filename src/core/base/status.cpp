#include "softneuro/status.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

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
  static constexpr const char* kNames[] = {"ok",           "invalid_argument", "invalid_model",
                                           "unsupported",  "not_found",        "out_of_memory",
                                           "io_error",     "corrupt_file",     "cancelled",
                                           "incompatible", "internal",         "device_failed"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(StatusCode::device_failed) + 1);
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

}  // namespace softneuro
