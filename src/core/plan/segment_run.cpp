#include "core/plan/segment_run.h"

#include "core/base/error.h"

namespace softneuro {

Status SegmentRun::run() {
  if (state_ == State::ran_once)
    if (const Status status = record(); !status.ok()) give_up(status);
  if (state_ == State::recorded) {
    const Status status = stream_.play(*recording_);
    if (status.ok()) return {};
    give_up(status);
  }
  SN_RETURN_IF_ERROR(put_in_());
  if (state_ == State::fresh) state_ = State::ran_once;
  return {};
}

Status SegmentRun::record() {
  const Status begun = stream_.begin_recording();
  if (begun.code() == StatusCode::unsupported) {  // no line for what no session has on this device
    state_ = State::given_up;
    return {};
  }
  SN_RETURN_IF_ERROR(begun);
  const Status status = put_in_();
  Result<std::unique_ptr<Recording>> recording = stream_.end_recording();
  SN_RETURN_IF_ERROR(status);
  SN_ASSIGN_OR_RETURN(recording_, std::move(recording));
  state_ = State::recorded;
  return {};
}

void SegmentRun::give_up(const Status& why) {
  state_ = State::given_up;
  recording_.reset();
  plan_.runtime->log(
      LogLevel::warning,
      fmt::format("the layers '{}' to '{}' cannot be recorded on {}, and are put in one by one in "
                  "each run of this session: {}",
                  plan_.steps[segment_.first].layer->name, plan_.steps[segment_.last].layer->name,
                  plan_.devices[segment_.device].id.c_str(), why.message()));
}

}  // namespace softneuro
