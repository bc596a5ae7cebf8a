#include "numeric/problem_set.h"

#include <algorithm>
#include <cstdlib>

namespace softneuro::test {

Fill integers(std::int64_t low, std::int64_t high) {
  Fill fill;
  fill.kind = Fill::Kind::integers;
  fill.low = static_cast<double>(low);
  fill.high = static_cast<double>(high);
  return fill;
}

Fill uniform(double low, double high) {
  Fill fill;
  fill.kind = Fill::Kind::uniform;
  fill.low = low;
  fill.high = high;
  return fill;
}

Fill normal(double sigma) {
  Fill fill;
  fill.kind = Fill::Kind::normal;
  fill.sigma = sigma;
  return fill;
}

Fill specials() {
  Fill fill;
  fill.kind = Fill::Kind::specials;
  return fill;
}

Fill explicit_values(std::vector<double> values) {
  Fill fill;
  fill.kind = Fill::Kind::explicit_values;
  fill.values = std::move(values);
  return fill;
}

Tolerance default_tolerance(DataType type) {
  switch (type) {
    case DataType::float32:
      return {1e-5, 1e-4};
    case DataType::float16:
      return {1e-3, 2.5e-3};
    case DataType::bfloat16:
      return {1e-2, 2e-2};
    case DataType::float64:
      return {1e-10, 1e-10};
    default:
      return {};
  }
}

Case& Case::of(DataType type) {
  element = type;
  return *this;
}

Case& Case::input(Shape shape, Fill fill, DataType type) {
  CaseInput& added = inputs.emplace_back();
  added.type = type == DataType::undefined ? element : type;
  added.shape = shape;
  added.fill = std::move(fill);
  return *this;
}

Case& Case::constant(Shape shape, Fill fill, DataType type) {
  input(shape, std::move(fill), type);
  inputs.back().constant = true;
  return *this;
}

Case& Case::value(std::vector<std::int64_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return constant(shape, explicit_values(std::vector<double>(values.begin(), values.end())),
                  DataType::int64);
}

Case& Case::scalar(std::int64_t value) {
  return constant({}, explicit_values({static_cast<double>(value)}), DataType::int64);
}

Case& Case::no_input() {
  inputs.emplace_back();
  return *this;
}

Case& Case::output_count(std::size_t count) {
  outputs.assign(count, true);
  return *this;
}

Case& Case::outputs_given(std::vector<bool> given) {
  outputs = std::move(given);
  return *this;
}

Case& Case::param(std::string_view name, ParamValue value) {
  params.set(name, std::move(value));
  return *this;
}

Case& Case::post_op(UnaryOp op, float alpha, float beta) {
  PostOp& added = post_ops.emplace_back();
  added.kind = PostOp::Kind::unary;
  added.unary = op;
  added.alpha = alpha;
  added.beta = beta;
  return *this;
}

Case& Case::post_op(BinaryOp op, Shape operand, bool swapped, Fill fill) {
  PostOp& added = post_ops.emplace_back();
  added.kind = PostOp::Kind::binary;
  added.binary = op;
  added.swapped = swapped;
  // Counted from the first operand; where the layer inputs end is known when all are there.
  added.input = static_cast<std::uint32_t>(operands.size());
  CaseInput& input = operands.emplace_back();
  input.type = element;
  input.shape = operand;
  input.fill = std::move(fill);
  return *this;
}

Case& Case::tolerance(double absolute, double relative) {
  allowed = Tolerance{absolute, relative};
  return *this;
}

Case& Case::exact() {
  exact_sums = true;
  return *this;
}

Case& Case::expect(std::vector<double> values, std::optional<Shape> shape) {
  return expect_output(0, std::move(values), shape);
}

Case& Case::expect_output(std::size_t output, std::vector<double> values,
                          std::optional<Shape> shape) {
  expected.push_back({output, std::move(values), shape});
  return *this;
}

Case& Case::fails(StatusCode code) {
  failure = code;
  return *this;
}

std::uint64_t test_seed() {
  const char* text = std::getenv("SOFTNEURO_TEST_SEED");
  return text == nullptr ? 20260 : std::strtoull(text, nullptr, 10);
}

ProblemSample problem_sample() {
  const char* const text = std::getenv("SOFTNEURO_TEST_SAMPLE");
  if (text == nullptr || std::getenv("SOFTNEURO_TEST_MASKED") == nullptr) return {};
  char* end = nullptr;
  ProblemSample sample;
  sample.one_in = std::max<std::size_t>(1, std::strtoull(text, &end, 10));
  if (*end == ':') sample.first = std::strtoull(end + 1, nullptr, 10);
  return sample;
}

}  // namespace softneuro::test
