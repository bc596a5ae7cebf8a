// The times of steps in a row that stay on one device.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/base/workers.h"
#include "core/device/device.h"
#include "softneuro/session.h"

namespace softneuro {

// Puts events between the steps and waits once behind the last one: a wait at each step would leave
// the device without work until the next one is put in, which takes as long as a small step.
class DeviceTrace {
 public:
  bool is_empty() const { return traces_.empty(); }
  bool is_on(const Stream& stream) const { return stream_ == &stream; }
  // `put_in` puts the step into the stream: that of the steps before, if there are any.
  Status add(Stream& stream, const StepTrace& trace, const std::function<Status()>& put_in);
  // Waits, and reports all steps since the last time. cancelled, if a report asks for that.
  Status report(const RunOptions& options, Cancellation& cancellation);

 private:
  Stream* stream_ = nullptr;
  std::vector<StepTrace> traces_;
  std::vector<std::unique_ptr<DeviceEvent>> events_;  // before the first one and behind each
};

}  // namespace softneuro
