// Which steps of a plan stay on a device.
#pragma once

#include "core/plan/plan_impl.h"

namespace softneuro {

// Whether the step touches nothing but memory of its device, and none that a caller binds.
// Precondition: memory is planned, and what is waited for is known.
bool stays_on_device(const PlanImpl& plan, const Step& step);
// Fills PlanImpl::segments.
void set_segments(PlanImpl& plan);

}  // namespace softneuro
