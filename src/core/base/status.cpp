#include "softneuro/status.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace softneuro {
namespace {

// Short enough to need no memory itself.
constexpr const char* kNoMemory = "out of memory";

// make(), or `without` where there is no memory for it.
template <class T, class Make>
T made_or([[maybe_unused]] T without, Make&& make) noexcept {
#if defined(__cpp_exceptions)
  try {
    return make();
  } catch (const std::exception&) {
    return without;
  }
#else
  return make();
#endif
}

std::shared_ptr<const std::string> shared_text(std::string text) {
  return std::make_shared<const std::string>(printable_text(std::move(text)));
}

}  // namespace

Status::Status(StatusCode code, std::string_view message) noexcept
    : code_(code), message_(made_or<decltype(message_)>(nullptr, [&] {
        return shared_text(std::string(message));
      })) {}

const std::string& Status::message() const noexcept {
  static const std::string none, no_memory = kNoMemory;
  if (message_ != nullptr) return *message_;
  return ok() ? none : no_memory;
}

Status Status::with_context(std::string_view context) && noexcept {
  if (!ok())
    message_ =
        made_or(message_, [&] { return shared_text(fmt::format("{}: {}", context, message())); });
  return std::move(*this);
}

Status formatted_error(StatusCode code, fmt::string_view format, fmt::format_args args) noexcept {
  return Status(code, made_or<std::string>(kNoMemory, [&] { return fmt::vformat(format, args); }));
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
