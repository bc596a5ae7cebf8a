#include "core/plan/device_trace.h"

#include "core/base/error.h"

namespace softneuro {

Status DeviceTrace::add(Stream& stream, const StepTrace& trace,
                        const std::function<Status()>& put_in) {
  const auto add_event = [&]() -> Status {
    SN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceEvent> event, stream.record());
    events_.push_back(std::move(event));
    return {};
  };
  stream_ = &stream;
  if (events_.empty()) SN_RETURN_IF_ERROR(add_event());
  SN_RETURN_IF_ERROR(put_in());
  SN_RETURN_IF_ERROR(add_event());
  traces_.push_back(trace);
  return {};
}

Status DeviceTrace::report(const RunOptions& options, Cancellation& cancellation) {
  if (is_empty()) return {};
  SN_RETURN_IF_ERROR(stream_->synchronize());
  const std::vector<StepTrace> traces = std::exchange(traces_, {});
  const std::vector<std::unique_ptr<DeviceEvent>> events = std::exchange(events_, {});
  std::int64_t now = traces.front().begin_ns;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    SN_ASSIGN_OR_RETURN(const double us, stream_->microseconds(*events[i], *events[i + 1]));
    StepTrace trace = traces[i];
    trace.begin_ns = now;
    now += static_cast<std::int64_t>(us * 1e3);
    trace.end_ns = now;
    options.trace(trace);
    if (cancellation.requested()) return cancelled();
  }
  return {};
}

}  // namespace softneuro
