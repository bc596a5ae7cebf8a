#include "numeric/whole_range.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/element.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

constexpr std::int64_t kChannels = 32;  // fill blocks of 8 and of 16
constexpr std::size_t kMostParams = 8;
constexpr double kAsStated = 1;

// Of functions whose alpha and beta matter. Numbers of float32.
constexpr float kAlpha = 0.3f, kBeta = 0.9f, kLowest = -0.7f;

Shape shape_of(std::size_t count) {
  const auto pixels = static_cast<std::int64_t>(count) / (2 * kChannels);
  return {2, kChannels, pixels / 8, 8};
}

// As many as a tensor has, the first ones repeated.
std::vector<double> filled(std::vector<double> values) {
  const std::size_t count = values.size(), unit = static_cast<std::size_t>(2 * kChannels * 8);
  values.resize((count + unit - 1) / unit * unit);
  for (std::size_t i = count; i < values.size(); ++i) values[i] = values[i - count];
  return values;
}

// The values that a routine of that type is tested on.
std::vector<double> values_for(DataType type, std::uint64_t seed) {
  if (type == DataType::float32) return numbers_of_float32(seed);
  std::vector<double> values = all_numbers(type);
  if (seed == 0) return values;
  std::mt19937_64 random(seed);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
  return values;
}

// The case in the format of the routine; nothing if it does not take it.
std::optional<PreparedCase> case_for(const Routine& routine, const PreparedCase& prepared) {
  const RoutineDescriptor& descriptor = routine.descriptor();
  if (!descriptor.device.is_host()) return std::nullopt;  // arithmetic of their own
  auto formatted = in_format(prepared, descriptor.type, descriptor.layout);
  if (!formatted || !formatted->implement(routine).ok()) return std::nullopt;
  return formatted;
}

bool is_tested(const Routine& routine, DataType type) {
  return routine.descriptor().type == type && routine.descriptor().algorithm != "naive";
}

std::vector<RoutineParams> params_of(const Routine& routine, const PreparedCase& prepared) {
  const ImplementationPtr implementation = prepared.implement(routine).value();
  std::vector<RoutineParams> params = implementation->param_space().list(kMostParams);
  const RoutineParams usual = implementation->default_params();
  if (std::find(params.begin(), params.end(), usual) == params.end()) params.push_back(usual);
  return params;
}

Tensor plain_output(const Routine& routine, const PreparedCase& prepared,
                    const RoutineParams& params) {
  const RunResult run = run_routine(routine, prepared, test_pool(1), params);
  if (!run.status.ok() || !run.defect.empty()) return {};
  return convert_format(run.outputs[0], DataType::float32, Layout::plain).value();
}

ElementReport failed() {
  ElementReport report;
  report.share = INFINITY;
  return report;
}

// A layer of the functions themselves.
void run_layer(const Registry& registry, const Case& description, DataType type,
               const std::string& function, std::vector<RangeResult>& results) {
  const PreparedCase prepared = prepare(registry, description, test_seed()).value();
  const auto seen = in_format(prepared, type, Layout::plain);  // rounded to the type
  const auto chain = ElementChain::of(seen->problem);
  if (!chain) return;
  for (const Routine* routine : registry.routines(description.layer_type)) {
    if (!is_tested(*routine, type)) continue;
    const auto formatted = case_for(*routine, prepared);
    if (!formatted) continue;
    for (const RoutineParams& params : params_of(*routine, *formatted)) {
      const Tensor y = plain_output(*routine, *formatted, params);
      results.push_back({function, routine->descriptor().str() + ' ' + params.str(),
                         y.empty() ? failed()
                                   : check_elements(*chain, seen->inputs, y, DataType::float32,
                                                    type, kAsStated, y.elements())});
    }
  }
}

std::vector<double> identity(std::int64_t size, std::int64_t taps) {
  std::vector<double> weights(static_cast<std::size_t>(size * size * taps));
  for (std::int64_t i = 0; i < size; ++i)
    weights[static_cast<std::size_t>((i * size + i) * taps + taps / 2)] = 1;
  return weights;
}

// Layers that give their input, or nearly: with finite numbers, since infinity by zero is NaN.
std::vector<Case> carriers(const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const Fill x = explicit_values(values), ones = explicit_values({1}), zeros = explicit_values({0});
  const Fill unit = explicit_values(identity(kChannels, 1));
  const Shape image = shape_of(values.size()), rows{count / kChannels, kChannels};
  ProblemSet set;
  set.add("conv2").input(image, x).constant({kChannels, kChannels, 1, 1}, unit).no_input();
  set.add("conv2")
      .input(image, x)
      .constant({kChannels, kChannels, 3, 3}, explicit_values(identity(kChannels, 9)))
      .constant({kChannels}, zeros)
      .param("pads", {1, 1, 1, 1});
  set.add("conv2")
      .input(image, x)
      .constant({kChannels, 1, 1, 1}, ones)
      .no_input()
      .param("group", kChannels);
  set.add("conv_transpose2")
      .input(image, x)
      .constant({kChannels, kChannels, 1, 1}, unit)
      .constant({kChannels}, zeros);
  set.add("dense").input(rows, x).constant({kChannels, kChannels}, unit).no_input();
  set.add("matmul").input(rows, x).constant({kChannels, kChannels}, unit);
  set.add("matmul").input(rows, x).input({kChannels, kChannels}, unit);
  set.add("batch_norm")
      .input(image, x)
      .constant({kChannels}, ones)
      .constant({kChannels}, zeros)
      .constant({kChannels}, zeros)
      .constant({kChannels}, ones);
  set.add("avg_pool2").input(image, x).param("kernel", {1, 1});
  set.add("max_pool2").input(image, x).param("kernel", {1, 1});
  set.add("binary").input(image, x).input({1}, zeros).param("op", "add");
  set.add("unary").input(image, x).param("op", "neg");
  return {set.cases().begin(), set.cases().end()};
}

// What a routine makes of its layer without post-ops is what they are to be put to.
void run_carrier(const Registry& registry, const Case& layer, DataType type, UnaryOp op,
                 std::vector<RangeResult>& results) {
  Case with_op = layer;
  with_op.post_op(op, op == UnaryOp::clip ? kLowest : kAlpha, kBeta);
  const PreparedCase plain = prepare(registry, layer, test_seed()).value();
  const PreparedCase prepared = prepare(registry, with_op, test_seed()).value();
  const auto chain = ElementChain::of_post_ops(prepared.problem);
  if (!chain) return;
  for (const Routine* routine : registry.routines(layer.layer_type)) {
    if (!is_tested(*routine, type)) continue;
    const auto bare = case_for(*routine, plain);
    const auto fused = case_for(*routine, prepared);
    if (!bare || !fused) continue;
    const std::vector<RoutineParams> bare_params = params_of(*routine, *bare);
    for (const RoutineParams& params : params_of(*routine, *fused)) {
      // Fusing may change which implementations there are.
      const bool same =
          std::find(bare_params.begin(), bare_params.end(), params) != bare_params.end();
      const Tensor given[] = {plain_output(*routine, *bare, same ? params : bare_params.front())};
      const Tensor y = plain_output(*routine, *fused, params);
      const std::string what = layer.layer_type + ' ' + to_string(op);
      results.push_back({what, routine->descriptor().str() + ' ' + params.str(),
                         y.empty() || given[0].empty()
                             ? failed()
                             : check_elements(*chain, given, y, DataType::float32, type, kAsStated,
                                              y.elements())});
    }
  }
}

}  // namespace

std::vector<double> numbers_of_float32(std::uint64_t seed) {
  std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, NAN};
  const auto add = [&](double value) {
    values.push_back(static_cast<double>(static_cast<float>(value)));
    values.push_back(-values.back());
  };
  // Every magnitude, subnormal ones included, and where a type ends.
  for (int exponent = -149; exponent < 128; ++exponent)
    for (const double mantissa : {1.0, 1.2345678, 1.4142135, 1.7654321, 1.9999999})
      add(std::ldexp(mantissa, exponent));
  add(0x1.fffffep127);
  // Where exponentials bend, end and underflow, densely.
  for (int i = 0; i < 8030; ++i) add(0.0137 * i);
  // Whole numbers and ties, and their neighbours.
  for (int i = 0; i <= 128; ++i) {
    const float x = 0.5f * static_cast<float>(i);
    for (const float near : {x, std::nextafter(x, 0.0f), std::nextafter(x, 1000.0f)})
      add(static_cast<double>(near));
  }
  for (const double x : {0x1p22 + 0.5, 0x1p23 - 0.5, 0x1p23, 0x1p23 + 1, 0x1p24 + 2}) add(x);
  // Around zero and one.
  for (int i = 0; i < 700; ++i) {
    const double x = std::pow(1.02, -i);
    add(x);
    add(1 + x);
    add(1 - x);
  }
  values = filled(std::move(values));
  std::mt19937_64 random(seed);
  if (seed != 0)
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
  return values;
}

std::vector<double> all_numbers(DataType type) {
  std::vector<double> values(1 << 16);
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    auto word = static_cast<std::uint16_t>(bits);
    const TensorView view{type, Layout::plain, Shape{1}, &word};
    values[bits] = load(view, 0);
  }
  return values;
}

constexpr DataType kTypes[] = {DataType::float32, DataType::float16, DataType::bfloat16};

std::vector<RangeResult> run_unary(const Registry& registry, UnaryOp op) {
  std::vector<RangeResult> results;
  for (const DataType type : kTypes) {
    const std::vector<double> values = values_for(type, 0);
    ProblemSet set;
    const float low = op == UnaryOp::clip ? kLowest : kAlpha;
    set.add("unary")
        .input(shape_of(values.size()), explicit_values(values))
        .param("op", to_string(op))
        .param("alpha", ParamValue(static_cast<double>(low)))
        .param("beta", ParamValue(static_cast<double>(kBeta)));
    if (op == UnaryOp::clip)
      set.add("clip")
          .input(shape_of(values.size()), explicit_values(values))
          .constant({}, explicit_values({static_cast<double>(low)}))
          .constant({}, explicit_values({static_cast<double>(kBeta)}));
    for (const Case& description : set.cases())
      run_layer(registry, description, type, to_string(op), results);
  }
  return results;
}

std::vector<RangeResult> run_binary(const Registry& registry, BinaryOp op) {
  std::vector<RangeResult> results;
  for (const DataType type : kTypes) {
    const std::vector<double> a = values_for(type, 1), b = values_for(type, 2);
    const Shape shape = shape_of(a.size());
    ProblemSet set;
    const auto add = [&]() -> Case& {
      return set.add("binary").param("op", to_string(op)).input(shape, explicit_values(a));
    };
    add().input(shape, explicit_values(b));
    for (const double number : {3.0, -0.7, 2.0, 0.5, 1e-40, 1e30})
      add().input({1}, explicit_values({number}));
    for (const Case& description : set.cases())
      run_layer(registry, description, type, to_string(op), results);
  }
  return results;
}

std::vector<RangeResult> run_post_op(const Registry& registry, UnaryOp op) {
  constexpr std::size_t kSome = 4096;  // of numbers in random order: the code is that of unary
  std::vector<RangeResult> results;
  for (const DataType type : kTypes) {
    std::vector<double> values = values_for(type, 3);
    values.resize(kSome);
    for (double& value : values)
      if (!std::isfinite(value)) value = 0;
    for (const Case& layer : carriers(values)) run_carrier(registry, layer, type, op, results);
  }
  return results;
}

}  // namespace softneuro::test
