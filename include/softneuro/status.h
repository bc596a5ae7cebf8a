// Status and Result<T>: what every call of SoftNeuro that can fail returns.
//
// A failed call returns a code, for programs, and a human-readable message that says what failed,
// where, and what to do about it. The library does not print, abort or throw, but for three cases:
// - Reading the value of a failed Result without a check ends the process, with that message
//   (Result::value() throws where exceptions are on).
// - std::bad_alloc may leave functions that are not noexcept and make strings or lists:
//   Net::tuned_paths, Net::memory_report, Plan::memory_report, Plan::describe, str() of shapes.
// - Edge builds have no exceptions: where the heap (not the Allocator) is exhausted, the process
// ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "softneuro/export.h"

namespace softneuro {

// Values are part of the C ABI (c_api.h): append only.
enum class StatusCode : int {
  ok = 0,
  invalid_argument = 1,  // the caller's input is wrong: name, shape, data type, option
  invalid_model = 2,     // a model or .dnn file is malformed or inconsistent
  unsupported = 3,       // valid, but not supported by this build or on this machine
  not_found = 4,         // no file, input, output or other tensor of that name
  out_of_memory = 5,     // no memory is left, or no thread can be started
  io_error = 6,          // the operating system refused a file operation
  corrupt_file = 7,      // a file is truncated, of another kind, or its checksum does not match
  cancelled = 8,         // the caller asked to stop
  incompatible = 9,      // a file or plugin of another version
  internal = 10,         // a bug in SoftNeuro: please report it with the message
  device_failed = 11,    // a device (a GPU, say) reports an error, or is lost
};

// "invalid_argument", …; "unknown" for other values. Static.
SN_API const char* to_string(StatusCode code);

// Cheap while ok (no allocation). Copies share the message. Thread compatible, like
// std::shared_ptr.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  // What is not printable in the message (names of models may be any bytes) is written \xNN. Where
  // there is no memory for the message, it is "out of memory".
  SN_API Status(StatusCode code, std::string_view message) noexcept;

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  explicit operator bool() const noexcept { return ok(); }
  StatusCode code() const noexcept { return code_; }
  // One printable, human-readable line; empty while ok.
  // Valid as long as a copy of this status.
  SN_API const std::string& message() const noexcept;
  // The same error with "context: " put before its message, if there is memory for it; ok stays ok.
  SN_API Status with_context(std::string_view context) && noexcept;

 private:
  StatusCode code_ = StatusCode::ok;
  std::shared_ptr<const std::string> message_;  // null: ok, or no memory for it
};

// Thrown by Result::value() only, that is, only from code compiled into the user's program.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(const Status& status)
      : std::runtime_error(status.message()), status_(status) {}
  const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

// Writes the code and the message of `status` to standard error and aborts. Apart from
// an exhausted heap in edge builds, the library ends the process only here, when the caller reads
// the value of a failed Result.
[[noreturn]] SN_API void abort_with(const Status& status) noexcept;

// A value, or the Status that says why there is none. Thread compatible, like T.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit
  // A status that is ok becomes `internal`.
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit
    if (status_.ok()) status_ = Status(StatusCode::internal, "Result without a value");
  }

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const noexcept { return status_; }

  // Precondition: ok(). Without a value: writes the error to standard error and aborts.
  T& operator*() & noexcept { return *checked(*this); }
  const T& operator*() const& noexcept { return *checked(*this); }
  // A value, not a reference: it may be a range that a loop is over.
  T operator*() && noexcept { return std::move(*checked(*this)); }
  T* operator->() noexcept { return checked(*this); }
  const T* operator->() const noexcept { return checked(*this); }

  // The value; throws StatusError if there is none. Where exceptions are off, it writes the error
  // to standard error and aborts.
  T& value() & {
    require();
    return *value_;
  }
  const T& value() const& {
    require();
    return *value_;
  }
  T value() && {
    require();
    return *std::move(value_);
  }

  // The value, or `other` if there is none.
  template <class U>
  T value_or(U&& other) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return ok() ? *std::move(value_) : static_cast<T>(std::forward<U>(other));
  }

  // f(value), which is a Result or a Status; an error is passed on instead.
  template <class F>
  auto and_then(F&& f) const& {
    return chained(*this, std::forward<F>(f));
  }
  template <class F>
  auto and_then(F&& f) && {
    return chained(std::move(*this), std::forward<F>(f));
  }
  // A Result of f(value); an error is passed on instead.
  template <class F>
  auto transform(F&& f) const& {
    return mapped(*this, std::forward<F>(f));
  }
  template <class F>
  auto transform(F&& f) && {
    return mapped(std::move(*this), std::forward<F>(f));
  }

 private:
  template <class Self>
  static auto* checked(Self& self) noexcept {
    if (!self.ok()) abort_with(self.status_);
    return &*self.value_;
  }
  template <class Self, class F>
  static auto chained(Self&& self, F&& f) {
    using Next = std::invoke_result_t<F, decltype(*std::forward<Self>(self).value_)>;
    if (!self.ok()) return Next(std::forward<Self>(self).status_);
    return std::invoke(std::forward<F>(f), *std::forward<Self>(self).value_);
  }
  template <class Self, class F>
  static auto mapped(Self&& self, F&& f) {
    using Next = Result<
        std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Self>(self).value_)>>>;
    if (!self.ok()) return Next(std::forward<Self>(self).status_);
    return Next(std::invoke(std::forward<F>(f), *std::forward<Self>(self).value_));
  }
  void require() const {
    if (ok()) return;
#if defined(__cpp_exceptions)
    throw StatusError(status_);
#else
    abort_with(status_);
#endif
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace softneuro
