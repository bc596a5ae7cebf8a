// Net::tune: what the caller gives → a TuneJob → a tuned path in the net.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/workers.h"
#include "core/graph/graph_key.h"
#include "net/net_impl.h"
#include "passes/adopt_quantization.h"
#include "profiler/cache/loaded_code.h"
#include "profiler/cache/profile_cache.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/net_profile.h"
#include "profiler/select/candidates.h"
#include "profiler/tune/tuner.h"
#include "quantization/calibration.h"
#include "softneuro/net.h"
#include "verify/output_error.h"
#include "verify/synthetic_inputs.h"

namespace softneuro {
namespace {

using Warn = std::function<void(std::string)>;

// Whether a pattern asks for the type by its name.
bool names_type(const std::vector<std::string>& schemas, DataType type) {
  return std::any_of(schemas.begin(), schemas.end(), [&](const std::string& pattern) {
    return pattern.find(fmt::format(":{}", to_string(type))) != std::string::npos;
  });
}

bool has_type(const Graph& graph, DataType type) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).type == type) return true;
  return false;
}

// Whether 8-bit routines have anything to compute: ranges of tensors are known.
bool has_ranges(const Graph& graph) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).quantization && !graph.tensor(id).is_constant()) return true;
  return false;
}

// Why none of them is. Precondition: !has_ranges(graph).
const char* why_no_ranges(const Graph& graph) {
  for (const Layer& layer : graph.layers()) {
    if (layer.type->name == "dynamic_quantize")
      return "the model computes the ranges of its tensors anew in each run";
    if (!is_quantize(layer) && !is_dequantize(layer)) continue;
    const TensorId levels = is_quantize(layer) ? layer.outputs[0] : layer.inputs[0];
    if (size_of(graph.tensor(levels).type) != 1) return "the model's own levels have no 8 bits";
    return quantization_of(graph, layer) ? "the model has one scale per channel of a tensor"
                                         : "the model's scales are not known before it runs";
  }
  return is_quantised(graph) ? "the model's own quantisation is of weights alone"
                             : "the ranges of the tensors are not known";
}

// Whether the patterns let every float32 routine of the host in.
bool allows_float32(const Registry& registry, const std::vector<std::string>& schemas) {
  const std::vector<const Routine*> routines = registry.all();
  return std::all_of(routines.begin(), routines.end(), [&](const Routine* routine) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    return !matches_schema(descriptor, "cpu:float32") || matches_any_schema(descriptor, schemas);
  });
}

// Whether a pattern lets routines of the type in: "cpu:qint8…", or "cpu", which allows every type;
// or a layer is pinned to one.
bool allows_type(const Registry& registry, const TuneOptions& options, DataType type) {
  const std::vector<const Routine*> routines = registry.all();
  return std::any_of(routines.begin(), routines.end(), [&](const Routine* routine) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    if (descriptor.type != type) return false;
    return matches_any_schema(descriptor, options.schemas) ||
           std::ranges::any_of(
               options.pin, [&](const auto& pin) { return matches_name(descriptor, pin.second); });
  });
}

// A warning for each pattern of TuneOptions::avoid that leaves out nothing.
void warn_of_unused_patterns(const Registry& registry, const TuneOptions& options,
                             const Warn& warn) {
  const std::vector<const Routine*> routines = registry.all();
  for (const std::string& pattern : options.avoid)
    if (std::ranges::none_of(routines, [&](const Routine* routine) {
          return matches_name(routine->descriptor(), pattern);
        }))
      warn(fmt::format(
          "the pattern '{}' in avoid matches no routine: 'softneuro explain' lists the names",
          pattern));
}

// The graph with the quantisation that an 8-bit model brings along on its tensors instead of in
// layers; the graph itself if there is none.
Result<std::shared_ptr<const Graph>> adopted(std::shared_ptr<const Graph> graph,
                                             const Registry& registry) {
  const auto& layers = graph->layers();
  if (std::none_of(layers.begin(), layers.end(),
                   [](const Layer& layer) { return is_quantize(layer) || is_dequantize(layer); }))
    return graph;
  auto copy = std::make_shared<Graph>(*graph);
  SN_ASSIGN_OR_RETURN(const std::size_t annotated, adopt_quantization(*copy, registry));
  if (annotated == 0) return graph;
  SN_RETURN_IF_ERROR(copy->sort());
  SN_RETURN_IF_ERROR(copy->infer_shapes());
  return std::shared_ptr<const Graph>(std::move(copy));
}

bool same_quantisation(const Graph& a, const Graph& b) {
  for (TensorId id = 0; id < a.tensor_count(); ++id)
    if (a.tensor(id).quantization != b.tensor(id).quantization) return false;
  return true;
}

// The graph with a quantisation on every tensor that the samples reached; the graph itself if it
// has just these. Runs an untuned net in the plain layout, without the ranges of an earlier
// calibration, so that the result depends on model and samples alone, and on no transform's
// rounding.
Result<std::shared_ptr<const Graph>> calibrated(const std::shared_ptr<const Graph>& graph,
                                                const NetOptions& net_options,
                                                const TuneOptions& tuning, const SampleSet& samples,
                                                const Warn& warn) {
  NetOptions options = net_options;
  options.schemas = {"cpu:float32:plain"};
  auto annotated = std::make_shared<Graph>(*graph);
  forget_calibration(*annotated);
  SN_ASSIGN_OR_RETURN(const Net net, NetAccess::from_graph(*annotated, options));
  const auto one = [&](std::size_t i) -> Result<std::optional<NamedTensors>> {
    if (i >= samples.size()) return std::optional<NamedTensors>();
    SN_RETURN_IF_ERROR(check_cancelled(tuning.cancel));
    SN_ASSIGN_OR_RETURN(NamedTensors sample, samples.named(i));
    return std::optional<NamedTensors>(std::move(sample));
  };
  SN_ASSIGN_OR_RETURN(const CalibrationResult result,
                      calibrate(net, one, {.range = tuning.range, .numbers = samples.numbers()}));
  SN_RETURN_IF_ERROR(annotate(*annotated, result));
  std::ranges::for_each(result.warnings, warn);
  if (same_quantisation(*graph, *annotated)) return graph;
  return std::shared_ptr<const Graph>(std::move(annotated));
}

// What the net gives with the registry's default choices, in float32 and the plain layout: what
// answers are held against should not round as they do. Sets model_time, where there are samples.
Result<std::vector<std::vector<Tensor>>> references_for(TuneJob& job, const SampleSet& samples) {
  if (samples.empty()) return std::vector<std::vector<Tensor>>();
  const auto begin = std::chrono::steady_clock::now();
  SN_ASSIGN_OR_RETURN(const auto plan, build_plan(job.core, job.graph, job.shapes));
  const auto inputs_of = [&](std::size_t i) -> Result<std::vector<Tensor>> {
    SN_RETURN_IF_ERROR(check_cancelled(job.options->cancel));
    return samples.at(i);
  };
  const auto planned = std::chrono::steady_clock::now();
  auto references = outputs_of(plan, samples.size(), inputs_of, job.core->allocator());
  const auto runs = std::chrono::steady_clock::now() - planned;
  job.model_time = planned - begin + runs / static_cast<std::int64_t>(samples.size());
  return references;
}

// At most so many, evenly spread.
Result<std::vector<std::vector<Tensor>>> spread_over(const SampleSet& samples, std::size_t most) {
  std::vector<std::vector<Tensor>> some;
  const std::size_t count = std::min(most, samples.size());
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(std::vector<Tensor> sample, samples.at(i * samples.size() / count));
    some.push_back(std::move(sample));
  }
  return some;
}

// Inputs for a tuning without samples; none: the model runs on nothing that can be made. The
// profile cache says what it runs on, so that a tuning from the cache need not try.
Result<SyntheticInputs> synthetic_inputs(const TuneJob& job) {
  const TuneOptions& options = *job.options;
  const std::uint64_t code = options.use_cache ? loaded_code() : 0;
  if (code == 0) return make_synthetic_inputs(job.core, job.model, job.shapes);
  const int threads = job.core->pool().concurrency();
  ProfileCache cache;
  cache.open(options.cache.empty() ? ProfileCache::default_folder() : options.cache,
             machine_name(threads), threads, [](const std::string&) {});  // the tuner warns
  std::string shapes;
  for (const Shape& shape : job.shapes) shapes += shape.str() + ' ';
  const RowKey key = row_key(RowKind::input_sets, code, content_key(*job.model), shapes);
  std::optional<std::uint32_t> usable;
  if (const Fact* const known = cache.find<Fact>(key);
      known != nullptr && known->value >= 1 && known->value < kUsableEnd)
    usable = static_cast<std::uint32_t>(known->value);
  SN_ASSIGN_OR_RETURN(SyntheticInputs made,
                      make_synthetic_inputs(job.core, job.model, job.shapes, usable));
  // Not that there are none: the next tuning may have more luck, as with memory.
  if (made.usable != 0) cache.put(key, Fact{.value = made.usable});
  return made;
}

// The shapes of the first sample, where `wanted` has none of that name.
Status add_shapes(const char* kind, const std::vector<NamedTensors>& given,
                  const SampleSource& source, NamedShapes& wanted) {
  const auto add = [&](const NamedTensors& sample) {
    for (const auto& [name, tensor] : sample) wanted.emplace(name, tensor.shape());
  };
  if (!given.empty()) {
    add(given.front());
  } else if (source.count > 0) {
    const auto sample = source.make(0);
    if (!sample.ok())
      return Status(sample.status()).with_context(fmt::format("{} sample 0 cannot be made", kind));
    add(*sample);
  }
  return {};
}

// For nets that fail on all synthetic inputs: default choices stay.
TuneReport left_alone(const TuneJob& job, const Status& failure) {
  TuneReport report;
  report.threads = job.core->pool().concurrency();
  report.machine = machine_name(report.threads);
  report.complete = false;
  report.warnings.push_back(
      fmt::format("not tuned: the net failed on all synthetic inputs: {}; give calibration samples",
                  failure.message()));
  job.core->log(LogLevel::warning, report.warnings.back());
  return report;
}

Status check_samples(const TuneOptions& options) {
  SN_RETURN_IF_ERROR(check_source("calibration", options.calibration_source));
  SN_RETURN_IF_ERROR(check_source("validation", options.validation_source));
  if (!options.max_error) {
    if (options.score || options.metric != ErrorMetric::relative_rms)
      return invalid_argument("max_error is needed with a metric or a score of your own");
    return {};
  }
  if (!(*options.max_error >= 0))
    return invalid_argument("the error limit (max_error) must be a number that is not negative");
  if (std::isfinite(*options.max_error) &&
      options.calibration.size() + options.calibration_source.count < 2 &&
      options.validation.size() + options.validation_source.count == 0)
    return invalid_argument(
        "max_error needs validation samples (TuneOptions::validation, --validation), or at least "
        "two calibration samples (TuneOptions::calibration, --calibration), of which one is held "
        "back to measure the error");
  return {};
}

// " (40 dB)": an error in the unit that callers give limits in; "" where there is no other.
std::string in_other_unit(const TuneOptions& options, double error) {
  if (options.score) return "";
  switch (options.metric) {
    case ErrorMetric::relative_rms:
      return fmt::format(" ({:.3g} dB)", 20 * std::log10(1 / error));
    case ErrorMetric::cosine:
      return fmt::format(" (cosine {:.4g})", 1 - error);
    case ErrorMetric::top1:
      return fmt::format(" (top-1 agreement {:.4g})", 1 - error);
  }
  return "";
}

// Tunes; where no path in the schemas meets the limit, float32 may be taken as well.
Result<TuneResult> tune_within_limit(TuneJob& job, const Warn& warn) {
  const TuneOptions& options = *job.options;
  SN_ASSIGN_OR_RETURN(TuneResult result, tune(job));
  if (result.report.within_limit) return result;
  if (!allows_float32(job.core->registry(), options.schemas)) {
    warn(
        fmt::format("no path in {} keeps the error below {}, the least is {:.3g}: layers may be in "
                    "cpu:float32 as well",
                    fmt::join(options.schemas, ","), options.max_error.value_or(kDefaultMaxError),
                    result.least_error));
    TuneOptions wider = options;
    wider.schemas.emplace_back("cpu:float32");
    TuneJob again = job;
    again.options = &wider;
    SN_ASSIGN_OR_RETURN(result, tune(again));
    if (result.report.within_limit) return result;
  }
  if (options.max_error)
    return unsupported(
        "no path{} was found that keeps the error below {}{}: the least is {:.3g}{}{}; allow a "
        "larger error (max_error, --max-error, or --limit in the unit of --metric)",
        options.max_memory > 0 ? " within max_memory" : "", *options.max_error,
        in_other_unit(options, *options.max_error), result.least_error,
        in_other_unit(options, result.least_error),
        options.pin.empty() ? "" : ", with pinned layers as they are");
  warn(fmt::format(
      "the error is {:.3g}: no path keeps it below {}, so that the fastest one is kept; "
      "a max_error of your own is an error where none keeps it",
      result.report.error, kDefaultMaxError));
  return result;
}

}  // namespace

// The net's own path of an earlier tuning that `job` repeats.
std::optional<RoutinePath> Net::Impl::known_path(const TuneJob& job) const {
  const int threads = job.core->pool().concurrency();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const RoutinePath& path : paths)
    if (job.graph == graph && path.threads == threads && path.schemas == job.options->schemas &&
        path.machine == machine_of(path, job.core->registry(), threads) &&
        has_shapes(path, job.shapes))
      return path;
  return std::nullopt;
}

Result<TuneReport> Net::Impl::tune(const TuneOptions& options) {
  if (options.schemas.empty())
    return invalid_argument("no schema is allowed; \"cpu\" allows every one");
  SN_RETURN_IF_ERROR(check_schemas(core->registry(), options.schemas));
  SN_RETURN_IF_ERROR(check_samples(options));
  if (current_graph()->has_left_out())
    return unsupported(
        "the file that the net was loaded from holds packed weights only: tune the file that has "
        "the model's own");
  TuneJob job;
  job.options = &options;
  SN_ASSIGN_OR_RETURN(job.core, runtime_of(options.threads));
  NamedShapes wanted = options.shapes;
  SN_RETURN_IF_ERROR(
      add_shapes("calibration", options.calibration, options.calibration_source, wanted));
  SN_RETURN_IF_ERROR(
      add_shapes("validation", options.validation, options.validation_source, wanted));
  SN_ASSIGN_OR_RETURN(job.shapes, resolve_shapes(wanted));

  const std::shared_ptr<const Graph> before = current_graph();
  SampleSet samples("calibration", options.calibration, options.calibration_source, *before,
                    job.shapes);
  job.validation =
      SampleSet("validation", options.validation, options.validation_source, *before, job.shapes);
  SN_RETURN_IF_ERROR(samples.check());
  SN_RETURN_IF_ERROR(job.validation.check());
  if (job.validation.empty()) {
    job.validation = samples.held_back();
    samples = samples.not_held_back();
  }
  const bool is_validated = !job.validation.empty();
  if (!is_validated) job.validation = samples;
  SN_ASSIGN_OR_RETURN(const auto own, adopted(before, core->registry()));
  job.graph = before;  // what the references are computed with
  if (names_type(options.schemas, DataType::qint8) && samples.empty() && !is_quantised(*own))
    return invalid_argument(
        "qint8 needs to know the ranges of the tensors: give calibration samples "
        "(TuneOptions::calibration, --calibration), or import a model that is quantised");
  SN_ASSIGN_OR_RETURN(job.references, references_for(job, job.validation));
  const bool is_top1 = options.metric == ErrorMetric::top1 && !options.score;
  if (is_top1 && !job.references.empty() && !has_classes(job.references[0]))
    return invalid_argument(
        "output '{}' of shape {} holds no scores of classes, so that there is no top-1 agreement: "
        "take another metric, or a score of your own",
        before->tensor(before->outputs[0]).name, job.references[0][0].shape().str());
  job.graph = own;
  job.model = before;
  job.is_model = own == before;
  job.has_samples = !samples.empty();
  if (job.has_samples) {
    SN_ASSIGN_OR_RETURN(job.verification_inputs,
                        spread_over(samples, constants::kVerificationSamples));
  } else {
    const auto begin = std::chrono::steady_clock::now();
    SN_ASSIGN_OR_RETURN(SyntheticInputs made, synthetic_inputs(job));
    if (job.references.empty()) job.model_time = std::chrono::steady_clock::now() - begin;
    if (made.sets.empty()) return left_alone(job, made.failure);
    job.overflows = made.overflows;
    job.verification_inputs = std::move(made.sets);
  }
  job.inputs = job.verification_inputs[0];

  std::vector<std::string> warnings;
  const Warn warn = [&](std::string message) {
    core->log(LogLevel::warning, message);
    warnings.push_back(std::move(message));
  };
  warn_of_unused_patterns(core->registry(), options, warn);
  const bool qint8 = allows_type(core->registry(), options, DataType::qint8);
  if (qint8 && samples.empty() && !has_ranges(*own))
    warn(fmt::format("8-bit routines are left out: {}; give calibration samples",
                     why_no_ranges(*own)));
  if (const double unseen = largest_unseen_top1_error(job.validation.size());
      is_top1 && std::isfinite(*options.max_error) && unseen > *options.max_error)
    warn(fmt::format(
        "{} cannot show the limit on top-1 agreement: where all agree, it may still be {:.3g} for "
        "others (95 % interval), and the limit is {:.3g}; give more validation samples",
        job.validation.size() == 1 ? "one sample"
                                   : fmt::format("{} samples", job.validation.size()),
        1 - unseen, 1 - *options.max_error));
  // Nothing says what eight significant bits do to the outputs: they are not taken unasked.
  TuneOptions careful;
  if (job.validation.empty() && !names_type(options.schemas, DataType::bfloat16) &&
      allows_type(core->registry(), options, DataType::bfloat16) &&
      !has_type(*own, DataType::bfloat16)) {
    careful = options;
    careful.avoid.emplace_back("*:bfloat16*");
    job.options = &careful;
    warn(
        "without samples the error of bfloat16 cannot be measured: its routines are left out; give "
        "samples, or name cpu:bfloat16");
  }
  if (qint8 && !samples.empty()) {
    if (options.progress) options.progress({.stage = "calibrate", .total = samples.size()});
    SN_ASSIGN_OR_RETURN(job.graph, calibrated(own, net_options, options, samples, warn));
  }

  if (qint8 && !is_validated && !samples.empty())
    warn(
        "a single sample: the error is measured on what calibration saw; give more, or validation "
        "samples");
  if (options.time_limit.count() > 0) {
    job.end = std::chrono::steady_clock::now() + options.time_limit;
    if (job.references.empty()) job.end -= job.model_time;  // making synthetic inputs counts
  }
  job.known_path = known_path(job);
  SN_ASSIGN_OR_RETURN(TuneResult result, tune_within_limit(job, warn));
  const std::size_t dropped = keep_path(std::move(result.path), job.graph, own == before);
  if (dropped > 0)
    warn(fmt::format(
        "{} dropped: 8-bit layers use ranges of an earlier calibration; tune again for the "
        "machines, "
        "thread counts and shapes that are missing",
        dropped == 1 ? "one tuned path is" : fmt::format("{} tuned paths are", dropped)));
  result.report.warnings.insert(result.report.warnings.begin(), warnings.begin(), warnings.end());
  return std::move(result.report);
}

Result<TuneReport> Net::tune(const TuneOptions& options) noexcept {
  return guarded([&] { return impl_->tune(options); });
}

}  // namespace softneuro
