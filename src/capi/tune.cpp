// sn_net_tune and sn_tuning.
#include <cmath>
#include <span>

#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "softneuro/c_tune.h"

namespace softneuro::capi {
namespace {

Result<std::vector<NamedTensors>> samples_from(const Net& net, const sn_tensor* tensors,
                                               std::size_t count, const char* what) {
  std::vector<NamedTensors> samples;
  if (count > 0 && tensors == nullptr) return invalid_argument("{} is null", what);
  const auto infos = net.inputs();
  for (std::size_t i = 0; i < count; ++i) {
    NamedTensors sample;
    for (std::size_t j = 0; j < infos.size(); ++j) {
      SN_ASSIGN_OR_RETURN(sn_tensor view,
                          read(element(tensors, i * infos.size() + j), "sn_tensor"));
      view.name = infos[j].name.c_str();
      Result<Tensor> tensor = tensor_from(view, false);
      if (!tensor.ok()) return Status(tensor.status()).with_context(fmt::format("{}[{}]", what, i));
      sample.emplace(infos[j].name, std::move(*tensor));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// Copies what the callback gives, which is valid until its next call.
SampleSource source_from(const Net& net, sn_sample_callback make, void* context,
                         std::size_t count) {
  SampleSource source;
  source.count = count;
  if (make == nullptr) return source;
  source.make = [make, context, infos = net.inputs()](std::size_t index) -> Result<NamedTensors> {
    std::vector<sn_tensor> views(infos.size(), sn_tensor SN_TENSOR_INIT);
    const sn_status status = make(context, index, views.data(), views.size());
    if (status != SN_OK)
      return Status(static_cast<StatusCode>(status),
                    fmt::format("the sample callback returned {} for sample {}",
                                to_string(static_cast<StatusCode>(status)), index));
    NamedTensors sample;
    for (std::size_t j = 0; j < infos.size(); ++j) {
      views[j].name = infos[j].name.c_str();
      SN_ASSIGN_OR_RETURN(const Tensor tensor, tensor_from(views[j], false));
      SN_ASSIGN_OR_RETURN(Tensor own, tensor.clone());
      sample.emplace(infos[j].name, std::move(own));
    }
    return sample;
  };
  return source;
}

static_assert(SN_RANGE_MSE == static_cast<int>(RangeChoice::mse));
static_assert(SN_RANGE_PERCENTILE == static_cast<int>(RangeChoice::percentile));
static_assert(SN_RANGE_MIN_MAX == static_cast<int>(RangeChoice::min_max));
Result<RangeChoice> range_from(std::int32_t range) {
  if (range >= SN_RANGE_MSE && range <= SN_RANGE_MIN_MAX) return static_cast<RangeChoice>(range);
  return invalid_argument(
      "range is {}: expected SN_RANGE_MSE (0), SN_RANGE_PERCENTILE (1) or SN_RANGE_MIN_MAX (2)",
      range);
}

static_assert(SN_METRIC_RELATIVE_RMS == static_cast<int>(ErrorMetric::relative_rms));
static_assert(SN_METRIC_COSINE == static_cast<int>(ErrorMetric::cosine));
static_assert(SN_METRIC_TOP1 == static_cast<int>(ErrorMetric::top1));
Result<ErrorMetric> metric_from(std::int32_t metric) {
  if (metric >= SN_METRIC_RELATIVE_RMS && metric <= SN_METRIC_TOP1)
    return static_cast<ErrorMetric>(metric);
  return invalid_argument(
      "metric is {}: expected SN_METRIC_RELATIVE_RMS (0), SN_METRIC_COSINE (1) or SN_METRIC_TOP1 "
      "(2)",
      metric);
}

// Outputs in the order of the net's, as the callback wants them.
Result<double> score_of(const sn_tune_options& given, std::span<const TensorInfo> outputs,
                        const std::vector<NamedTensors>& answers) {
  std::vector<sn_tensor> tensors;
  for (const NamedTensors& answer : answers)
    for (const TensorInfo& info : outputs)
      tensors.push_back(view_of(answer.at(info.name), info.name.c_str()));
  double score = 0;
  const sn_status status =
      given.score(given.score_context, tensors.data(), outputs.size(), answers.size(), &score);
  if (status == SN_OK) return score;
  return Status(
      static_cast<StatusCode>(status),
      fmt::format("the score callback returned {}", to_string(static_cast<StatusCode>(status))));
}

Result<TuneOptions> tune_options(const Net& net, const sn_tune_options& given) {
  TuneOptions options;
  if (given.schema_count > 0) {
    SN_ASSIGN_OR_RETURN(options.schemas, texts_from(given.schemas, given.schema_count, "schemas"));
  }
  SN_ASSIGN_OR_RETURN(options.shapes, named_shapes(given.shapes, given.shape_count));
  SN_ASSIGN_OR_RETURN(options.calibration,
                      samples_from(net, given.samples, given.sample_count, "samples"));
  SN_ASSIGN_OR_RETURN(options.validation,
                      samples_from(net, given.validation, given.validation_count, "validation"));
  options.calibration_source =
      source_from(net, given.sample_source, given.sample_source_context, given.sample_source_count);
  options.validation_source = source_from(
      net, given.validation_source, given.validation_source_context, given.validation_source_count);
  SN_ASSIGN_OR_RETURN(options.range, range_from(given.range));
  SN_ASSIGN_OR_RETURN(options.avoid, texts_from(given.avoid, given.avoid_count, "avoid"));
  SN_ASSIGN_OR_RETURN(const auto pins, texts_from(given.pin, 2 * given.pin_count, "pin"));
  for (std::size_t i = 0; i < pins.size(); i += 2) options.pin[pins[i]] = pins[i + 1];
  if (!(given.time_limit >= 0) || given.time_limit > 1e9)
    return invalid_argument("time_limit is {} seconds: expected 0 (no limit) to 1e9",
                            given.time_limit);
  options.time_limit = std::chrono::milliseconds(std::llround(given.time_limit * 1e3));
  if (given.max_error != 0) options.max_error = given.max_error;
  SN_ASSIGN_OR_RETURN(options.metric, metric_from(given.metric));
  options.pin_threads = given.pin_threads != 0;
  options.measure_sensitivity = given.measure_sensitivity != 0;
  if (given.score != nullptr)
    options.score = [given, outputs = net.outputs()](const std::vector<NamedTensors>& answers) {
      return score_of(given, outputs, answers);
    };
  options.max_memory = given.max_memory;
  options.threads = given.threads;
  options.strict = given.strict != 0;
  if (given.rounds < 0 || given.finalists < 0)
    return invalid_argument("rounds is {} and finalists {}: neither may be negative", given.rounds,
                            given.finalists);
  if (given.rounds > 0) options.rounds = given.rounds;
  if (given.finalists > 0) options.finalists = given.finalists;
  options.exhaustive = given.exhaustive != 0;
  if (given.cache != nullptr) {
    options.use_cache = *given.cache != '\0';
    options.cache = given.cache;
  }
  return options;
}

sn_tune_report report_of(const TuneReport& report) {
  sn_tune_report row = SN_TUNE_REPORT_INIT;
  row.untuned_us = report.untuned_us;
  row.tuned_us = report.tuned_us;
  row.seconds = report.seconds;
  row.error = report.error;
  row.qint8_share = report.qint8_share;
  row.measured = report.measured;
  row.from_cache = report.from_cache;
  row.difference = report.difference;
  row.verification_inputs = report.verification_inputs;
  row.rejected = report.rejected;
  row.gap = report.gap;
  row.agreement = report.agreement;
  row.threads = report.threads;
  row.complete = report.complete;
  row.verified_on_samples = report.verified_on_samples;
  row.within_limit = report.within_limit;
  row.validation_samples = report.validation_samples;
  row.error_low = report.error_low;
  row.error_high = report.error_high;
  row.memory = report.memory;
  return row;
}

Result<TuneReport> tune(sn_net* net, const sn_tune_options* wanted) {
  if (net == nullptr) return invalid_argument("the net is null");
  SN_ASSIGN_OR_RETURN(const sn_tune_options given, read(wanted, "sn_tune_options"));
  SN_ASSIGN_OR_RETURN(TuneOptions options, tune_options(net->net, given));
  std::atomic<bool> own = false;
  std::atomic<bool>& cancel = given.cancel != nullptr ? given.cancel->requested : own;
  options.cancel = &cancel;
  if (given.progress != nullptr) {
    options.progress = [&](const TuneProgress& p) {
      if (given.progress(given.progress_context, p.stage, p.done, p.total, p.layer, p.candidate) !=
          0)
        cancel = true;
    };
  }
  return net->net.tune(options);
}

}  // namespace
}  // namespace softneuro::capi

struct sn_tuning {
  softneuro::TuneReport report;
  std::vector<std::vector<const char*>> sources;  // by layer
};

using namespace softneuro;
using namespace softneuro::capi;

sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tune_report* report) {
  return call([&]() -> Status {
    // A report that cannot be written is an error before anything is measured.
    if (report != nullptr)
      if (Status writable = check_struct(report, "sn_tune_report"); !writable.ok()) return writable;
    SN_ASSIGN_OR_RETURN(const TuneReport cpp, tune(net, options));
    return report == nullptr ? Status() : write(report_of(cpp), report, "sn_tune_report");
  });
}

sn_status sn_net_tune_in_detail(sn_net* net, const sn_tune_options* options, sn_tuning** tuning) {
  return call_for(tuning, "tuning", [&]() -> Status {
    auto made = std::make_unique<sn_tuning>();
    SN_ASSIGN_OR_RETURN(made->report, tune(net, options));
    for (const TunedLayer& layer : made->report.layers)
      made->sources.push_back(views_of(layer.sources));
    *tuning = made.release();
    return {};
  });
}

sn_status sn_tuning_report(const sn_tuning* tuning, sn_tune_report* report) {
  return call_on(tuning, "the tuning",
                 [&] { return write(report_of(tuning->report), report, "sn_tune_report"); });
}

const char* sn_tuning_machine(const sn_tuning* tuning) {
  return tuning == nullptr ? "" : tuning->report.machine.c_str();
}

size_t sn_tuning_layer_count(const sn_tuning* tuning) {
  return tuning == nullptr ? 0 : tuning->report.layers.size();
}

sn_status sn_tuning_layer(const sn_tuning* tuning, size_t index, sn_tuned_layer* layer) {
  return call_on(tuning, "the tuning", [&]() -> Status {
    const std::vector<TunedLayer>& layers = tuning->report.layers;
    if (index >= layers.size())
      return invalid_argument("there is no layer {}; the tuning has {}", index, layers.size());
    const TunedLayer& cpp = layers[index];
    sn_tuned_layer row = SN_TUNED_LAYER_INIT;
    row.layer = cpp.layer.c_str();
    row.type = cpp.type.c_str();
    row.routine = cpp.routine.c_str();
    row.params = cpp.params.c_str();
    row.formats = cpp.formats.c_str();
    row.sources = tuning->sources[index].data();
    row.source_count = tuning->sources[index].size();
    row.time_us = cpp.time_us;
    row.unit_us = cpp.unit_us;
    row.candidates = cpp.candidates;
    row.fallback = cpp.fallback;
    row.is_measured = cpp.is_measured;
    return write(row, layer, "sn_tuned_layer");
  });
}

size_t sn_tuning_not_chosen_count(const sn_tuning* tuning, size_t layer) {
  const bool known = tuning != nullptr && layer < tuning->report.layers.size();
  return known ? tuning->report.layers[layer].not_chosen.size() : 0;
}

sn_status sn_tuning_not_chosen(const sn_tuning* tuning, size_t layer, size_t index,
                               sn_not_chosen* not_chosen) {
  return call_on(tuning, "the tuning", [&]() -> Status {
    const std::size_t count = sn_tuning_not_chosen_count(tuning, layer);
    if (index >= count)
      return invalid_argument("there is no entry {} of layer {}, which has {}", index, layer,
                              count);
    const NotChosen& cpp = tuning->report.layers[layer].not_chosen[index];
    sn_not_chosen row = SN_NOT_CHOSEN_INIT;
    row.kind = cpp.kind.c_str();
    row.reason = to_string(cpp.reason);
    row.routine = cpp.routine.c_str();
    row.time_us = cpp.time_us;
    return write(row, not_chosen, "sn_not_chosen");
  });
}

size_t sn_tuning_sensitivity_count(const sn_tuning* tuning) {
  return tuning == nullptr ? 0 : tuning->report.sensitivity.size();
}

sn_status sn_tuning_sensitivity(const sn_tuning* tuning, size_t index,
                                sn_layer_sensitivity* sensitivity) {
  return call_on(tuning, "the tuning", [&]() -> Status {
    const std::vector<LayerSensitivity>& sensitivities = tuning->report.sensitivity;
    if (index >= sensitivities.size())
      return invalid_argument(
          "there is no entry {}; the effect of reduced precision was measured for {} layers", index,
          sensitivities.size());
    const LayerSensitivity& cpp = sensitivities[index];
    sn_layer_sensitivity row = SN_LAYER_SENSITIVITY_INIT;
    row.layer = cpp.layer.c_str();
    row.routine = cpp.routine.c_str();
    row.own_error = cpp.own_error;
    row.net_error = cpp.net_error;
    row.saved_us = cpp.saved_us;
    row.is_kept = cpp.is_kept;
    return write(row, sensitivity, "sn_layer_sensitivity");
  });
}

const char* sn_tuning_warning(const sn_tuning* tuning, size_t index) {
  const bool known = tuning != nullptr && index < tuning->report.warnings.size();
  return known ? tuning->report.warnings[index].c_str() : nullptr;
}

void sn_tuning_free(sn_tuning* tuning) {
  delete tuning;
}
