#include "unit/passes/exactness.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/base/element.h"
#include "core/routine/evaluate.h"

namespace softneuro::test {
namespace {

struct Range {
  double most;      // the largest finite number
  double normal;    // the smallest normal one
  double roundoff;  // half the distance of numbers from 1 up
};

Range range_of(DataType type) {
  if (type == DataType::float16) return {65504, 0x1p-14, 0x1p-11};
  if (type == DataType::bfloat16) return {0x1.fep127, 0x1p-126, 0x1p-8};
  if (type == DataType::float64)
    return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 0x1p-53};
  return {static_cast<double>(std::numeric_limits<float>::max()), 0x1p-126, 0x1p-24};
}

// How the model itself could have rounded: each result by up to a unit, likewise the terms of sums.
class Disturbance {
 public:
  Disturbance(std::uint32_t seed, DataType type) : random_(seed), range_(range_of(type)) {}

  void disturb(const Tensor& tensor) {
    const TensorView view = view_of(tensor);
    if (view.type != DataType::float64) return;
    for (std::int64_t i = 0; i < view.elements(); ++i) {
      const double v = load(view, i);
      if (!std::isfinite(v)) continue;
      store(view, i,
            limited(v * (1 + range_.roundoff * unit_(random_)) +
                    range_.normal * range_.roundoff * unit_(random_)));
    }
  }
  // Out of the range is infinite.
  double limited(double v) const {
    return std::fabs(v) > range_.most ? std::copysign(INFINITY, v) : v;
  }
  void limit(const Tensor& tensor) const {
    const TensorView view = view_of(tensor);
    if (view.type != DataType::float64) return;
    for (std::int64_t i = 0; i < view.elements(); ++i) store(view, i, limited(load(view, i)));
  }

 private:
  std::mt19937 random_;
  std::uniform_real_distribution<double> unit_{-1, 1};
  Range range_;
};

Tensor converted(const Tensor& tensor, DataType type) {
  Tensor result = *Tensor::create(type, tensor.shape());
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    store(view_of(result), i, load(view_of(tensor), i));
  return result;
}

// The graph in float64, with the constants that it has.
Graph widened(Graph graph) {
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    TensorDef& def = graph.tensor(static_cast<TensorId>(i));
    if (!is_float(def.type)) continue;
    def.type = DataType::float64;
    if (def.is_constant()) def.constant = converted(def.constant, DataType::float64);
  }
  REQUIRE(graph.infer_shapes().ok());
  return graph;
}

// Layers whose rounding is not that of their result alone.
bool sums(const Layer& layer) {
  return layer.type->category == LayerCategory::product ||
         layer.type->category == LayerCategory::reduction ||
         layer.type->category == LayerCategory::normalization;
}

// The only output, by cpu/naive.
Tensor run(const Graph& graph, const std::vector<Tensor>& inputs, Disturbance* disturbance,
           bool disturbs) {
  std::vector<Tensor> values(graph.tensor_count());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = graph.tensor(static_cast<TensorId>(i)).constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Layer& layer : graph.layers()) {
    std::vector<Tensor> given;
    for (const TensorId id : layer.inputs) {
      given.push_back(id == kNoTensor ? Tensor() : values[id]);
      if (!disturbs || !sums(layer) || given.back().data_type() != DataType::float64) continue;
      given.back() = converted(given.back(), DataType::float64);
      disturbance->disturb(given.back());
    }
    Result<std::vector<Tensor>> made = evaluate_with(builtin_registry(), "cpu/naive", layer, given);
    INFO(made.status().message());
    REQUIRE(made.ok());
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      if (layer.outputs[i] == kNoTensor) continue;
      values[layer.outputs[i]] = (*made)[i];
      if (disturbance == nullptr) continue;
      values[layer.outputs[i]] = converted((*made)[i], (*made)[i].data_type());
      if (disturbs)
        disturbance->disturb(values[layer.outputs[i]]);
      else
        disturbance->limit(values[layer.outputs[i]]);
    }
  }
  return values[graph.outputs[0]];
}

std::vector<Tensor> drawn_inputs(const Graph& graph, Draw& draw) {
  std::vector<Tensor> inputs;
  for (const TensorId id : graph.inputs) {
    const TensorDef& def = graph.tensor(id);
    Shape shape;
    for (const Dim& dim : def.shape.dims()) shape.push_back(dim.known() ? dim.value : 3);
    Tensor tensor = *Tensor::create(def.type, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) store(view_of(tensor), i, draw.input());
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void check_same(const Tensor& before, const Tensor& after) {
  for (std::int64_t i = 0; i < before.elements(); ++i) {
    const double a = load(view_of(before), i), b = load(view_of(after), i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    FAIL(fmt::format("element {}: {} became {}", i, a, b));
  }
}

// As far as the model's own rounding, simulated, takes its results from the exact ones, times the
// digits that a pass may lose (kMostUnitsOfShift in two parts of a sum, and chance).
constexpr double kMostLoss = 16;
constexpr std::uint32_t kRuns = 8;
// So much larger than the sum its terms may be: nearer to the end of the range they may overflow.
constexpr double kMostTerms = 1024;

void check_bounded(const Graph& graph, const std::vector<Tensor>& inputs, const Tensor& before,
                   const Tensor& after, std::uint32_t seed) {
  const Graph wide = widened(graph);
  std::vector<Tensor> wide_inputs;
  for (const Tensor& input : inputs) wide_inputs.push_back(converted(input, DataType::float64));
  Disturbance none(seed, before.data_type());
  const Tensor exact = run(wide, wide_inputs, &none, false);
  const Range range = range_of(before.data_type());
  // Half of what subnormal numbers differ by, as far as a double holds that.
  const double least = std::max(range.normal * range.roundoff, 0x1p-1074);
  std::vector<double> spread;
  for (std::int64_t i = 0; i < exact.elements(); ++i)
    spread.push_back(least + std::fabs(load(view_of(before), i) - load(view_of(exact), i)));
  for (std::uint32_t k = 0; k < kRuns; ++k) {
    Disturbance disturbance(seed * kRuns + k, before.data_type());
    const Tensor disturbed = run(wide, wide_inputs, &disturbance, true);
    for (std::size_t i = 0; i < spread.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const double d = std::fabs(load(view_of(disturbed), at) - load(view_of(exact), at));
      spread[i] = d <= spread[i] ? spread[i] : d;  // NaN stays
    }
  }
  // As if the range had no end: a pass may keep what the model loses in between.
  const Tensor boundless = run(wide, wide_inputs, nullptr, false);
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const double model = load(view_of(before), at), passed = load(view_of(after), at);
    const double right = load(view_of(exact), at), better = load(view_of(boundless), at);
    if (!(std::fabs(model) <= range.most / kMostTerms) || !std::isfinite(spread[i]) ||
        std::fabs(passed - right) <= kMostLoss * spread[i] ||
        std::fabs(passed - better) <= kMostLoss * (range.roundoff * std::fabs(better) + least))
      continue;
    FAIL(fmt::format("element {}: {} became {}, where {} is right and the model loses {}", i, model,
                     passed, right, spread[i]));
  }
}

}  // namespace

double Draw::uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_);
}

double Draw::number() {
  const Range range = range_of(type_);
  const double sign = chance() ? 1 : -1;
  switch (below(10)) {
    case 0:
      return sign * below(100);
    case 1:
      return sign * (below(100) + 0.5);
    case 2:
      return sign * std::ldexp(1, below(21) - 10);
    case 3:
      return sign * range.most * uniform(0.2, 0.99);
    case 4:
      return sign * range.normal * uniform(0.001, 2);
    case 5:
      return sign * std::pow(10, uniform(-4, 4));
    case 6:
      return sign * std::pow(range.most, uniform(0.3, 0.6));
    case 7:
      return sign * 0.0;
    default:
      return normal();
  }
}

double Draw::nonzero() {
  for (;;)
    if (const double n = number(); n != 0) return n;
}

double Draw::mild() {
  switch (below(4)) {
    case 0:
      return 1 + below(9);
    case 1:
      return std::ldexp(1, below(7) - 3);
    default:
      return uniform(0.1, 3) * (chance() ? 1 : -1);
  }
}

double Draw::input() {
  if (below(25) == 0)
    return !infinities || below(3) == 0 ? std::nan("") : chance() ? INFINITY : -INFINITY;
  return spread != 0 ? center + spread * normal() : number();
}

void check_exactness(const ExactnessCase& test, DataType type, std::uint32_t seeds) {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    INFO(test.name << ", " << to_string(type) << ", seed " << seed);
    Draw draw(seed, type);
    GraphBuilder builder;
    const TensorId y = test.build(builder, draw);
    const Graph graph = builder.finish({y});
    const Graph passed = apply_passes(graph, test.passes);
    INFO("before: " << outline(graph));
    INFO("after: " << outline(passed));
    const std::vector<Tensor> inputs = drawn_inputs(graph, draw);
    const Tensor before = run(graph, inputs, nullptr, false);
    const Tensor after = run(passed, inputs, nullptr, false);
    REQUIRE(after.shape() == before.shape());
    REQUIRE(after.data_type() == before.data_type());
    if (test.exact)
      check_same(before, after);
    else
      check_bounded(graph, inputs, before, after, seed);
  }
}

}  // namespace softneuro::test
