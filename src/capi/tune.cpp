// sn_net_tune.
#include <cmath>

#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "softneuro/c_tune.h"

namespace softneuro::capi {
namespace {

Status add_samples(const Net& net, const sn_tune_options& given, TuneOptions& options) {
  if (given.sample_count == 0) return {};
  if (given.samples == nullptr) return invalid_argument("the samples are null");
  const auto infos = net.inputs();
  for (std::size_t i = 0; i < given.sample_count; ++i) {
    NamedTensors sample;
    for (std::size_t j = 0; j < infos.size(); ++j) {
      SN_ASSIGN_OR_RETURN(const sn_tensor view,
                          read(element(given.samples, i * infos.size() + j), "sn_tensor"));
      SN_ASSIGN_OR_RETURN(Tensor tensor, tensor_from(view, false));
      sample.emplace(infos[j].name, std::move(tensor));
    }
    options.calibration.push_back(std::move(sample));
  }
  return {};
}

Result<TuneOptions> tune_options(const Net& net, const sn_tune_options& given) {
  TuneOptions options;
  if (given.schema_count > 0) {
    SN_ASSIGN_OR_RETURN(options.schemas, texts_from(given.schemas, given.schema_count, "schemas"));
  }
  SN_ASSIGN_OR_RETURN(options.shapes, named_shapes(given.shapes, given.shape_count));
  SN_RETURN_IF_ERROR(add_samples(net, given, options));
  if (!(given.time_limit >= 0) || given.time_limit > 1e9)
    return invalid_argument("time_limit is {} seconds", given.time_limit);
  options.time_limit = std::chrono::milliseconds(std::llround(given.time_limit * 1e3));
  options.max_error = given.max_error;
  options.threads = given.threads;
  options.strict = given.strict != 0;
  if (given.cache != nullptr) {
    options.use_cache = *given.cache != '\0';
    options.cache = given.cache;
  }
  return options;
}

Status tune(sn_net* net, const sn_tune_options* wanted, sn_tune_report* out) {
  if (net == nullptr) return invalid_argument("the net is null");
  SN_ASSIGN_OR_RETURN(const sn_tune_options given, read(wanted, "sn_tune_options"));
  SN_ASSIGN_OR_RETURN(TuneOptions options, tune_options(net->net, given));
  std::atomic<bool> cancel = false;
  if (given.progress != nullptr) {
    options.cancel = &cancel;
    options.progress = [&](const TuneProgress& p) {
      if (given.progress(given.progress_context, p.stage, p.done, p.total, p.layer, p.candidate) !=
          0)
        cancel = true;
    };
  }
  SN_ASSIGN_OR_RETURN(const TuneReport report, net->net.tune(options));
  if (out == nullptr) return {};
  sn_tune_report row{};
  row.struct_size = sizeof row;
  row.untuned_us = report.untuned_us;
  row.tuned_us = report.tuned_us;
  row.seconds = report.seconds;
  row.error = report.error;
  row.qint8_share = report.qint8_share;
  row.measured = report.measured;
  row.from_cache = report.from_cache;
  row.difference = report.difference;
  row.proof_inputs = report.proof_inputs;
  return write(row, out, "sn_tune_report");
}

}  // namespace
}  // namespace softneuro::capi

sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tune_report* report) {
  return softneuro::capi::call([&] { return softneuro::capi::tune(net, options, report); });
}
