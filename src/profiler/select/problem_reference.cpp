#include "profiler/select/problem_reference.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/plan/single_run.h"
#include "verify/element_check.h"
#include "verify/random_inputs.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// Random inputs reach farther than the samples that the range comes from, and saturating there is
// right.
RealRange bounds_of(const Format& format, const std::optional<Quantization>& quantization) {
  if (format.type != DataType::qint8 || !quantization || quantization->axis >= 0) return {};
  return range_of(*quantization);
}

// The same where all numbers are finite, several at a time; else NaN or infinity.
double relative_rms_of_floats(const float* expected, const float* actual, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  double square[kLanes] = {}, difference[kLanes] = {};
  const auto add = [&](std::int64_t i, std::int64_t lane) {
    const double x = expected[i], d = x - actual[i];
    square[lane] += x * x;
    difference[lane] += d * d;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  for (; i < count; ++i) add(i, 0);
  double squares = 0, differences = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    squares += square[lane];
    differences += difference[lane];
  }
  if (differences == 0) return squares * 0;  // NaN is no zero
  return std::sqrt(differences / squares);
}

// RMS(actual − expected) / RMS(expected); 0 if both are zero. Infinite where only one is NaN.
double relative_rms(const Tensor& expected, const Tensor& actual, const RealRange& bounds) {
  if (expected.data_type() == DataType::float32 && actual.data_type() == DataType::float32 &&
      std::isinf(bounds.low) && std::isinf(bounds.high)) {
    const double quick =
        relative_rms_of_floats(static_cast<const float*>(expected.data()),
                               static_cast<const float*>(actual.data()), expected.elements());
    if (std::isfinite(quick)) return quick;
  }
  return compare_tensors(expected, actual, 0, bounds).relative();
}

bool is_quantized(const TensorSpec& spec) {
  return spec.type == DataType::qint8;
}

// The one that has fewer digits.
DataType coarser(DataType a, DataType b) {
  return tolerance_of(a) > tolerance_of(b) ? a : b;
}

}  // namespace

Status ProblemReference::prepare(LastPacking& packing) {
  if (!outputs_.empty()) return {};
  SN_ASSIGN_OR_RETURN(inputs_.plain, random_inputs(model_, runtime_.allocator()));
  const std::string float32 = "cpu:float32";
  SN_ASSIGN_OR_RETURN(const ImplementationPtr usual,
                      runtime_.routine_context().default_choice(model_, {&float32, 1}));
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, inputs_as(model_));
  SN_ASSIGN_OR_RETURN(
      KernelBench bench,
      KernelBench::create(runtime_, *usual, usual->default_params(), std::move(inputs), &packing));
  SN_RETURN_IF_ERROR(bench.run());
  for (std::size_t o = 0; o < bench.outputs().size(); ++o) {
    Tensor output = bench.outputs()[o];
    if (!output.empty()) {
      SN_ASSIGN_OR_RETURN(output, in_format(runtime_, output, {output.data_type(), Layout::plain},
                                            model_.outputs[o].quantization));
    }
    outputs_.push_back(std::move(output));
  }
  return {};
}

Result<std::vector<Tensor>> ProblemReference::in_formats(Inputs& inputs, const Problem& problem) {
  std::vector<Tensor> formatted;
  for (std::size_t i = 0; i < inputs.plain.size(); ++i) {
    const TensorSpec& spec = problem.inputs[i];
    if (inputs.plain[i].empty()) {
      formatted.emplace_back();
      continue;
    }
    // Most candidates want the formats that others had before.
    const Format format{spec.type, spec.layout};  // on the host
    auto& known = inputs.by_format[fmt::format("{} {}", i, format.str())];
    if (known.empty()) {
      SN_ASSIGN_OR_RETURN(known, in_format(runtime_, inputs.plain[i], format, spec.quantization));
    }
    formatted.push_back(known);
  }
  return formatted;
}

Result<double> ProblemReference::error_of(std::span<const Tensor> outputs,
                                          const FormatTuple& formats) const {
  double worst = 0;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const Tensor& expected = outputs_[o];
    if (expected.empty() || expected.elements() == 0) continue;
    SN_ASSIGN_OR_RETURN(const Tensor actual,
                        in_format(runtime_, outputs[o], {expected.data_type(), Layout::plain},
                                  model_.outputs[o].quantization));
    if (is_real(expected.data_type())) {
      const double error = relative_rms(
          expected, actual, bounds_of(formats.outputs[o], model_.outputs[o].quantization));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    } else if (!same_bits(expected, actual)) {
      worst = INFINITY;
    }
  }
  return worst;
}

Result<std::string> ProblemReference::fault_in_tails(const KernelBench& bench,
                                                     const Routine& routine,
                                                     const Problem& problem) {
  const auto chain = ElementChain::of(problem);
  if (!chain || is_quantized(problem.outputs[0]) ||
      std::any_of(problem.inputs.begin(), problem.inputs.end(), is_quantized))
    return std::string();
  if (tails_.plain.empty()) {
    SN_ASSIGN_OR_RETURN(tails_.plain, tail_inputs(model_, runtime_.allocator()));
  }
  Problem plain = problem;
  for (TensorSpec& spec : plain.inputs) spec.layout = Layout::plain;
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> seen, in_formats(tails_, plain));
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, in_formats(tails_, problem));
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                      run_once(runtime_, *bench.kernel(), routine, problem, std::move(inputs)));
  const DataType output = coarser(problem.outputs[0].type, model_.outputs[0].type);
  SN_ASSIGN_OR_RETURN(const Tensor actual,
                      in_format(runtime_, outputs[0], {output, Layout::plain}, std::nullopt));
  const DataType arithmetic = coarser(routine.descriptor().type, output);
  return check_elements(*chain, seen, actual, arithmetic, output, kElementSlack, kCheckedElements)
      .fault();
}

}  // namespace softneuro
