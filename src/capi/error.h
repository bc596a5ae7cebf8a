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

}  // namespace softneuro::capi
