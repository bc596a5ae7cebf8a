// A segment of a plan in one session.
#pragma once

#include <functional>
#include <memory>

#include "core/plan/plan_impl.h"

namespace softneuro {

// Its first run puts the steps in one by one: devices load code with the first launch of a kernel,
// which cannot be recorded. The second one records them, and plays that; later ones play it. Where
// anything of that fails, the steps are put in one by one for good, and a line in the log says so.
class SegmentRun {
 public:
  // All outlive this object. `put_in` puts the steps into the stream.
  SegmentRun(const PlanImpl& plan, const Segment& segment, Stream& stream,
             std::function<Status()> put_in)
      : plan_(plan), segment_(segment), stream_(stream), put_in_(std::move(put_in)) {}

  const Segment& segment() const { return segment_; }
  // The work of the steps is in the stream afterwards. Errors: those of the steps.
  Status run();

 private:
  enum class State { fresh, ran_once, recorded, given_up };

  Status record();
  void give_up(const Status& why);

  const PlanImpl& plan_;
  const Segment& segment_;
  Stream& stream_;
  std::function<Status()> put_in_;
  State state_ = State::fresh;
  std::unique_ptr<Recording> recording_;
};

}  // namespace softneuro
