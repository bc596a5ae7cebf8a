// Session: the inputs and outputs that are bound by name, around a PlanRun.
#include "softneuro/session.h"

#include "core/base/error.h"
#include "core/plan/plan_run.h"

namespace softneuro {
namespace {

Result<std::size_t> index_of(std::span<const TensorInfo> infos, std::string_view name,
                             const char* what) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  return make_error(StatusCode::not_found, "the session has no {} '{}'; its {}s are {}", what, name,
                    what, names_of(infos));
}

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Plan> of, const SessionOptions& with)
      : plan(std::move(of)),
        options(with),
        bound_inputs(plan->inputs().size()),
        bound_outputs(plan->outputs().size()),
        results(plan->outputs().size()),
        run(impl_of(*plan), options.allocator != nullptr ? *options.allocator
                                                         : impl_of(*plan).runtime->allocator()) {}

  // An error while a run is in flight.
  Status check_idle() const {
    if (!in_flight) return {};
    return invalid_argument("a run of the session is in flight: call wait() first");
  }

  // Of a run on what is bound by name.
  Status begin(const RunOptions& run_options) {
    SN_RETURN_IF_ERROR(check_idle());
    has_results = false;
    for (std::size_t i = 0; i < bound_inputs.size(); ++i)
      if (bound_inputs[i].empty())
        return invalid_argument(
            "input '{}' is not set: bind it before the run (set_input, sn_session_set_input)",
            plan->inputs()[i].name);
    for (std::size_t o = 0; o < results.size(); ++o) results[o] = bound_outputs[o];
    SN_RETURN_IF_ERROR(run.begin(bound_inputs, results, run_options));
    in_flight = true;
    return {};
  }

  Status end() {
    if (!in_flight)
      return invalid_argument("no run of the session is in flight: call run_async() first");
    in_flight = false;
    SN_RETURN_IF_ERROR(run.end(results));
    has_results = true;
    return {};
  }

  const std::shared_ptr<const Plan> plan;
  const SessionOptions options;
  std::vector<Tensor> bound_inputs;   // by name; empty: not yet
  std::vector<Tensor> bound_outputs;  // empty: the session's memory
  std::vector<Tensor> results;        // of the last run on these
  bool has_results = false;
  bool in_flight = false;  // begin() without its end()
  PlanRun run;             // destroyed first: it waits for devices that read and write the others
};

// --- the public face ---------------------------------------------------------------------------

Session::Session(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(std::shared_ptr<const Plan> plan,
                                const SessionOptions& options) noexcept {
  return guarded([&]() -> Result<Session> {
    if (plan == nullptr)
      return invalid_argument("Session::create: the plan is null (did Net::plan fail?)");
    auto impl = std::make_unique<Impl>(std::move(plan), options);
    SN_RETURN_IF_ERROR(impl->run.init(nullptr));
    return Session(std::move(impl));
  });
}

Status Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_RETURN_IF_ERROR(impl_->run.begin(inputs, outputs, options));
    return impl_->run.end(outputs);
  });
}

Status Session::set_input(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t i, index_of(impl_->plan->inputs(), name, "input"));
    SN_RETURN_IF_ERROR(check_input(impl_of(*impl_->plan), i, tensor));
    impl_->bound_inputs[i] = tensor;
    return {};
  });
}

Status Session::set_output(std::string_view name, const Tensor& tensor) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->plan->outputs(), name, "output"));
    if (!tensor.empty()) SN_RETURN_IF_ERROR(check_output(impl_of(*impl_->plan), o, tensor));
    impl_->bound_outputs[o] = tensor;
    return {};
  });
}

Status Session::run(const RunOptions& options) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->begin(options));
    return impl_->end();
  });
}

Status Session::run_async(const RunOptions& options) noexcept {
  return guarded([&] { return impl_->begin(options); });
}

Status Session::wait() noexcept {
  return guarded([&] { return impl_->end(); });
}

Result<Tensor> Session::output(std::string_view name) const noexcept {
  return guarded([&]() -> Result<Tensor> {
    SN_ASSIGN_OR_RETURN(const std::size_t o, index_of(impl_->plan->outputs(), name, "output"));
    SN_RETURN_IF_ERROR(impl_->check_idle());
    if (!impl_->has_results)
      return invalid_argument(
          "output '{}' is not available yet: run the session on bound tensors first", name);
    return impl_->results[o];
  });
}

Status Session::set_plan(std::shared_ptr<const Plan> plan) noexcept {
  return guarded([&]() -> Status {
    SN_RETURN_IF_ERROR(impl_->check_idle());
    if (plan == nullptr)
      return invalid_argument("Session::set_plan: the plan is null (did Net::plan fail?)");
    if (plan == impl_->plan) return {};
    if (impl_of(*plan).runtime != impl_of(*impl_->plan).runtime)
      return invalid_argument(
          "Session::set_plan: the plan is of another net: create a session for it");
    auto next = std::make_unique<Impl>(std::move(plan), impl_->options);
    SN_RETURN_IF_ERROR(next->run.init(&impl_->run));
    impl_ = std::move(next);
    return {};
  });
}

const Plan& Session::plan() const noexcept {
  return *impl_->plan;
}

std::size_t Session::dynamic_bytes() const noexcept {
  return impl_->run.dynamic_bytes();
}

}  // namespace softneuro
