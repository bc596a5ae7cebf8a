// What Net::tune is given → a TuneJob.

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
#include "profiler/tune/tune_job.h"
#include "quantization/calibration.h"
#include "verify/output_error.h"
#include "verify/synthetic_inputs.h"

namespace softneuro {
namespace {

using Clock = std::chrono::steady_clock;
using Warn = std::function<void(std::string)>;

struct Model {
  std::shared_ptr<Runtime> runtime;  // with the threads to tune for
  std::shared_ptr<const Graph> graph;
  std::vector<Shape> shapes;
};

// Whether a pattern asks for the type by its name.
bool names_type(const std::vector<std::string>& schemas, DataType type) {
  return std::ranges::any_of(schemas, [&](const std::string& pattern) {
    return pattern.find(fmt::format(":{}", to_string(type))) != std::string::npos;
  });
}

template <class F>
bool any_tensor(const Graph& graph, const F& is_so) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (is_so(graph.tensor(id))) return true;
  return false;
}

// Why 8-bit routines have nothing to compute; null: ranges of tensors are known.
const char* why_no_ranges(const Graph& graph) {
  if (any_tensor(graph, [](const TensorDef& t) { return t.quantization && !t.is_constant(); }))
    return nullptr;
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

// Whether a pattern lets routines of the type in: "cpu:qint8…", or "cpu", which allows every type;
// or a layer is pinned to one.
bool allows_type(const Registry& registry, const CandidateRules& rules, DataType type) {
  return std::ranges::any_of(registry.all(), [&](const Routine* routine) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    const auto is_it = [&](const auto& pin) { return matches_name(descriptor, pin.second); };
    return descriptor.type == type && (matches_any_schema(descriptor, rules.schemas) ||
                                       std::ranges::any_of(rules.selection.pin, is_it));
  });
}

// A warning for each pattern of TuneSelection::avoid that leaves out nothing.
void warn_of_unused_patterns(const Registry& registry, const CandidateRules& rules,
                             const Warn& warn) {
  for (const std::string& pattern : rules.selection.avoid) {
    const auto is_it = [&](const Routine* r) { return matches_name(r->descriptor(), pattern); };
    if (std::ranges::none_of(registry.all(), is_it))
      warn(fmt::format(
          "the pattern '{}' in avoid matches no routine: 'softneuro explain' lists the names",
          pattern));
  }
}

// The graph with the quantisation that an 8-bit model brings along on its tensors instead of in
// layers; the graph itself if there is none.
Result<std::shared_ptr<const Graph>> adopted(std::shared_ptr<const Graph> graph,
                                             const Registry& registry) {
  if (std::ranges::none_of(graph->layers(), [](const Layer& layer) {
        return is_quantize(layer) || is_dequantize(layer);
      }))
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
                                                NetOptions options, const TuneOptions& tuning,
                                                const SampleSet& samples, const Warn& warn) {
  if (tuning.progress) tuning.progress({.stage = "calibrate", .total = samples.size()});
  options.schemas = {"cpu:float32:plain"};
  options.device.clear();
  auto annotated = std::make_shared<Graph>(*graph);
  forget_calibration(*annotated);
  SN_ASSIGN_OR_RETURN(const Net net, NetAccess::from_graph(*annotated, options));
  const auto one = [&](std::size_t i) -> Result<std::optional<NamedTensors>> {
    if (i >= samples.size()) return std::optional<NamedTensors>();
    SN_RETURN_IF_ERROR(check_cancelled(tuning.cancel));
    SN_ASSIGN_OR_RETURN(NamedTensors sample, samples.named(i));
    return std::optional<NamedTensors>(std::move(sample));
  };
  SN_ASSIGN_OR_RETURN(
      const CalibrationResult result,
      calibrate(net, one, {.range = tuning.data.range, .numbers = samples.numbers()}));
  SN_RETURN_IF_ERROR(annotate(*annotated, result));
  std::ranges::for_each(result.warnings, warn);
  if (same_quantisation(*graph, *annotated)) return graph;
  return std::shared_ptr<const Graph>(std::move(annotated));
}

struct SampleSets {
  SampleSet calibration;
  SampleSet validation;  // what the error is measured on
  bool shared = false;   // these are the same: one sample, or none
};
Result<SampleSets> samples_of(const Model& model, const TuneOptions& options) {
  const TuneData& data = options.data;
  SampleSets samples = {
      SampleSet("calibration", options.calibration, data.calibration_source, *model.graph,
                model.shapes),
      SampleSet("validation", data.validation, data.validation_source, *model.graph, model.shapes)};
  SN_RETURN_IF_ERROR(samples.calibration.check());
  SN_RETURN_IF_ERROR(samples.validation.check());
  if (samples.validation.empty()) {
    samples.validation = samples.calibration.part(true);
    samples.calibration = samples.calibration.part(false);
  }
  samples.shared = samples.validation.empty();
  if (samples.shared) samples.validation = samples.calibration;
  return samples;
}

bool is_top1(const TuneCriteria& criteria) {
  return criteria.metric == ErrorMetric::top1 && !criteria.score;
}

// What the net gives with the registry's default choices, in float32 and the plain layout: what
// outputs are compared with should not round as they do.
struct References {
  std::vector<std::vector<Tensor>> outputs;  // by sample
  Clock::duration time{0};                   // of planning, and of one run
};
Result<References> references_for(const Model& model, const TuneOptions& options,
                                  const SampleSet& samples) {
  References references;
  if (samples.empty()) return references;
  const auto begin = Clock::now();
  SN_ASSIGN_OR_RETURN(const auto plan, build_plan(model.runtime, model.graph, model.shapes));
  const auto inputs_of = [&](std::size_t i) -> Result<std::vector<Tensor>> {
    SN_RETURN_IF_ERROR(check_cancelled(options.cancel));
    return samples.at(i);
  };
  const auto planned = Clock::now();
  SN_ASSIGN_OR_RETURN(references.outputs,
                      outputs_of(plan, samples.size(), inputs_of, model.runtime->allocator()));
  references.time =
      planned - begin + (Clock::now() - planned) / static_cast<std::int64_t>(samples.size());
  if (is_top1(options.criteria) && !has_classes(references.outputs[0]))
    return invalid_argument(
        "output '{}' of shape {} holds no scores of classes, so that there is no top-1 agreement: "
        "take another metric, or a score of your own",
        model.graph->tensor(model.graph->outputs[0]).name, references.outputs[0][0].shape().str());
  return references;
}

// Inputs for a tuning without samples; none: the model runs on nothing that can be made. The
// profile cache says what it runs on, so that a tuning from the cache need not try.
Result<SyntheticInputs> synthetic_inputs(const Model& model, const TuneCache& kept) {
  const std::uint64_t code = kept.disabled ? 0 : loaded_code();
  if (code == 0) return make_synthetic_inputs(model.runtime, model.graph, model.shapes);
  const int threads = model.runtime->pool().concurrency();
  ProfileCache cache;
  cache.open(kept.folder, machine_name(threads), threads, {});  // the tuner warns
  std::string shapes;
  for (const Shape& shape : model.shapes) shapes += shape.str() + ' ';
  const RowKey key = row_key(RowKind::input_sets, code, content_key(*model.graph), shapes);
  std::optional<std::uint32_t> usable;
  if (const Fact* const known = cache.find<Fact>(key);
      known != nullptr && known->value >= 1 && known->value < kUsableEnd)
    usable = static_cast<std::uint32_t>(known->value);
  SN_ASSIGN_OR_RETURN(SyntheticInputs made,
                      make_synthetic_inputs(model.runtime, model.graph, model.shapes, usable));
  // Not that there are none: the next tuning may have more luck, as with memory.
  if (made.usable != 0) cache.put(key, Fact{.value = made.usable});
  return made;
}

// What times and the verification are of: samples, evenly spread, or synthetic inputs.
Result<SyntheticInputs> inputs_for(const Model& model, const TuneOptions& options,
                                   const SampleSet& samples) {
  if (samples.empty()) return synthetic_inputs(model, options.cache);
  SyntheticInputs inputs;
  const std::size_t count = std::min(samples.size(), constants::kVerificationSamples);
  for (std::size_t i = 0; i < count; ++i) {
    SN_ASSIGN_OR_RETURN(std::vector<Tensor> sample, samples.at(i * samples.size() / count));
    inputs.sets.push_back(std::move(sample));
  }
  return inputs;
}

// Without samples nothing says what eight significant bits do to the outputs: they are not taken
// unasked.
void avoid_bfloat16_unasked(const Registry& registry, const Graph& graph, CandidateRules& rules,
                            const Warn& warn) {
  if (names_type(rules.schemas, DataType::bfloat16) ||
      any_tensor(graph, [](const TensorDef& t) { return t.type == DataType::bfloat16; }) ||
      !allows_type(registry, rules, DataType::bfloat16))
    return;
  rules.selection.avoid.emplace_back("*:bfloat16*");
  warn(
      "without samples the error of bfloat16 cannot be measured: its routines are left out; give "
      "samples, or name cpu:bfloat16");
}

void warn_of_few_samples(const TuneOptions& options, std::size_t count, const Warn& warn) {
  if (!is_top1(options.criteria) || !std::isfinite(*options.max_error)) return;
  const double unseen = largest_unseen_top1_error(count);
  if (unseen <= *options.max_error) return;
  warn(fmt::format(
      "{} cannot show the limit on top-1 agreement: where all agree, it may still be {:.3g} for "
      "others (95 % interval), and the limit is {:.3g}; give more validation samples",
      count == 1 ? "one sample" : fmt::format("{} samples", count), 1 - unseen,
      1 - *options.max_error));
}

Status check_options(const Registry& registry, const Graph& graph, const TuneOptions& options) {
  if (options.schemas.empty())
    return invalid_argument("no schema is allowed; \"cpu\" allows every one");
  SN_RETURN_IF_ERROR(check_schemas(registry, options.schemas));
  if (graph.has_left_out())
    return unsupported(
        "the file that the net was loaded from holds packed weights only: tune the file that has "
        "the model's own");
  SN_RETURN_IF_ERROR(check_source("calibration", options.data.calibration_source));
  SN_RETURN_IF_ERROR(check_source("validation", options.data.validation_source));
  if (!options.max_error) {
    if (options.criteria.score || options.criteria.metric != ErrorMetric::relative_rms)
      return invalid_argument("max_error is needed with a metric or a score of your own");
    return {};
  }
  if (!(*options.max_error >= 0))
    return invalid_argument("the error limit (max_error) must be a number that is not negative");
  if (std::isfinite(*options.max_error) &&
      options.calibration.size() + options.data.calibration_source.count < 2 &&
      options.data.validation.size() + options.data.validation_source.count == 0)
    return invalid_argument(
        "max_error needs validation samples (TuneData::validation, --validation), or at least "
        "two calibration samples (TuneOptions::calibration, --calibration), of which one is held "
        "back to measure the error");
  return {};
}

// Those that the options give, else those of the first sample.
Result<NamedShapes> shapes_of(const TuneOptions& options) {
  NamedShapes shapes = options.shapes;
  const auto add = [&](const char* kind, const std::vector<NamedTensors>& given,
                       const SampleSource& source) -> Status {
    if (given.empty() && source.count == 0) return {};
    const auto sample = given.empty() ? source.make(0) : given.front();
    if (!sample.ok())
      return Status(sample.status()).with_context(fmt::format("{} sample 0 cannot be made", kind));
    for (const auto& [name, tensor] : *sample) shapes.emplace(name, tensor.shape());
    return {};
  };
  const TuneData& data = options.data;
  SN_RETURN_IF_ERROR(add("calibration", options.calibration, data.calibration_source));
  SN_RETURN_IF_ERROR(add("validation", data.validation, data.validation_source));
  return shapes;
}

// Where schemas name 8 bits, something has to say what their levels mean.
Status check_ranges(const Graph& graph, const TuneOptions& options, const SampleSets& samples) {
  if (!names_type(options.schemas, DataType::qint8) || !samples.calibration.empty() ||
      is_quantised(graph))
    return {};
  return invalid_argument(
      "qint8 needs to know the ranges of the tensors: give calibration samples "
      "(TuneOptions::calibration, --calibration), or import a model that is quantised");
}

// What the options allow, without what nothing is known about: a warning says so.
CandidateRules allowed_rules(const Registry& registry, const Graph& graph,
                             const TuneOptions& options, const SampleSets& samples,
                             const Warn& warn) {
  CandidateRules rules = rules_of(options);
  warn_of_unused_patterns(registry, rules, warn);
  if (samples.calibration.empty() && allows_type(registry, rules, DataType::qint8))
    if (const char* why = why_no_ranges(graph); why != nullptr)
      warn(fmt::format("8-bit routines are left out: {}; give calibration samples", why));
  warn_of_few_samples(options, samples.validation.size(), warn);
  if (samples.validation.empty()) avoid_bfloat16_unasked(registry, graph, rules, warn);
  return rules;
}

// `graph`, calibrated where there are samples and 8 bits are allowed.
Result<std::shared_ptr<const Graph>> tuned_graph(const Registry& registry,
                                                 const std::shared_ptr<const Graph>& graph,
                                                 const NetOptions& net_options,
                                                 const TuneOptions& options,
                                                 const CandidateRules& rules,
                                                 const SampleSets& samples, const Warn& warn) {
  if (samples.calibration.empty() || !allows_type(registry, rules, DataType::qint8)) return graph;
  SN_ASSIGN_OR_RETURN(auto annotated,
                      calibrated(graph, net_options, options, samples.calibration, warn));
  if (samples.shared)
    warn(
        "a single sample: the error is measured on what calibration saw; give more, or "
        "validation samples");
  return annotated;
}

}  // namespace

CandidateRules rules_of(const TuneOptions& options) {
  CandidateRules rules;
  rules.schemas = options.schemas;
  rules.selection = options.selection;
  rules.include_pruned = options.effort.exhaustive;
  if (options.effort.exhaustive) rules.max_params *= constants::kExhaustiveTimes;
  return rules;
}

Result<TuneJob> Net::Impl::prepare_tuning(const TuneOptions& options) const {
  const auto begin = Clock::now();
  Model model;
  model.graph = current_graph();
  SN_RETURN_IF_ERROR(check_options(runtime->registry(), *model.graph, options));
  SN_ASSIGN_OR_RETURN(model.runtime, runtime_of(options.threads));
  SN_ASSIGN_OR_RETURN(const NamedShapes wanted, shapes_of(options));
  SN_ASSIGN_OR_RETURN(model.shapes, resolve_shapes(wanted));
  const Registry& registry = model.runtime->registry();
  std::vector<std::string> warnings;
  const Warn warn = [&](std::string message) {
    model.runtime->log(LogLevel::warning, message);
    warnings.push_back(std::move(message));
  };
  SN_ASSIGN_OR_RETURN(const SampleSets samples, samples_of(model, options));
  SN_ASSIGN_OR_RETURN(const auto adopted_graph, adopted(model.graph, registry));
  SN_RETURN_IF_ERROR(check_ranges(*adopted_graph, options, samples));
  SN_ASSIGN_OR_RETURN(References references, references_for(model, options, samples.validation));
  const auto making = Clock::now();
  SN_ASSIGN_OR_RETURN(SyntheticInputs made, inputs_for(model, options, samples.calibration));
  const bool has_references = !references.outputs.empty();
  const auto model_time = has_references ? references.time : Clock::now() - making;
  if (made.sets.empty()) {
    warn(fmt::format(
        "not tuned: the net failed on all synthetic inputs: {}; give calibration samples",
        made.failure.message()));
    TuneJob job;
    job.runtime = model.runtime;
    job.warnings = std::move(warnings);
    return job;
  }

  CandidateRules rules = allowed_rules(registry, *adopted_graph, options, samples, warn);
  SN_ASSIGN_OR_RETURN(const auto tuned, tuned_graph(registry, adopted_graph, net_options, options,
                                                    rules, samples, warn));
  std::optional<RoutinePath> known = tuned_path(*model.runtime, model.shapes);
  if (known && (tuned != model.graph || known->schemas != options.schemas)) known.reset();
  auto end = Clock::time_point::max();
  if (options.time_limit.count() > 0)  // making synthetic inputs counts
    end = Clock::now() + options.time_limit - (has_references ? Clock::duration(0) : model_time);
  const std::vector<Tensor> first = made.sets[0];
  return TuneJob{.runtime = model.runtime,
                 .graph = tuned,
                 .shapes = model.shapes,
                 .inputs = first,
                 .model = model.graph,
                 .is_model = adopted_graph == model.graph,
                 .verification_inputs = std::move(made.sets),
                 .has_samples = !samples.calibration.empty(),
                 .overflows = made.overflows,
                 .validation = samples.validation,
                 .references = std::move(references.outputs),
                 .known_path = std::move(known),
                 .options = &options,
                 .rules = std::move(rules),
                 .begin = begin,
                 .model_time = model_time,
                 .end = end,
                 .warnings = std::move(warnings)};
}

}  // namespace softneuro
