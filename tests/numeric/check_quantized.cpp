// The comparison of qint8 routines with their integer specification and with cpu/naive.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "core/base/element.h"
#include "cpu/tensor/element_place.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// How the tensors of a case are quantised.
enum class Scales {
  separate,  // unsigned, each tensor by its own range
  shared,    // unsigned, all alike: what layers that only move elements want; not with weights
  as_model,  // signed, each by its own range
  ties       // powers of two, odd zero points: sums are exact, and many are halfway to a level
};
const char* name_of(Scales scales) {
  constexpr const char* kNames[] = {"separate", "shared", "signed", "ties"};
  return kNames[static_cast<int>(scales)];
}

struct Range {
  double low = 0, high = 0;  // 0 is always within
  void include(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

// Nothing if an element is not finite, or so large that a step is no float.
std::optional<Range> range_of(const Tensor& tensor) {
  Range range;
  for (const float value : tensor.values<float>()) {
    if (!(std::fabs(value) < 1e30f)) return std::nullopt;
    range.include({value, value});
  }
  return range;
}

// The least power of two of which `levels` reach as far as `extent`.
float power_of_two_step(double extent, int levels) {
  return extent > 1e-30 ? static_cast<float>(std::exp2(std::ceil(std::log2(extent / levels)))) : 1;
}

Quantization quantization_of(const Range& range, Scales scales) {
  Quantization q;
  q.is_signed = scales == Scales::as_model;
  const double step = (range.high - range.low) / 255;
  q.scales = {step > 1e-30 ? static_cast<float>(step) : 1.0f};
  if (scales == Scales::ties) q.scales = {power_of_two_step(range.high - range.low, 255)};
  const auto zero = static_cast<std::int32_t>(std::nearbyint(-range.low / q.scales[0]));
  q.zero_points = {std::clamp(zero, 0, 255) - (q.is_signed ? 128 : 0)};
  if (scales == Scales::ties) q.zero_points[0] |= 1;
  return q;
}

// The elements of a constant as whole numbers of `step`.
void round_constant(TensorSpec& spec, Tensor& tensor, float step) {
  tensor = tensor.clone().value();
  for (float& value : tensor.mutable_values<float>()) value = step * std::nearbyint(value / step);
  spec.value = tensor;
}

// Weights of so few bits that many sums lie halfway between two levels of the output, and the bias
// in units of the sums.
void set_weights(PreparedCase& prepared) {
  constexpr int kLevels = 7;
  std::vector<TensorSpec>& inputs = prepared.problem.inputs;
  double extent = 0;
  for (const float w : prepared.inputs[1].values<float>())
    extent = std::max(extent, std::fabs(static_cast<double>(w)));
  const float step = power_of_two_step(extent, kLevels);
  round_constant(inputs[1], prepared.inputs[1], step);
  inputs[1].quantization = Quantization{true, -1, {step}, {0}, {}};
  if (prepared.problem.layer_inputs > 2 && inputs[2].present() && inputs[2].constant)
    round_constant(inputs[2], prepared.inputs[2], step * inputs[0].quantization->scales[0]);
}

bool is_quantizable(const TensorSpec& spec) {
  return spec.type == DataType::float32 && !spec.constant && spec.value.empty();
}

bool has_real_weights(const Problem& problem) {
  return problem.layer_inputs >= 2 && problem.inputs[1].constant &&
         is_float(problem.inputs[1].type) && problem.inputs[1].shape.rank() >= 2;
}

double dequantized(const Quantization& q, std::uint8_t byte) {
  const int value = q.is_signed ? static_cast<std::int8_t>(byte) : byte;
  return static_cast<double>(q.scales[0]) * (value - q.zero_points[0]);
}

std::uint8_t quantized(const Quantization& q, float value) {
  const double low = q.is_signed ? -128 : 0;
  const double rounded =
      std::nearbyint(static_cast<double>(value / q.scales[0])) + q.zero_points[0];
  return static_cast<std::uint8_t>(static_cast<int>(std::clamp(rounded, low, low + 255)) & 255);
}

// A float32 tensor in the format of `spec`.
Tensor to_format(const Tensor& tensor, const TensorSpec& spec) {
  if (spec.type != DataType::qint8) return convert_format(tensor, spec.type, spec.layout).value();
  Tensor to = Tensor::create(spec.type, spec.shape, default_allocator(), spec.layout).value();
  std::memset(to.mutable_data(), 0, to.bytes());
  auto* bytes = static_cast<std::uint8_t*>(to.mutable_data());
  const std::span<const float> values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    bytes[element_place(static_cast<std::int64_t>(i), spec.shape, spec.layout)] =
        quantized(*spec.quantization, values[i]);
  return to;
}

// The real numbers that a tensor stands for, as a plain float32 tensor.
Tensor to_real(const Tensor& tensor, const TensorSpec& spec) {
  if (tensor.data_type() != DataType::qint8)
    return convert_format(tensor, DataType::float32, Layout::plain).value();
  Tensor to = Tensor::create(DataType::float32, tensor.shape()).value();
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data());
  const std::span<float> values = to.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(dequantized(
        *spec.quantization,
        bytes[element_place(static_cast<std::int64_t>(i), tensor.shape(), tensor.layout())]));
  return to;
}

// The case with its inputs in the formats of `problem`; those that are not real stay.
PreparedCase with_inputs(const PreparedCase& prepared, Problem problem) {
  PreparedCase result;
  result.registry = prepared.registry;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    const bool changes = is_quantizable(prepared.problem.inputs[i]);
    result.inputs.push_back(changes ? to_format(prepared.inputs[i], spec) : prepared.inputs[i]);
  }
  result.problem = std::move(problem);
  return result;
}

// The case in float32 with the numbers that the quantised inputs stand for.
PreparedCase dequantized_case(const PreparedCase& quantized, const PreparedCase& prepared) {
  PreparedCase result = prepared;
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    const TensorSpec& spec = quantized.problem.inputs[i];
    if (spec.type == DataType::qint8) result.inputs[i] = to_real(quantized.inputs[i], spec);
  }
  return result;
}

// The ranges of the quantisable tensors; nothing if one holds numbers that do not fit.
std::optional<std::vector<Range>> ranges_of(const std::vector<TensorSpec>& specs,
                                            const std::vector<Tensor>& tensors) {
  std::vector<Range> ranges(specs.size());
  for (std::size_t i = 0; i < specs.size() && i < tensors.size(); ++i) {
    if (!is_quantizable(specs[i])) continue;
    const std::optional<Range> range = range_of(tensors[i]);
    if (!range) return std::nullopt;
    ranges[i] = *range;
  }
  return ranges;
}

void set_quantization(std::vector<TensorSpec>& specs, const std::vector<Range>& ranges,
                      Scales scales) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (is_quantizable(specs[i])) specs[i].quantization = quantization_of(ranges[i], scales);
}

RunResult run_naive(const PreparedCase& prepared) {
  const Routine* naive = builtin_registry().find(prepared.problem.type->name, "cpu/naive");
  return run_routine(*naive, prepared, test_pool(1), {});
}

// A case with quantisations, and what is expected of it; made once for all routines, since naive
// ones take their time.
struct QuantizedCase {
  PreparedCase prepared;  // real tensors in float32
  RunResult real;         // of cpu/naive, inputs rounded to 8 bits
  // Of cpu:qint8/naive, by the formats in plain layout; and the same with outputs in float32.
  struct Exact {
    std::vector<Tensor> outputs, unrounded;
  };
  std::map<std::string, Exact> exact;
};

// Nothing if the case is none for 8 bits: other data types, numbers that are not finite.
std::optional<QuantizedCase> with_quantization(PreparedCase prepared,
                                               const std::vector<Tensor>& reference,
                                               Scales scales) {
  Problem& problem = prepared.problem;
  if (std::none_of(problem.inputs.begin(), problem.inputs.end(), is_quantizable) ||
      (scales == Scales::shared && has_real_weights(problem)))
    return std::nullopt;
  auto inputs = ranges_of(problem.inputs, prepared.inputs);
  auto outputs = ranges_of(problem.outputs, reference);
  if (!inputs || !outputs) return std::nullopt;
  if (scales == Scales::shared) {
    Range all;
    for (const Range& range : *inputs) all.include(range);
    for (const Range& range : *outputs) all.include(range);
    all.include({1.02 * all.low, 1.02 * all.high});  // rounded inputs may give a little more
    std::fill(inputs->begin(), inputs->end(), all);
    std::fill(outputs->begin(), outputs->end(), all);
  }
  set_quantization(problem.inputs, *inputs, scales);
  if (scales == Scales::ties && has_real_weights(problem)) {
    if (problem.inputs[1].type != DataType::float32 || !is_quantizable(prepared.problem.inputs[0]))
      return std::nullopt;
    set_weights(prepared);
  }
  Problem rounded = problem;
  for (TensorSpec& spec : rounded.inputs)
    if (is_quantizable(spec)) spec.type = DataType::qint8;
  RunResult real = run_naive(dequantized_case(with_inputs(prepared, rounded), prepared));
  const auto found = real.status.ok() ? ranges_of(problem.outputs, real.outputs)
                                      : std::optional<std::vector<Range>>();
  if (!found) return std::nullopt;
  if (scales != Scales::shared) {
    outputs = found;
  } else {  // functions that make more of rounded inputs do not stay within a shared range
    for (std::size_t i = 0; i < found->size(); ++i)
      if ((*found)[i].low < (*outputs)[i].low || (*found)[i].high > (*outputs)[i].high)
        return std::nullopt;
  }
  set_quantization(problem.outputs, *outputs, scales);
  return QuantizedCase{std::move(prepared), std::move(real), {}};
}

// Whether the last places of a float decide which level it becomes.
bool is_halfway(double quotient) {
  constexpr double kNear = 1e-4;
  return std::fabs(std::fabs(quotient - std::nearbyint(quotient)) - 0.5) < kNear;
}

// Against the integer specification: at most one step, and that for few elements, apart from those
// that are `unrounded` halfway between two levels.
std::string steps_apart(const Tensor& expected, const Tensor& unrounded, const Tensor& actual,
                        const TensorSpec& spec) {
  if (expected.data_type() != DataType::qint8)
    return difference(to_real(expected, spec), to_real(actual, spec),
                      default_tolerance(DataType::float32));
  const Tensor e = to_real(expected, spec), a = to_real(actual, spec);
  const double step = static_cast<double>(spec.quantization->scales[0]);
  std::int64_t different = 0;
  for (std::size_t i = 0; i < e.values<float>().size(); ++i) {
    const double steps = std::round((e.values<float>()[i] - a.values<float>()[i]) / step);
    if (std::fabs(steps) > 1) return fmt::format("element {} is {} steps off", i, steps);
    different += steps != 0 && !is_halfway(unrounded.values<float>()[i] / step);
  }
  const std::int64_t most = 1 + e.elements() / 100;
  if (different <= most) return {};
  return fmt::format("{} of {} elements differ by a step", different, e.elements());
}

// Every level as a rounding of what cpu/naive gives, half to even, plus the zero point.
std::string wrong_levels(const Tensor& expected, const Tensor& actual, const TensorSpec& spec) {
  const auto* bytes = static_cast<const std::uint8_t*>(actual.data());
  const std::span<const float> values = expected.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint8_t level = quantized(*spec.quantization, values[i]);
    const std::int64_t at =
        element_place(static_cast<std::int64_t>(i), actual.shape(), actual.layout());
    if (bytes[at] != level)
      return fmt::format("element {} is {}: level {} at a scale of {}, not {}", i, values[i], level,
                         spec.quantization->scales[0], bytes[at]);
  }
  return {};
}

// Against cpu/naive on the dequantised inputs. Layers whose weights a routine rounds to 8 bits are
// bound in the mean (2 % of the output, and the output's own rounding), if the output is not too
// small for a mean, since a single sum may cancel out; others element by element.
std::string too_far(const Case& description, const Problem& problem, const Tensor& expected,
                    const Tensor& actual, const TensorSpec& spec) {
  const Tensor a = to_real(actual, spec);
  const bool rounded = actual.data_type() == DataType::qint8;
  const double step = rounded ? static_cast<double>(spec.quantization->scales[0]) : 0;
  if (!has_real_weights(problem)) {
    Tolerance tolerance = description.allowed.value_or(default_tolerance(DataType::float32));
    tolerance.absolute += step;
    return difference(expected, a, tolerance);
  }
  constexpr std::int64_t kLeast = 24;
  if (a.elements() < kLeast) return {};
  double error = 0, size = 0;
  const auto count = static_cast<double>(a.elements());
  for (std::size_t i = 0; i < a.values<float>().size(); ++i) {
    const double e = expected.values<float>()[i];
    error += (a.values<float>()[i] - e) * (a.values<float>()[i] - e);
    size += e * e;
  }
  error = std::sqrt(error / count);
  size = std::sqrt(size / count);
  if (error <= 0.02 * size + step + 1e-6) return {};
  return fmt::format("RMS of the error is {}, of the expected output {}, a step is {}", error, size,
                     step);
}

// cpu:qint8/naive for a problem in any layout, or null.
const Routine* specification(const Registry& registry, const Problem& plain) {
  const Routine* naive = registry.find(plain.type->name, "cpu:qint8/naive");
  if (naive == nullptr) return nullptr;
  return RoutineContext(registry).implement(*naive, plain).ok() ? naive : nullptr;
}

Problem in_plain_layout(Problem problem) {
  for (TensorSpec& spec : problem.inputs) spec.layout = Layout::plain;
  for (TensorSpec& spec : problem.outputs) spec.layout = Layout::plain;
  return problem;
}

// Whether every routine must give the level that is nearest, ties included: not where the layer's
// own arithmetic is inexact, as sums with thirds are, or where the case says that rounding shows.
bool is_exact(const Case& description, Scales scales) {
  return scales == Scales::ties && !description.allowed && description.layer_type != "resize";
}

void check_outputs(const Case& description, Scales scales, const PreparedCase& quantized,
                   const RunResult& run, const QuantizedCase::Exact& exact, const RunResult& real) {
  INFO(run.status.message());
  CHECK(run.defect == "");
  REQUIRE(run.status.ok());
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    INFO("output " << i);
    const TensorSpec& spec = quantized.problem.outputs[i];
    if (run.outputs[i].empty() || !(is_float(spec.type) || spec.type == DataType::qint8)) continue;
    if (i < exact.outputs.size()) {
      INFO("against cpu:qint8/naive");
      CHECK(steps_apart(exact.outputs[i], exact.unrounded[i], run.outputs[i], spec) == "");
    }
    INFO("against cpu/naive on the dequantised inputs");
    if (i >= real.outputs.size()) continue;
    if (spec.type == DataType::qint8 && is_exact(description, scales))
      CHECK(wrong_levels(real.outputs[i], run.outputs[i], spec) == "");
    else
      CHECK(too_far(description, quantized.problem, real.outputs[i], run.outputs[i], spec) == "");
  }
}

// Multiply-adds of one run, roughly.
double work_of(const Problem& problem) {
  const auto outputs = static_cast<double>(problem.outputs[0].shape.elements());
  if (!has_real_weights(problem)) return outputs;
  const Shape& w = problem.inputs[1].shape;
  const auto channels = static_cast<double>(std::max<std::int64_t>(std::min(w[0], w[1]), 1));
  return outputs * static_cast<double>(w.elements()) / channels;
}

const QuantizedCase::Exact& exact_result(const Registry& registry, QuantizedCase& references,
                                         const Problem& problem) {
  const Problem plain = in_plain_layout(problem);
  const auto [place, is_new] = references.exact.try_emplace(formats_of(plain).str());
  const Routine* integers = is_new ? specification(registry, plain) : nullptr;
  if (integers == nullptr) return place->second;
  const auto run = [&](const Problem& asked) {
    return run_routine(*integers, with_inputs(references.prepared, asked), test_pool(1), {})
        .outputs;
  };
  Problem real = plain;
  for (TensorSpec& spec : real.outputs)
    if (spec.type == DataType::qint8) spec.type = DataType::float32;
  place->second = {run(plain), run(real)};
  return place->second;
}

void check_tuple(const Case& description, Scales scales, const Registry& registry,
                 const Routine& routine, const Problem& problem, int threads,
                 QuantizedCase& references) {
  const PreparedCase& prepared = references.prepared;
  INFO("routine: " << routine.descriptor().str() << " of " << routine.layer_type() << ", "
                   << formats_of(problem).str());
  PreparedCase quantized = with_inputs(prepared, problem);
  quantized.threads = threads;
  const QuantizedCase::Exact& exact = exact_result(registry, references, problem);
  bool all_rounded = true;
  for (const TensorSpec& spec : problem.inputs) all_rounded = all_rounded && !is_quantizable(spec);
  const RunResult dequantized =
      all_rounded ? RunResult{} : run_naive(dequantized_case(quantized, prepared));
  const RunResult& real = all_rounded ? references.real : dequantized;

  constexpr std::size_t kMostParams = 12;
  const ImplementationPtr implementation = quantized.implement(routine).value();
  const RoutineParams usual = implementation->default_params();
  std::vector<RoutineParams> all = implementation->param_space().list(kMostParams);
  if (std::find(all.begin(), all.end(), usual) == all.end()) all.insert(all.begin(), usual);
  for (const RoutineParams& params : all) {
    INFO("parameters: " << params.str());
    const RunResult run = run_routine(routine, quantized, test_pool(1), params);
    check_outputs(description, scales, quantized, run, exact, real);
    const RunResult several =
        run_routine(routine, for_many_threads(quantized, routine), test_pool(2), params);
    {
      INFO("several threads");
      CHECK(several.defect == "");
      CHECK(same_bits(run.outputs, several.outputs));
    }
    bool ran_in_place = false;
    const RunResult in_place =
        run_routine(routine, quantized, test_pool(1), params, true, &ran_in_place);
    if (!ran_in_place) continue;
    INFO("in place");
    CHECK(in_place.defect == "");
    CHECK(same_bits(run.outputs, in_place.outputs));
  }
}

}  // namespace

int check_quantized(const Registry& registry, const Case& description, const PreparedCase& prepared,
                    const std::vector<Tensor>& reference) {
  if (description.failure) return 0;
  int checked = 0;
  for (const Scales scales : {Scales::separate, Scales::shared, Scales::as_model, Scales::ties}) {
    // Signed inputs differ on the way in only, ties on the way out: small cases tell.
    constexpr double kSmall = 3e5;
    const bool large = work_of(prepared.problem) > kSmall;
    if (large && scales >= Scales::as_model && has_real_weights(prepared.problem)) continue;
    std::optional<QuantizedCase> references = with_quantization(prepared, reference, scales);
    if (!references) continue;
    const Problem& problem = references->prepared.problem;
    INFO("quantisation: " << name_of(scales));
    for (const Routine* routine : registry.routines(description.layer_type)) {
      if (routine->descriptor().type != DataType::qint8) continue;
      if (large && routine->descriptor().algorithm == "naive") continue;
      for (const FormatTuple& formats : routine->formats(problem)) {
        const Problem asked = with_formats(problem, formats);
        if (!references->prepared.context().implement(*routine, asked).ok()) continue;
        check_tuple(description, scales, registry, *routine, asked, 1, *references);
        if (!routine->facts().library.empty()) {
          // Libraries partition the work when the kernel is made.
          INFO("made for three threads");
          check_tuple(description, scales, registry, *routine, asked, 3, *references);
        }
        ++checked;
      }
    }
  }
  return checked;
}

}  // namespace softneuro::test
