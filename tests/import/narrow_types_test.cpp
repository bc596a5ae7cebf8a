// Integers of 2 and 4 bits, whose numbers are kept in 8: quantised and cast to, moved, refused.
#include <algorithm>
#include <catch2/catch.hpp>

#include "import/onnx_model.h"
#include "softneuro/net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr int kUint4 = 21, kInt4 = 22, kUint2 = 25, kInt2 = 26, kFloat8 = 17;  // of the format

struct Range {
  int type;
  int low, high;
};
constexpr Range kRanges[] = {{kInt4, -8, 7}, {kUint4, 0, 15}, {kInt2, -2, 1}, {kUint2, 0, 3}};

// An initialiser of one narrow number.
void narrow_scalar(onnx::TensorProto& tensor, int type, int value) {
  tensor.set_data_type(type);
  tensor.add_int32_data(value & (type == kInt4 || type == kUint4 ? 15 : 3));
}

OnnxModel model_of(int type, int zero_point) {
  OnnxModel model(25, 13);
  model.input("x", {-1, -1});
  model.floats("scale", {}, {0.5F});
  narrow_scalar(model.initializer("zero", {}), type, zero_point);
  model.output("y");
  return model;
}

std::vector<int> run(const OnnxModel& model, const Tensor& x, const std::string& output = "y") {
  const std::string bytes = model.bytes();
  const Result<Net> net = Net::import_memory(bytes.data(), bytes.size());
  INFO(net.status().message());
  REQUIRE(net.ok());
  const Result<NamedTensors> results = net->run({{"x", x}});
  INFO(results.status().message());
  REQUIRE(results.ok());
  const Tensor& y = results->at(output);
  std::vector<int> values;
  if (y.data_type() == DataType::uint8)
    for (const std::uint8_t value : y.values<std::uint8_t>()) values.push_back(value);
  else if (y.data_type() == DataType::int8)
    for (const std::int8_t value : y.values<std::int8_t>()) values.push_back(value);
  else
    for (const float value : y.values<float>()) values.push_back(static_cast<int>(value));
  return values;
}

Tensor numbers(const std::vector<float>& values) {
  return *Tensor::from(values, {2, static_cast<std::int64_t>(values.size()) / 2});
}

// What the importer says of the node that it refuses.
std::string refusal(const OnnxModel& model) {
  const Result<build::ImportReport> report = model.check();
  REQUIRE(report.ok());
  REQUIRE_FALSE(report->unsupported.empty());
  return report->unsupported[0].op + ": " + report->unsupported[0].reason;
}

}  // namespace

TEST_CASE("onnx: quantising to 2 and 4 bits saturates there") {
  const Tensor x = numbers({-1000, -40, -0.75F, 0.25F, 0.5F, 2.25F, 40, 1000});
  const float scaled[] = {-2000, -80, -2, 0, 1, 4, 80, 2000};  // halves go to even numbers
  for (const Range& range : kRanges) {
    CAPTURE(range.type);
    const bool with_zero_point = GENERATE(true, false);
    OnnxModel model = model_of(range.type, 1);
    if (with_zero_point)
      model.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
    else
      model.node("QuantizeLinear", {"x", "scale"}, {"q"}).integer("output_dtype", range.type);
    std::vector<int> expected;
    for (const float value : scaled)
      expected.push_back(std::clamp(static_cast<int>(value) + static_cast<int>(with_zero_point),
                                    range.low, range.high));
    OnnxModel levels = model;  // the graph's output is of the narrow type
    levels.node("Identity", {"q"}, {"y"});
    CHECK(run(levels, x) == expected);
    model.node("DequantizeLinear",
               with_zero_point ? std::initializer_list<std::string>{"q", "one", "zero"}
                               : std::initializer_list<std::string>{"q", "one"},
               {"y"});
    model.floats("one", {}, {1});
    for (int& value : expected) value -= static_cast<int>(with_zero_point);
    CHECK(run(model, x) == expected);
  }
}

TEST_CASE("onnx: a zero point of 4 bits may come from nodes and through them") {
  OnnxModel model = model_of(kInt4, 0);
  narrow_scalar(model.node("Constant", {}, {"c"}).tensor("value"), kInt4, -3);
  model.int64s("shape", {1}, {1});
  model.node("Reshape", {"c", "shape"}, {"r"});
  model.node("Squeeze", {"r"}, {"z"});
  model.node("QuantizeLinear", {"x", "scale", "z"}, {"y"});
  const Tensor x = numbers({-100, -2, 0, 100});
  CHECK(run(model, x) == std::vector<int>{-8, -7, -3, 7});

  OnnxModel filled = model_of(kInt4, 0);
  filled.int64s("shape", {1}, {2});
  onnx::TensorProto& value = filled.node("ConstantOfShape", {"shape"}, {"z"}).tensor("value");
  narrow_scalar(value, kUint4, 3);
  value.add_dims(1);
  filled.floats("scales", {2}, {0.5F, 1});
  filled.node("QuantizeLinear", {"x", "scales", "z"}, {"y"}).integer("axis", 1);
  CHECK(run(filled, x) == std::vector<int>{0, 1, 3, 15});
}

TEST_CASE("onnx: casts to 4 bits saturate reals and keep the lowest bits of integers") {
  const Tensor x = numbers({-1000, -8.5F, -1.75F, 1.75F, 9, 1000});
  const bool like = GENERATE(true, false);
  for (const Range& range : {kRanges[0], kRanges[1]}) {
    const auto cast = [&](OnnxModel& model, const char* from) {
      if (like)
        model.node("CastLike", {from, "zero"}, {"y"});
      else
        model.node("Cast", {from}, {"y"}).integer("to", range.type);
    };
    OnnxModel real = model_of(range.type, 0);
    cast(real, "x");
    std::vector<int> expected;
    for (const int value : {-1000, -8, -1, 1, 9, 1000})
      expected.push_back(std::clamp(value, range.low, range.high));
    CHECK(run(real, x) == expected);
    OnnxModel whole = model_of(range.type, 0);
    whole.node("Cast", {"x"}, {"i"}).integer("to", kOnnxInt64);
    cast(whole, "i");
    expected.clear();
    for (const int value : {-1000, -8, -1, 1, 9, 1000}) {
      const int bits = value & 15;
      expected.push_back(bits > range.high ? bits - 16 : bits);
    }
    CHECK(run(whole, x) == expected);
  }
}

TEST_CASE("onnx: what would compute in 4 bits is refused by name") {
  OnnxModel sum = model_of(kInt4, 7);
  sum.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  sum.node("Transpose", {"q"}, {"t"});
  sum.node("Neg", {"t"}, {"y"});
  CHECK_THAT(refusal(sum), Catch::StartsWith("Neg: ") && Catch::Contains("INT4"));

  OnnxModel mixed = model_of(kInt4, 7);
  mixed.initializer("wide", {}, kOnnxInt8).set_raw_data(std::string(1, '\0'));
  mixed.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  mixed.node("DequantizeLinear", {"q", "scale", "wide"}, {"y"});
  CHECK_THAT(refusal(mixed), Catch::StartsWith("DequantizeLinear: ") && Catch::Contains("INT4"));

  OnnxModel input = model_of(kInt4, 7);
  input.input("n", {2}, kInt4);
  input.node("DequantizeLinear", {"n", "scale", "zero"}, {"y"});
  CHECK_THAT(refusal(input), Catch::Contains("INT4"));

  OnnxModel float8 = model_of(kInt4, 7);
  float8.node("QuantizeLinear", {"x", "scale"}, {"q"}).integer("output_dtype", kFloat8);
  float8.node("DequantizeLinear", {"q", "scale"}, {"y"});
  CHECK_THAT(refusal(float8), Catch::StartsWith("QuantizeLinear: ") && Catch::Contains("FLOAT8"));
}
