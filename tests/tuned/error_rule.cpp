#include "tuned/error_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "softneuro/tune.h"

namespace softneuro::test {
namespace {

// How many layers sum products: where roundings come from. A lower bound of 1, since the outputs of
// any net are rounded once.
double products(const ModelCase& model) {
  double sum = 0;
  for (const char* op : {"Conv", "ConvTranspose", "QLinearConv", "MatMul", "QLinearMatMul", "Gemm",
                         "Einsum", "LSTM", "GRU", "RNN"})
    sum += model.ops.value(op, 0);
  return std::max(sum, 1.0);
}

std::vector<double> values_of(const Tensor& tensor) {
  TensorView view;
  view.type = tensor.data_type();
  view.data = const_cast<void*>(tensor.data());
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(load(view, i));
  return values;
}

// Every value of an output over all data sets.
struct Values {
  std::vector<double> actual, expected, unrounded;
};

void append(std::vector<double>& values, const Tensor& tensor) {
  const std::vector<double> more = values_of(tensor);
  values.insert(values.end(), more.begin(), more.end());
}

bool are_probabilities(const ModelCase& model, const std::vector<double>& values) {
  return (model.ops.contains("Softmax") || model.ops.contains("Sigmoid")) &&
         std::all_of(values.begin(), values.end(), [](double p) { return p >= 0 && p <= 1; });
}

double error_of_values(const std::vector<double>& expected, const std::vector<double>& actual) {
  double square = 0, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double gap = actual[i] - expected[i];
    square += expected[i] * expected[i];
    error += gap * gap;
  }
  if (std::isnan(error)) return INFINITY;
  return error == 0 ? 0 : std::sqrt(error / square);
}

// `floor`: the least probability that the data types in question can tell from others; where both
// are below it, there is nothing to compare.
double error_of_probabilities(const std::vector<double>& expected,
                              const std::vector<double>& actual, double floor) {
  double square = 0, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(actual[i])) return INFINITY;
    if (expected[i] <= floor && actual[i] <= floor) continue;
    const double p = std::clamp(expected[i], floor, 1 - floor);
    const double odds = std::max(1.0, std::abs(std::log(p / (1 - p))));
    const double gap =
        std::log(std::max(actual[i], floor)) - std::log(std::max(expected[i], floor));
    square += odds * odds;
    error += gap * gap;
  }
  return error == 0 ? 0 : std::sqrt(error / square);
}

constexpr double kLeastHalf = 6.1e-5;  // the least normal float16
constexpr double kLeastFloat = 1e-7;   // about the distance of float32 from 1
constexpr double kFloatError = 1e-4;

double allowed_error(const ModelCase& model, const Values& values, const Allowance& allowance) {
  double squares = kFloatError * kFloatError;
  const double depth = products(model);
  if (allowance.float16) squares += kHalfLayer * kHalfLayer * depth;
  if (allowance.bfloat16) squares += kBFloat16Layer * kBFloat16Layer * depth;
  if (model.quantised()) {
    const double moved = (allowance.float16 || allowance.bfloat16 ? kMovedByHalf : kMovedLevels) *
                         error_of_values(values.expected, values.unrounded);
    squares += moved * moved;
  }
  if (allowance.qint8 && allowance.calibrated) squares += kByteLayer * kByteLayer * depth;
  return std::min(std::sqrt(squares), kGarbage);
}

// Elements one by one; what is wrong, if anything.
std::string compare_elements(const ModelCase& model, const std::vector<NamedTensors>& results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const ReferenceOutput& output : model.data[i].outputs)
      if (const std::string wrong = compare_output(output, results[i]); !wrong.empty())
        return model.data[i].name + ": " + wrong;
  return {};
}

}  // namespace

Verdict judge(const ModelCase& model, const std::vector<NamedTensors>& results,
              const Allowance& allowance) {
  if (!allowance.float16 && !allowance.bfloat16 && !allowance.qint8 && !model.quantised())
    return {compare_elements(model, results), 0};
  Verdict verdict;
  for (std::size_t j = 0; j < model.data[0].outputs.size(); ++j) {
    const std::string& name = model.data[0].outputs[j].name;
    Values values;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ReferenceOutput& output = model.data[i].outputs[j];
      const auto found = results[i].find(name);
      if (found == results[i].end() || !(found->second.shape() == output.expected.shape()))
        return {fmt::format("{}: output '{}' is missing or has another shape", model.data[i].name,
                            name),
                INFINITY};
      append(values.actual, found->second);
      append(values.expected, output.expected);
      if (!output.unrounded.empty()) append(values.unrounded, output.unrounded);
    }
    const double error = are_probabilities(model, values.expected)
                             ? error_of_probabilities(values.expected, values.actual,
                                                      allowance.float16 ? kLeastHalf : kLeastFloat)
                             : error_of_values(values.expected, values.actual);
    double allowed = allowed_error(model, values, allowance);
    if (allowance.limited && !are_probabilities(model, values.expected))
      allowed = std::min(allowed, kLimitSlack * kDefaultMaxError);
    verdict.share = std::max(verdict.share, error / allowed);
    if (!(error <= allowed))
      verdict.wrong = fmt::format(
          "output '{}': a relative error of {:.3g}, where {:.3g} is allowed", name, error, allowed);
  }
  return verdict;
}

}  // namespace softneuro::test
