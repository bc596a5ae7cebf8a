#include "profiler/measure/element_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/routine/format.h"

namespace softneuro {
namespace {

// A type of real numbers.
struct Numbers {
  int digits = 24;    // of the mantissa, the leading one included
  int lowest = -126;  // exponent of the smallest normal number
  double largest = 0x1.fffffep127;

  double smallest_normal() const { return std::ldexp(1.0, lowest); }
  double ulp(double value) const {
    if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, lowest - digits + 1);
    return std::ldexp(1.0, std::max(std::ilogb(value), lowest) - digits + 1);
  }
  // Where rounding gives infinity.
  double end() const { return largest + ulp(largest) / 2; }
};

Numbers numbers_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {11, -14, 65504};
    case DataType::bfloat16:
      return {8, -126, 0x1.fep127};
    case DataType::float64:
      return {53, -1022, 0x1.fffffffffffffp1023};
    default:
      return {};
  }
}

// Where element `i` of `output` has its operand, which broadcasts to it.
std::int64_t place(std::int64_t i, const Shape& output, const Shape& operand) {
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
std::optional<PostOp> own_function(const Problem& problem) {
  PostOp own;
  if (problem.type->name == "unary") {
    if (!parse(problem.params.text("op"), own.unary)) return std::nullopt;
    own.alpha = static_cast<float>(problem.params.real("alpha"));
    own.beta = static_cast<float>(problem.params.real("beta"));
    return own;
  }
  if (problem.type->name == "binary") {
    own.kind = PostOp::Kind::binary;
    own.input = 1;
    if (!parse(problem.params.text("op"), own.binary)) return std::nullopt;
    return own;
  }
  if (problem.type->name != "clip") return std::nullopt;
  const auto low = limit_of(problem, 1, -INFINITY), high = limit_of(problem, 2, INFINITY);
  if (!low || !high) return std::nullopt;
  own.unary = UnaryOp::clip;
  own.alpha = *low;
  own.beta = *high;
  return own;
}

}  // namespace

std::optional<ElementChain> ElementChain::of(const Problem& problem) {
  std::optional<PostOp> own = own_function(problem);
  std::optional<ElementChain> chain = own ? of_post_ops(problem) : std::nullopt;
  if (!chain || !has_real_result(*own)) return std::nullopt;
  chain->first_shape_ = problem.inputs[0].shape;
  const FunctionAccuracy accuracy =
      own->kind == PostOp::Kind::unary ? accuracy_of(own->unary) : accuracy_of(own->binary);
  chain->steps_.insert(chain->steps_.begin(), {*own, accuracy});
  if (own->kind == PostOp::Kind::binary)
    chain->shapes_.insert(chain->shapes_.begin(), problem.inputs[1].shape);
  else
    chain->shapes_.insert(chain->shapes_.begin(), Shape{});
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
    const bool is_unary = op.kind == PostOp::Kind::unary;
    chain.steps_.push_back({op, is_unary ? accuracy_of(op.unary) : accuracy_of(op.binary)});
    chain.shapes_.push_back(is_unary ? Shape{} : problem.inputs[op.input].shape);
  }
  return chain;
}

double ElementChain::run(std::size_t from, double value, std::span<const double> operands) const {
  for (std::size_t s = from; s < steps_.size(); ++s)
    value = apply_step(steps_[s].op, value, operands[s]);
  return value;
}

ElementChain::Element ElementChain::element(std::span<const Tensor> inputs, std::int64_t i,
                                            DataType arithmetic, DataType output,
                                            double slack) const {
  const Numbers numbers = numbers_of(arithmetic), rounded = numbers_of(output);
  double values[kMostSteps + 1], operands[kMostSteps];
  values[0] = load(view_of(inputs[0]), place(i, shape_, first_shape_));
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const PostOp& op = steps_[s].op;
    operands[s] = op.kind == PostOp::Kind::unary
                      ? 0
                      : load(view_of(inputs[op.input]), place(i, shape_, shapes_[s]));
    values[s + 1] = apply_step(op, values[s], operands[s]);
  }
  Element element;
  element.exact = values[steps_.size()];
  element.ulp = rounded.ulp(element.exact);
  // Of the result of step `s`.
  const auto floor_of = [&](std::size_t s, const Numbers& type) {
    const FunctionAccuracy& accuracy = steps_[s].accuracy;
    const double factor = accuracy.is_product ? std::max(std::fabs(values[s]), 1.0) : 1;
    return type.smallest_normal() * accuracy.vanishing * factor;
  };
  element.floor = steps_.empty() ? rounded.smallest_normal() : floor_of(steps_.size() - 1, rounded);
  const auto add_effect = [&](std::size_t from, double value) {
    const double moved = std::fabs(run(from, value, operands) - element.exact);
    return std::isnan(moved) ? INFINITY : moved;
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const FunctionAccuracy& accuracy = steps_[s].accuracy;
    const double own = s == 0 ? 0 : 0.5 + slack * steps_[s - 1].accuracy.result;
    if (s > 0 && std::isfinite(values[s]) && std::fabs(values[s]) > numbers.end()) {
      element.allowed = INFINITY;  // overflows on the way
      return element;
    }
    const double units = own + slack * accuracy.argument;
    const double change = units * numbers.ulp(values[s]);
    if (std::isfinite(values[s]) && change > 0)
      element.allowed +=
          std::max(add_effect(s, values[s] - change), add_effect(s, values[s] + change));
    // What underflows on the way may be zero.
    if (s > 0 && values[s] != 0 && std::fabs(values[s]) < floor_of(s - 1, numbers))
      element.allowed += add_effect(s, std::copysign(0.0, values[s]));
    if (steps_[s].op.kind == PostOp::Kind::unary || accuracy.argument == 0) continue;
    const double operand = operands[s], change_b = slack * accuracy.argument * numbers.ulp(operand);
    double most = 0;
    for (const double moved : {operand - change_b, operand + change_b}) {
      operands[s] = moved;
      most = std::max(most, add_effect(s, values[s]));
    }
    operands[s] = operand;
    element.allowed += most;
  }
  if (!steps_.empty())
    element.allowed += slack * steps_.back().accuracy.result * numbers.ulp(element.exact);
  element.allowed += element.ulp / 2;
  return element;
}

std::string ElementReport::fault() const {
  if (!is_wrong()) return {};
  return fmt::format("element {}: {} where {} is exact ({:.3g} units in the last place)", element,
                     actual, exact, ulps);
}

namespace {

// How far `actual` is off, as a share of what is allowed.
double share_of(const ElementChain::Element& element, double actual, const Numbers& numbers) {
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
  const Numbers numbers = numbers_of(output);
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
