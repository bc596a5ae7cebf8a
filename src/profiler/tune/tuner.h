// Tuning, stage by stage: candidates, unit profiles, the search inside the net, finalists (the
// SoftNeuro paper, sections IV and V; docs/internals/tuner.md).
#pragma once

#include "profiler/tune/tune_job.h"

namespace softneuro {

// The fastest path that keeps the limits, verified. TuneReport::within_limit says whether the error
// limit is kept: where no path keeps it, the fastest is given. unsupported where max_memory is too
// little for all plans, cancelled, or the error of what could not be run.
SN_INTREE Result<TuneResult> tune(const TuneJob& job);

}  // namespace softneuro
