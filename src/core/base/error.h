// Short ways to make and pass on a Status inside the library.
#pragma once

#include <fmt/format.h>

#include <new>

#include "softneuro/status.h"

namespace softneuro {

// As make_error(), with the arguments gathered.
SN_INTREE Status formatted_error(StatusCode code, fmt::string_view format,
                                 fmt::format_args args) noexcept;

// These allocate, but throw nothing: see Status.
template <class... A>
Status make_error(StatusCode code, fmt::format_string<A...> format, A&&... args) noexcept {
  return formatted_error(code, format, fmt::make_format_args(args...));
}
template <class... A>
Status invalid_argument(fmt::format_string<A...> format, A&&... args) noexcept {
  return make_error(StatusCode::invalid_argument, format, std::forward<A>(args)...);
}
template <class... A>
Status invalid_model(fmt::format_string<A...> format, A&&... args) noexcept {
  return make_error(StatusCode::invalid_model, format, std::forward<A>(args)...);
}
template <class... A>
Status unsupported(fmt::format_string<A...> format, A&&... args) noexcept {
  return make_error(StatusCode::unsupported, format, std::forward<A>(args)...);
}
template <class... A>
Status internal_error(fmt::format_string<A...> format, A&&... args) noexcept {
  return make_error(StatusCode::internal, format, std::forward<A>(args)...);
}

// Calls f() and turns an exception (in practice std::bad_alloc out of a container) into a Status,
// so that none leaves the library. f returns Status or Result<T>.
template <class F>
auto guarded(F&& f) noexcept -> decltype(f()) {
#if defined(__cpp_exceptions)
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, "out of memory: the heap is exhausted");
  } catch (const std::exception& e) {
    return Status(StatusCode::internal, e.what());
  }
#else
  return f();
#endif
}

}  // namespace softneuro

#define SN_CONCAT_(a, b) a##b
#define SN_CONCAT(a, b) SN_CONCAT_(a, b)

// return on error
#define SN_RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                   \
    if (::softneuro::Status sn_status = (expression); !sn_status.ok()) return sn_status; \
  } while (false)

// SN_ASSIGN_OR_RETURN(auto x, f()): x takes the value, or the error is returned.
#define SN_ASSIGN_OR_RETURN(declaration, expression) \
  SN_ASSIGN_OR_RETURN_(SN_CONCAT(sn_result_, __LINE__), declaration, expression)
#define SN_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return result.status();                   \
  declaration = *std::move(result)
