// sn_session and sn_cancel.
#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"

namespace softneuro::capi {
namespace {

Result<NamedDevices> named_devices(const sn_tensor_place* places, std::size_t count) {
  NamedDevices named;
  if (places == nullptr && count > 0) return invalid_argument("sn_session_options.places is null");
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(const sn_tensor_place place, read(element(places, i), "sn_tensor_place"));
    if (place.name == nullptr || place.device == nullptr)
      return invalid_argument("sn_session_options.places[{}] has no name or no device", i);
    SN_ASSIGN_OR_RETURN(const DeviceId device, device_from(place.device));
    named.emplace(place.name, device);
  }
  return named;
}

Status create(const sn_net& net, const sn_shape* shapes, std::size_t shape_count,
              const sn_session_options& options, sn_session** out) {
  SN_ASSIGN_OR_RETURN(const NamedShapes named, named_shapes(shapes, shape_count));
  SN_ASSIGN_OR_RETURN(const auto extra,
                      texts_from(options.extra_outputs, options.extra_output_count,
                                 "sn_session_options.extra_outputs"));
  SN_ASSIGN_OR_RETURN(auto allocator, host_allocator(options.allocator));
  SN_ASSIGN_OR_RETURN(NamedDevices devices, named_devices(options.places, options.place_count));
  SN_ASSIGN_OR_RETURN(auto plan, net.net.plan(named, extra, request_of(options.cancel), devices));
  SessionOptions cpp;
  cpp.allocator = allocator.get();
  SN_ASSIGN_OR_RETURN(Session session, Session::create(std::move(plan), cpp));
  const std::size_t inputs = session.plan().inputs().size();
  const std::size_t outputs = session.plan().outputs().size();
  *out = new sn_session{net.host,
                        net.net,
                        extra,
                        std::move(devices),
                        std::move(allocator),
                        std::move(session),
                        std::vector<Tensor>(inputs),
                        std::vector<Tensor>(outputs)};
  return {};
}

// Reads element `index`, whose name, if it has one, must be that of its place.
Result<sn_tensor> read_tensor(const sn_tensor* views, std::size_t index, const TensorInfo& info) {
  SN_ASSIGN_OR_RETURN(sn_tensor view, read(element(views, index), "sn_tensor"));
  if (view.name != nullptr && info.name != view.name)
    return invalid_argument(
        "tensor '{}' is given where the session expects '{}': pass tensors in the session's order, "
        "or bind them by name",
        view.name, info.name);
  view.name = info.name.c_str();
  return view;
}

// Binds a tensor to the input or output of its name.
Status bind(Session& session, const sn_tensor* tensor, bool is_output) {
  if (tensor == nullptr) return invalid_argument("the tensor is null");
  SN_ASSIGN_OR_RETURN(const sn_tensor view, read(tensor, "sn_tensor"));
  if (view.name == nullptr) return invalid_argument("the tensor has no name");
  if (is_output && view.data == nullptr) return session.set_output(view.name, {});
  SN_ASSIGN_OR_RETURN(const Tensor cpp, tensor_from(view, is_output));
  return is_output ? session.set_output(view.name, cpp) : session.set_input(view.name, cpp);
}

Status run(sn_session& session, const sn_tensor* inputs, std::size_t input_count,
           sn_tensor* outputs, std::size_t output_count, const sn_run_options* given) {
  const auto input_infos = session.session.plan().inputs();
  const auto output_infos = session.session.plan().outputs();
  if (input_count != input_infos.size() || (inputs == nullptr && input_count > 0))
    return invalid_argument("{} inputs are given, the session takes {}",
                            inputs == nullptr ? 0 : input_count, input_infos.size());
  if (output_count != output_infos.size() || (outputs == nullptr && output_count > 0))
    return invalid_argument("there is room for {} outputs, the session gives {}",
                            outputs == nullptr ? 0 : output_count, output_infos.size());
  SN_ASSIGN_OR_RETURN(const RunOptions options, run_options(given));
  for (std::size_t i = 0; i < input_count; ++i) {
    SN_ASSIGN_OR_RETURN(const sn_tensor view, read_tensor(inputs, i, input_infos[i]));
    SN_ASSIGN_OR_RETURN(session.inputs[i], tensor_from(view, false));
  }
  for (std::size_t i = 0; i < output_count; ++i) {
    SN_ASSIGN_OR_RETURN(const sn_tensor view, read_tensor(outputs, i, output_infos[i]));
    session.outputs[i] = Tensor();
    if (view.data == nullptr) continue;
    SN_ASSIGN_OR_RETURN(session.outputs[i], tensor_from(view, true));
  }
  SN_RETURN_IF_ERROR(session.session.run(session.inputs, session.outputs, options));
  for (std::size_t i = 0; i < output_count; ++i)
    SN_RETURN_IF_ERROR(write(view_of(session.outputs[i], output_infos[i].name.c_str()),
                             element(outputs, i), "sn_tensor"));
  return {};
}

}  // namespace

Result<RunOptions> run_options(const sn_run_options* given) {
  SN_ASSIGN_OR_RETURN(const sn_run_options options, read(given, "sn_run_options"));
  RunOptions result;
  result.cancel = request_of(options.cancel);
  // Two pointers: std::function holds them without allocating.
  if (options.trace != nullptr)
    result.trace = [trace = options.trace, context = options.trace_context](const StepTrace& s) {
      const sn_step_trace step{sizeof(sn_step_trace), s.index,   s.count,    s.layer,
                               s.layer_type,          s.routine, s.begin_ns, s.end_ns};
      trace(context, &step);
    };
  return result;
}

}  // namespace softneuro::capi

using namespace softneuro;
using namespace softneuro::capi;

sn_status sn_session_create(const sn_net* net, const sn_shape* shapes, size_t shape_count,
                            const sn_session_options* options, sn_session** session) {
  return call_for(session, "session", [&]() -> Status {
    if (net == nullptr) return invalid_argument("the net is null");
    SN_ASSIGN_OR_RETURN(const sn_session_options known, read(options, "sn_session_options"));
    return create(*net, shapes, shape_count, known, session);
  });
}

void sn_session_free(sn_session* session) {
  delete session;
}

size_t sn_session_input_count(const sn_session* session) {
  return session == nullptr ? 0 : session->session.plan().inputs().size();
}

size_t sn_session_output_count(const sn_session* session) {
  return session == nullptr ? 0 : session->session.plan().outputs().size();
}

sn_status sn_session_input_info(const sn_session* session, size_t index, sn_tensor_info* info) {
  return call_on(session, "the session", [&] {
    return write_info(session->session.plan().inputs(), index, "input", "session", info);
  });
}

sn_status sn_session_output_info(const sn_session* session, size_t index, sn_tensor_info* info) {
  return call_on(session, "the session", [&] {
    return write_info(session->session.plan().outputs(), index, "output", "session", info);
  });
}

sn_status sn_session_memory_report(const sn_session* session, sn_memory_report* report) {
  return call_on(session, "the session", [&]() -> Status {
    MemoryReport cpp = session->session.plan().memory_report();
    cpp.dynamic = session->session.dynamic_bytes();
    return write_report(cpp, report);
  });
}

sn_status sn_session_run(sn_session* session, const sn_tensor* inputs, size_t input_count,
                         sn_tensor* outputs, size_t output_count, const sn_run_options* options) {
  return call_on(session, "the session", [&] {
    return capi::run(*session, inputs, input_count, outputs, output_count, options);
  });
}

sn_status sn_session_set_input(sn_session* session, const sn_tensor* tensor) {
  return call_on(session, "the session", [&] { return bind(session->session, tensor, false); });
}

sn_status sn_session_set_output(sn_session* session, const sn_tensor* tensor) {
  return call_on(session, "the session", [&] { return bind(session->session, tensor, true); });
}

sn_status sn_session_run_bound(sn_session* session, const sn_run_options* options) {
  return call_on(session, "the session", [&]() -> Status {
    SN_ASSIGN_OR_RETURN(const RunOptions cpp, run_options(options));
    return session->session.run(cpp);
  });
}

sn_status sn_session_run_async(sn_session* session, const sn_run_options* options) {
  return call_on(session, "the session", [&]() -> Status {
    SN_ASSIGN_OR_RETURN(const RunOptions cpp, run_options(options));
    return session->session.run_async(cpp);
  });
}

sn_status sn_session_wait(sn_session* session) {
  return call_on(session, "the session", [&] { return session->session.wait(); });
}

sn_status sn_session_output(const sn_session* session, const char* name, sn_tensor* tensor) {
  return call_on(session, "the session", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    SN_ASSIGN_OR_RETURN(const Tensor output, session->session.output(name));
    for (const TensorInfo& info : session->session.plan().outputs())
      if (info.name == name) return write(view_of(output, info.name.c_str()), tensor, "sn_tensor");
    return internal_error("the plan has no output '{}'", name);
  });
}

sn_status sn_session_set_shapes(sn_session* session, const sn_shape* shapes, size_t shape_count,
                                const sn_cancel* cancel) {
  return call_on(session, "the session", [&]() -> Status {
    SN_ASSIGN_OR_RETURN(const NamedShapes named, named_shapes(shapes, shape_count));
    SN_ASSIGN_OR_RETURN(auto plan, session->net.plan(named, session->extra_outputs,
                                                     request_of(cancel), session->devices));
    return session->session.set_plan(std::move(plan));
  });
}

sn_status sn_cancel_create(sn_cancel** cancel) {
  return call_for(cancel, "cancel", [&]() -> Status {
    *cancel = new sn_cancel;
    return {};
  });
}

void sn_cancel_request(sn_cancel* cancel) {
  if (cancel != nullptr) cancel->requested.store(true, std::memory_order_relaxed);
}

void sn_cancel_reset(sn_cancel* cancel) {
  if (cancel != nullptr) cancel->requested.store(false, std::memory_order_relaxed);
}

void sn_cancel_free(sn_cancel* cancel) {
  delete cancel;
}
