#include "verify/step_verifier.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/routine/evaluate.h"
#include "core/routine/layer_cost.h"
#include "verify/element_check.h"

namespace softneuro {
namespace {

// cpu/naive is the reference of layers with at most so many multiply-adds or outputs: some
// milliseconds.
constexpr double kNaiveMacs = 1e6;
// What rounding inputs does to a layer is measured for one rounding, and the kernel rounds inside
// as well.
constexpr double kRoundings = 2;
// A number is halfway between two levels if it is so, apart from a hundredth of a level.
constexpr double kHalfway = 1.02;
constexpr double kSmallestHalf = 0x1p-24;  // the least number above zero that float16 has

// Whose rounding the step's results carry.
Precision precision_of(const Step& step, const PlannedTensor& planned) {
  const Precision computed =
      step.routine != nullptr ? step.routine->descriptor().precision() : DataType::float32;
  if (tolerance_of(computed) >= tolerance_of(planned.format.type) || !is_real(planned.format.type))
    return computed;
  return planned.format.type;
}

// What the layer itself rounds to levels, of whichever kind.
void set_levels(const Step& step, Tolerance& tolerance) {
  const auto round_to = [&](double scale) {
    tolerance.on_levels = true;
    tolerance.step = std::max(tolerance.step, scale);
  };
  const Layer& layer = *step.layer;
  if (layer.type->name == "unary" && layer.params.text("op") == to_string(UnaryOp::fake_quantize))
    round_to(layer.params.real("alpha"));
  for (const PostOp& op : layer.post_ops)
    if (op.kind == PostOp::Kind::unary && op.unary == UnaryOp::fake_quantize)
      round_to(static_cast<double>(op.alpha));
}

Result<Tensor> within_range(const Tensor& tensor, const RealRange& range, Allocator& allocator) {
  SN_ASSIGN_OR_RETURN(Tensor held, tensor.clone(allocator));
  const TensorView view = view_of(held);
  for (std::int64_t i = 0; i < held.elements(); ++i)
    store(view, i, std::fmin(std::fmax(load(view, i), range.low), range.high));
  return held;
}

}  // namespace

// The layer as the tuned graph has it against the model, both in the model's types.
Status StepVerifier::check_against_model(const Step& step, TensorId id, const Tensor& expected,
                                         const Tensor& actual) const {
  if (is_same_graph_) return {};
  Tolerance tolerance;
  tolerance.relative = tolerance_of(DataType::float32);
  set_levels(step, tolerance);
  const std::string why = mismatch(expected, actual, tolerance);
  return why.empty() ? Status() : mismatch_at(step, id, why + ", even when computed in float32");
}

Status StepVerifier::check_output(const Step& step, std::size_t o, const Tensor& expected,
                                  const Tensor& actual, std::span<const Tensor> inputs,
                                  const Tensor* untouched) const {
  const TensorId id = step.outputs[o];
  const PlannedTensor& planned = plan_.tensors[id];
  const Precision type = precision_of(step, planned);
  Tolerance tolerance;
  tolerance.relative = tolerance_of(type);
  tolerance.unbiased = type != DataType::float32;
  set_levels(step, tolerance);
  const Tensor* reference = &expected;
  Tensor held;
  const std::optional<Quantization>& q = plan_.graph->tensor(id).quantization;
  // 8-bit arithmetic cannot tell less than a step of the result's range, whatever it is stored
  // as.
  if (type == DataType::qint8 && q && q->axis < 0)
    tolerance.step = std::max(tolerance.step, static_cast<double>(q->scales[0]));
  // Either side may be rounded to the smallest of these.
  if (type == DataType::float16 || expected.data_type() == DataType::float16)
    tolerance.step = std::max(tolerance.step, kSmallestHalf);
  if (planned.format.type == DataType::qint8) {
    const bool has_range = is_real(expected.data_type()) && q->axis < 0;
    if (has_range) {
      SN_ASSIGN_OR_RETURN(held, within_range(expected, range_of(*q), runtime_.allocator()));
      reference = &held;
    }
  }
  // By how much rounding of the inputs moves the result.
  if (untouched != nullptr)
    tolerance.absolute = kRoundings * compare_tensors(expected, *untouched, 0).error();
  std::string why = mismatch(*reference, actual, tolerance);
  if (why.empty() && o == 0 && type == DataType::float32)
    if (std::string fault = element_fault(step, actual, inputs); !fault.empty())
      return mismatch_at(step, id, "is wrong in itself: " + fault);
  if (!why.empty() && tolerance.on_levels) {
    const Tensor* const both[] = {reference, &actual};
    SN_ASSIGN_OR_RETURN(const bool nearest, are_nearest(step, o, both, inputs, tolerance));
    if (nearest) return {};
  }
  if (why.empty() && !is_checked_by_naive(step, o)) return {};
  if (is_same_graph_ && type == DataType::float32 && o == 0 && !step.layer->type->is_adapt()) {
    // Neither of the two need be the exact one.
    const bool cheap = naive_is_cheap(*step.layer);
    if (why.empty() && !cheap) return {};
    const auto naive = evaluate_with(runtime_.registry(), "cpu/naive", *step.layer, inputs);
    if (!naive.ok()) return why.empty() ? Status() : mismatch_at(step, id, why);
    const double noise = compare_tensors((*naive)[o], expected, 0).error();
    tolerance.absolute = why.empty() ? 0 : kFloatNoise * noise;
    why = mismatch((*naive)[o], actual, tolerance);
    if (!why.empty()) {
      SN_ASSIGN_OR_RETURN(const double cancelled, error_of_rounding(step, o, (*naive)[o], inputs));
      tolerance.absolute += kFloatNoise * cancelled;
      why = mismatch((*naive)[o], actual, tolerance);
    }
  }
  return why.empty() ? Status() : mismatch_at(step, id, why);
}

// Of an element-wise layer in float32; empty if nothing is wrong, and of others.
std::string StepVerifier::element_fault(const Step& step, const Tensor& actual,
                                        std::span<const Tensor> inputs) const {
  const Result<Problem> problem = problem_of(plan_, *step.layer);
  const auto chain = problem.ok() ? ElementChain::of(*problem) : std::nullopt;
  if (!chain) return {};
  return check_elements(*chain, inputs, actual, DataType::float32, actual.data_type(),
                        kElementSlack, kCheckedElements)
      .fault();
}

// What a rounding of each float32 input does to the exact output: much where sums cancel.
Result<double> StepVerifier::error_of_rounding(const Step& step, std::size_t o, const Tensor& exact,
                                               std::span<const Tensor> inputs) const {
  constexpr float kRounding = 0x1p-23f;
  std::vector<Tensor> rounded(inputs.begin(), inputs.end());
  for (Tensor& tensor : rounded) {
    if (tensor.data_type() != DataType::float32) continue;
    SN_ASSIGN_OR_RETURN(tensor, tensor.clone(runtime_.allocator()));
    float sign = kRounding;
    for (float& value : tensor.mutable_values<float>()) value += value * (sign = -sign);
  }
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                      evaluate_with(runtime_.registry(), "cpu/naive", *step.layer, rounded));
  return compare_tensors(exact, outputs[o], 0).error();
}

// Whether the step's last post-op rounds to levels, and each of `rounded` is nearest to what that
// is given: means of levels often lie halfway between two, where the order of a sum decides.
Result<bool> StepVerifier::are_nearest(const Step& step, std::size_t o,
                                       std::span<const Tensor* const> rounded,
                                       std::span<const Tensor> inputs, Tolerance tolerance) const {
  Layer layer = *step.layer;
  if (layer.post_ops.empty() || layer.post_ops.back().kind != PostOp::Kind::unary ||
      layer.post_ops.back().unary != UnaryOp::fake_quantize)
    return false;
  const auto scale = static_cast<double>(layer.post_ops.back().alpha);
  const auto low = static_cast<double>(layer.post_ops.back().beta);
  layer.post_ops.pop_back();
  const Registry& registry = runtime_.registry();
  SN_ASSIGN_OR_RETURN(const std::vector<Tensor> given,
                      naive_is_cheap(layer)
                          ? evaluate_with(registry, "cpu/naive", layer, inputs)
                          : evaluate(registry, layer, inputs, runtime_.allocator()));
  SN_ASSIGN_OR_RETURN(const Tensor held, within_range(given[o], {scale * low, scale * (low + 255)},
                                                      runtime_.allocator()));
  tolerance.step *= kHalfway;
  return std::all_of(rounded.begin(), rounded.end(), [&](const Tensor* tensor) {
    return mismatch(held, *tensor, tolerance).empty();
  });
}

// The model's plan may have taken the same routine: a flaw of it would not show.
bool StepVerifier::is_checked_by_naive(const Step& step, std::size_t o) const {
  return o == 0 && step.routine != nullptr && is_same_graph_ &&
         step.routine->descriptor().precision() == DataType::float32 &&
         step.routine->descriptor().algorithm != "naive";
}

bool StepVerifier::naive_is_cheap(const Layer& layer) const {
  const Result<Problem> problem = problem_of(plan_, layer);
  return problem.ok() && layer_cost(*problem).macs <= kNaiveMacs &&
         problem->outputs[0].shape.elements() <= static_cast<std::int64_t>(kNaiveMacs);
}

Status StepVerifier::mismatch_at(const Step& step, TensorId id, const std::string& why) const {
  return internal_error(
      "the net differs from the model at layer '{}' ({}): '{}' {}; try other schemas, and please "
      "report this",
      step.layer->name, step.routine_name, plan_.graph->tensor(id).name, why);
}

}  // namespace softneuro
