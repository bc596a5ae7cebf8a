#include "verify/element_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/routine/format.h"
#include "verify/float_type.h"

namespace softneuro {
namespace {

double apply_step(const PostOp& op, double value, double operand) {
  if (op.kind == PostOp::Kind::unary)
    return apply(op.unary, value, static_cast<double>(op.alpha), static_cast<double>(op.beta));
  return op.swapped ? apply(op.binary, operand, value) : apply(op.binary, value, operand);
}

bool has_real_result(const PostOp& op) {
  return op.kind == PostOp::Kind::unary ? op.unary < UnaryOp::logical_not
                                        : op.binary <= BinaryOp::prelu;
}

// Number of an input that a layer may have, as a limit of clip.
std::optional<float> limit_of(const Problem& problem, std::size_t input, float otherwise) {
  if (!problem.has_input(input)) return otherwise;
  const Tensor& value = problem.inputs[input].value;
  if (value.empty() || value.elements() != 1) return std::nullopt;
  return static_cast<float>(load(view_of(value), 0));
}

// What stands in front of the post-ops.
std::optional<PostOp> first_function(const Problem& problem) {
  PostOp first;
  if (problem.type->name == "unary") {
    if (!parse(problem.params.text("op"), first.unary)) return std::nullopt;
    first.alpha = static_cast<float>(problem.params.real("alpha"));
    first.beta = static_cast<float>(problem.params.real("beta"));
    return first;
  }
  if (problem.type->name == "binary") {
    first.kind = PostOp::Kind::binary;
    first.input = 1;
    if (!parse(problem.params.text("op"), first.binary)) return std::nullopt;
    return first;
  }
  if (problem.type->name != "clip") return std::nullopt;
  const auto low = limit_of(problem, 1, -INFINITY), high = limit_of(problem, 2, INFINITY);
  if (!low || !high) return std::nullopt;
  first.unary = UnaryOp::clip;
  first.alpha = *low;
  first.beta = *high;
  return first;
}

}  // namespace

std::int64_t broadcast_index(std::int64_t i, const Shape& output, const Shape& operand) {
  if (operand == output) return i;
  std::int64_t at = 0, step = 1;
  const int shift = output.rank() - operand.rank();
  for (int d = output.rank() - 1; d >= shift; --d) {
    const std::int64_t size = operand[d - shift];
    if (size != 1) at += i % output[d] * step;
    step *= size;
    i /= output[d];
  }
  return at;
}

std::optional<ElementChain> ElementChain::of(const Problem& problem) {
  std::optional<PostOp> first = first_function(problem);
  std::optional<ElementChain> chain = first ? of_post_ops(problem) : std::nullopt;
  if (!chain || !has_real_result(*first)) return std::nullopt;
  chain->first_shape_ = problem.inputs[0].shape;
  chain->steps_.insert(chain->steps_.begin(), step_of(problem, *first));
  return chain;
}

std::optional<ElementChain> ElementChain::of_post_ops(const Problem& problem) {
  if (!is_real(problem.outputs[0].type) || !is_real(problem.inputs[0].type) ||
      problem.post_ops.size() >= kMostSteps)
    return std::nullopt;
  ElementChain chain;
  chain.shape_ = chain.first_shape_ = problem.outputs[0].shape;
  for (const PostOp& op : problem.post_ops) {
    if (!has_real_result(op)) return std::nullopt;
    chain.steps_.push_back(step_of(problem, op));
  }
  return chain;
}

ElementChain::Step ElementChain::step_of(const Problem& problem, const PostOp& op) {
  if (op.kind == PostOp::Kind::unary) return {op, accuracy_of(op.unary), {}};
  return {op, accuracy_of(op.binary), problem.inputs[op.input].shape};
}

// One element on its way through the chain.
class ElementChain::Way {
 public:
  Way(const ElementChain& chain, std::span<const Tensor> inputs, std::int64_t i)
      : steps_(chain.steps_) {
    values_[0] = load(view_of(inputs[0]), broadcast_index(i, chain.shape_, chain.first_shape_));
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const PostOp& op = steps_[s].op;
      if (op.kind == PostOp::Kind::binary)
        operands_[s] =
            load(view_of(inputs[op.input]), broadcast_index(i, chain.shape_, steps_[s].shape));
      values_[s + 1] = apply_step(op, values_[s], operands_[s]);
    }
  }

  double result() const { return values_[steps_.size()]; }

  // Whether a type of these numbers cannot hold what is made on the way.
  bool overflows(const FloatType& numbers) const {
    for (std::size_t s = 1; s < steps_.size(); ++s)
      if (std::isfinite(values_[s]) && std::fabs(values_[s]) > numbers.end()) return true;
    return false;
  }

  // How small a result of step `s` may be left to underflow.
  double floor(std::size_t s, const FloatType& numbers) const {
    const FunctionAccuracy& accuracy = steps_[s].accuracy;
    const double factor = accuracy.is_product ? std::max(std::fabs(values_[s]), 1.0) : 1;
    return numbers.smallest_normal() * accuracy.vanishing * factor;
  }

  // How far the result moves by what is rounded in front of step `s`, and as if there.
  double moved_by(std::size_t s, const FloatType& numbers, double slack) {
    const double value = values_[s], argument = slack * steps_[s].accuracy.argument;
    const double rounding = s == 0 ? 0 : 0.5 + slack * steps_[s - 1].accuracy.result;
    double moved = 0;
    if (const double units = argument + rounding; std::isfinite(value) && units > 0)
      moved += around(value, units * numbers.ulp(value), [&](double v) { return effect(s, v); });
    // What underflows on the way may be zero.
    if (s > 0 && value != 0 && std::fabs(value) < floor(s - 1, numbers))
      moved += effect(s, std::copysign(0.0, value));
    if (steps_[s].op.kind == PostOp::Kind::unary || argument == 0) return moved;
    const double operand = operands_[s];
    moved += around(operand, argument * numbers.ulp(operand), [&](double v) {
      operands_[s] = v;
      return effect(s, value);
    });
    operands_[s] = operand;
    return moved;
  }

 private:
  // How far the result moves if step `s` is given `value`.
  double effect(std::size_t s, double value) const {
    for (; s < steps_.size(); ++s) value = apply_step(steps_[s].op, value, operands_[s]);
    const double moved = std::fabs(value - result());
    return std::isnan(moved) ? INFINITY : moved;
  }
  template <class F>
  static double around(double value, double change, F effect_of) {
    return std::max(effect_of(value - change), effect_of(value + change));
  }

  const std::vector<Step>& steps_;
  double values_[kMostSteps + 1] = {}, operands_[kMostSteps] = {};
};

ElementChain::Element ElementChain::element(std::span<const Tensor> inputs, std::int64_t i,
                                            DataType arithmetic, DataType output,
                                            double slack) const {
  const FloatType numbers = float_type_of(arithmetic), rounded = float_type_of(output);
  Way way(*this, inputs, i);
  Element element;
  element.exact = way.result();
  element.ulp = rounded.ulp(element.exact);
  element.floor = rounded.smallest_normal();
  element.allowed = way.overflows(numbers) ? INFINITY : element.ulp / 2;
  if (steps_.empty()) return element;
  for (std::size_t s = 0; s < steps_.size(); ++s)
    element.allowed += way.moved_by(s, numbers, slack);
  element.allowed += slack * steps_.back().accuracy.result * numbers.ulp(element.exact);
  element.floor = way.floor(steps_.size() - 1, rounded);
  return element;
}

std::string ElementReport::fault() const {
  if (!is_wrong()) return {};
  return fmt::format("element {}: {} where {} is exact ({:.3g} units in the last place)", element,
                     actual, exact, ulps);
}

namespace {

// How far `actual` is off, as a share of what is allowed.
double share_of(const ElementChain::Element& element, double actual, const FloatType& numbers) {
  const double exact = element.exact;
  if (std::isinf(element.allowed)) return 0;
  if (std::isnan(exact) || std::isnan(actual))
    return std::isnan(exact) == std::isnan(actual) ? 0 : INFINITY;
  if (actual == exact) return 0;
  // Beside the end of the range either side of it will do.
  if (std::isinf(exact)) return INFINITY;
  if (std::isinf(actual)) {
    const bool reaches =
        std::fabs(exact) + element.allowed >= numbers.end() && std::signbit(exact) == (actual < 0);
    return reaches ? 0 : INFINITY;
  }
  if (std::fabs(exact) >= numbers.end())
    return std::fabs(exact) - element.allowed <= std::fabs(actual) ? 0 : INFINITY;
  if (std::fabs(actual - exact) < element.floor && !(actual * exact < 0)) return 0;
  return std::fabs(actual - exact) / element.allowed;
}

}  // namespace

ElementReport check_elements(const ElementChain& chain, std::span<const Tensor> inputs,
                             const Tensor& actual, DataType arithmetic, DataType output,
                             double slack, std::int64_t most) {
  const TensorView view = view_of(actual);
  const FloatType numbers = float_type_of(output);
  ElementReport worst;
  const std::int64_t count = std::min(actual.elements(), most);
  for (std::int64_t i = 0; i < count; ++i) {
    const ElementChain::Element element = chain.element(inputs, i, arithmetic, output, slack);
    const double y = load(view, i);
    const double share = share_of(element, y, numbers);
    if (share > worst.share || worst.element < 0) {
      worst.share = share;
      worst.element = i;
      worst.exact = element.exact;
      worst.actual = y;
      worst.ulps = std::fabs(y - element.exact) / element.ulp;
    }
  }
  return worst;
}

}  // namespace softneuro
