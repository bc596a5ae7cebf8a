// How C functions answer: a status now, the message on demand.
#pragma once

#include "core/base/error.h"
#include "softneuro/c_api.h"

namespace softneuro::capi {

// Keeps the message for sn_last_error() if `status` is an error. Gives its code.
SN_INTREE sn_status report(const Status& status) noexcept;

// Runs the body of a C function: f returns Status.
template <class F>
sn_status call(F&& f) noexcept {
  return report(guarded(f));
}
// The same of a function that works on a handle; `what` names it where it is null.
template <class F>
sn_status call_on(const void* handle, const char* what, F&& f) noexcept {
  return call([&]() -> Status {
    if (handle == nullptr) return invalid_argument("{} is null", what);
    return f();
  });
}
// The same of a function that makes a handle: `*out` is null unless f sets it.
template <class Handle, class F>
sn_status call_for(Handle** out, const char* name, F&& f) noexcept {
  return call([&]() -> Status {
    if (out == nullptr) return invalid_argument("the output pointer '{}' is null", name);
    *out = nullptr;
    return f();
  });
}

}  // namespace softneuro::capi
