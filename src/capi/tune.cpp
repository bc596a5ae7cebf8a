// sn_net_tune and sn_tuning.
#include <cmath>
#include <span>

#include "capi/error.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "softneuro/c_tune.h"

namespace softneuro::capi {
namespace {

// `of`: " for sample 3", or "".
Status callback_failed(const char* name, sn_status status, const std::string& of = {}) {
  const auto code = static_cast<StatusCode>(status);
  return Status(code, fmt::format("the {} callback returned {}{}", name, to_string(code), of));
}

// One tensor for each input, over the caller's memory.
Result<NamedTensors> sample_from(std::span<const TensorInfo> inputs, const sn_tensor* tensors) {
  NamedTensors sample;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    SN_ASSIGN_OR_RETURN(sn_tensor view, read(element(tensors, j), "sn_tensor"));
    view.name = inputs[j].name.c_str();
    SN_ASSIGN_OR_RETURN(Tensor tensor, tensor_from(view, false));
    sample.emplace(inputs[j].name, std::move(tensor));
  }
  return sample;
}

Result<std::vector<NamedTensors>> samples_from(const Net& net, const sn_tensor* tensors,
                                               std::size_t count, const char* what) {
  std::vector<NamedTensors> samples;
  if (count > 0 && tensors == nullptr) return invalid_argument("{} is null", what);
  const auto inputs = net.inputs();
  for (std::size_t i = 0; i < count; ++i) {
    auto sample = sample_from(inputs, element(tensors, i * inputs.size()));
    if (!sample.ok()) return Status(sample.status()).with_context(fmt::format("{}[{}]", what, i));
    samples.push_back(*std::move(sample));
  }
  return samples;
}

// Copies what the callback gives, which is valid until its next call.
Result<SampleSource> source_from(const Net& net, const sn_sample_source* wanted) {
  SN_ASSIGN_OR_RETURN(const sn_sample_source given, read(wanted, "sn_sample_source"));
  SampleSource source;
  source.count = given.count;
  if (given.make == nullptr) return source;
  source.make = [given, inputs = net.inputs()](std::size_t index) -> Result<NamedTensors> {
    std::vector<sn_tensor> views(inputs.size(), SN_TENSOR_INIT);
    const sn_status status = given.make(given.context, index, views.data(), views.size());
    if (status != SN_OK)
      return callback_failed("sample", status, fmt::format(" for sample {}", index));
    for (sn_tensor& view : views) view.struct_size = sizeof(view);
    SN_ASSIGN_OR_RETURN(NamedTensors sample, sample_from(inputs, views.data()));
    for (auto& [name, tensor] : sample) {
      SN_ASSIGN_OR_RETURN(tensor, tensor.clone());
    }
    return sample;
  };
  return source;
}

// One of three values, which are E's.
template <class E>
Result<E> enum_from(std::int32_t value, const char* name, const char* expected) {
  if (value >= 0 && value <= 2) return static_cast<E>(value);
  return invalid_argument("{} is {}: expected {}", name, value, expected);
}
static_assert(SN_RANGE_MSE == static_cast<int>(RangeChoice::mse));
static_assert(SN_RANGE_PERCENTILE == static_cast<int>(RangeChoice::percentile));
static_assert(SN_RANGE_MIN_MAX == static_cast<int>(RangeChoice::min_max));
static_assert(SN_METRIC_RELATIVE_RMS == static_cast<int>(ErrorMetric::relative_rms));
static_assert(SN_METRIC_COSINE == static_cast<int>(ErrorMetric::cosine));
static_assert(SN_METRIC_TOP1 == static_cast<int>(ErrorMetric::top1));

// Outputs in the order of the net's, as the callback wants them.
Result<double> score_of(const sn_tune_criteria& given, std::span<const TensorInfo> outputs,
                        const std::vector<NamedTensors>& samples) {
  std::vector<sn_tensor> tensors;
  for (const NamedTensors& sample : samples)
    for (const TensorInfo& info : outputs)
      tensors.push_back(view_of(sample.at(info.name), info.name.c_str()));
  double score = 0;
  const sn_status status =
      given.score(given.score_context, tensors.data(), outputs.size(), samples.size(), &score);
  if (status != SN_OK) return callback_failed("score", status);
  return score;
}

Result<TuneSelection> selection_from(const sn_tune_selection* wanted) {
  SN_ASSIGN_OR_RETURN(const sn_tune_selection given, read(wanted, "sn_tune_selection"));
  TuneSelection selection;
  selection.strict = given.strict != 0;
  SN_ASSIGN_OR_RETURN(selection.avoid, texts_from(given.avoid, given.avoid_count, "avoid"));
  SN_ASSIGN_OR_RETURN(const auto pins, texts_from(given.pin, 2 * given.pin_count, "pin"));
  for (std::size_t i = 0; i < pins.size(); i += 2) selection.pin[pins[i]] = pins[i + 1];
  return selection;
}

Result<TuneData> data_from(const Net& net, const sn_tune_data* wanted) {
  SN_ASSIGN_OR_RETURN(const sn_tune_data given, read(wanted, "sn_tune_data"));
  TuneData data;
  SN_ASSIGN_OR_RETURN(data.calibration_source, source_from(net, given.calibration_source));
  SN_ASSIGN_OR_RETURN(
      data.range,
      enum_from<RangeChoice>(given.range, "range",
                             "SN_RANGE_MSE (0), SN_RANGE_PERCENTILE (1) or SN_RANGE_MIN_MAX (2)"));
  SN_ASSIGN_OR_RETURN(data.validation,
                      samples_from(net, given.validation, given.validation_count, "validation"));
  SN_ASSIGN_OR_RETURN(data.validation_source, source_from(net, given.validation_source));
  return data;
}

Result<TuneCriteria> criteria_from(const Net& net, const sn_tune_criteria* wanted) {
  SN_ASSIGN_OR_RETURN(const sn_tune_criteria given, read(wanted, "sn_tune_criteria"));
  TuneCriteria criteria;
  SN_ASSIGN_OR_RETURN(
      criteria.metric,
      enum_from<ErrorMetric>(
          given.metric, "metric",
          "SN_METRIC_RELATIVE_RMS (0), SN_METRIC_COSINE (1) or SN_METRIC_TOP1 (2)"));
  if (given.score != nullptr)
    criteria.score = [given, outputs = net.outputs()](const std::vector<NamedTensors>& samples) {
      return score_of(given, outputs, samples);
    };
  criteria.max_memory = given.max_memory;
  criteria.measure_sensitivity = given.measure_sensitivity != 0;
  return criteria;
}

Result<TuneEffort> effort_from(const sn_tune_effort* wanted) {
  SN_ASSIGN_OR_RETURN(const sn_tune_effort given, read(wanted, "sn_tune_effort"));
  if (given.rounds < 0 || given.finalists < 0)
    return invalid_argument("rounds is {} and finalists {}: neither may be negative", given.rounds,
                            given.finalists);
  TuneEffort effort;
  if (given.rounds > 0) effort.rounds = given.rounds;
  if (given.finalists > 0) effort.finalists = given.finalists;
  effort.exhaustive = given.exhaustive != 0;
  effort.pin_threads = given.pin_threads != 0;
  return effort;
}

Result<TuneOptions> tune_options(const Net& net, const sn_tune_options& given) {
  TuneOptions options;
  if (given.schema_count > 0) {
    SN_ASSIGN_OR_RETURN(options.schemas, texts_from(given.schemas, given.schema_count, "schemas"));
  }
  SN_ASSIGN_OR_RETURN(options.shapes, named_shapes(given.shapes, given.shape_count));
  options.threads = given.threads;
  SN_ASSIGN_OR_RETURN(options.calibration,
                      samples_from(net, given.calibration, given.calibration_count, "calibration"));
  if (given.max_error != 0) options.max_error = given.max_error;
  if (!(given.time_limit >= 0) || given.time_limit > 1e9)
    return invalid_argument("time_limit is {} seconds: expected 0 (no limit) to 1e9",
                            given.time_limit);
  options.time_limit = std::chrono::milliseconds(std::llround(given.time_limit * 1e3));
  SN_ASSIGN_OR_RETURN(options.selection, selection_from(given.selection));
  SN_ASSIGN_OR_RETURN(options.data, data_from(net, given.data));
  SN_ASSIGN_OR_RETURN(options.criteria, criteria_from(net, given.criteria));
  SN_ASSIGN_OR_RETURN(options.effort, effort_from(given.effort));
  SN_ASSIGN_OR_RETURN(const sn_tune_cache cache, read(given.cache, "sn_tune_cache"));
  if (cache.folder != nullptr) options.cache.folder = cache.folder;
  options.cache.disabled = cache.disabled != 0;
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
  std::atomic<bool> never = false;
  std::atomic<bool>& cancel = given.cancel != nullptr ? given.cancel->requested : never;
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

sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tuning** tuning) {
  if (tuning != nullptr) *tuning = nullptr;
  return call([&]() -> Status {
    auto made = std::make_unique<sn_tuning>();
    SN_ASSIGN_OR_RETURN(made->report, tune(net, options));
    for (const TunedLayer& layer : made->report.layers)
      made->sources.push_back(views_of(layer.sources));
    if (tuning != nullptr) *tuning = made.release();
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
