// Problems on which every routine of a layer type is compared with cpu/naive, see
// docs/internals/adding-a-routine.md.
//
// To have a layer type tested, add a file tests/numeric/problems_<name>.cpp with
//
//   #include "numeric/problem_set.h"
//   namespace softneuro::test {
//   void add_problems_<name>(ProblemSet& set) {
//     set.add("conv2").input({1, 3, 9, 9}).constant({4, 3, 3, 3}).param("strides", {2, 2});
//     set.add("abs").input({5}, explicit_values({-1, 0, …})).expect({1, 0, …});
//   }
//   }
//
// CMake finds it by its name and makes a test case "numeric: <name>" of it. New routines are
// found through the registry and need no test of their own.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace softneuro::test {

// How the elements of an input are made. Values are rounded (and clamped) to the input's type.
struct Fill {
  enum class Kind { integers, uniform, normal, specials, explicit_values };
  Kind kind = Kind::normal;
  double low = -1, high = 1;   // integers: both included
  double sigma = 1;            // normal, specials
  std::vector<double> values;  // explicit; row-major, repeated if too few
};
Fill integers(std::int64_t low = -4, std::int64_t high = 4);  // whole numbers: sums are exact
Fill uniform(double low = -1, double high = 1);
Fill normal(double sigma = 1);
Fill specials();  // normal, with zeros of both signs, NaN, infinities, tiny and huge ones among it
Fill explicit_values(std::vector<double> values);

// The most that two results may differ: absolute + relative · |expected|.
struct Tolerance {
  double absolute = 0, relative = 0;
};
// What arithmetic in float32 (float16, …) explains; exact for integers.
Tolerance default_tolerance(DataType type);

struct CaseInput {
  DataType type = DataType::undefined;  // undefined: left out
  Shape shape;
  Fill fill;
  bool constant = false;
  std::optional<Quantization> quantization;
};

struct CaseExpectation {
  std::size_t output = 0;
  std::vector<double> values;
  std::optional<Shape> shape;
};

// One problem: a layer and its inputs. Calls chain.
struct Case {
  std::string layer_type;
  Params params;
  std::vector<CaseInput> inputs;  // layer inputs
  std::vector<PostOp> post_ops;
  std::vector<CaseInput> operands;  // of post-ops
  std::vector<bool> outputs = {true};
  DataType element = DataType::float32;
  std::optional<Tolerance> allowed;
  bool exact_sums = false;
  std::vector<CaseExpectation> expected;
  std::optional<StatusCode> failure;

  // Data type of the inputs that are added from here on, where none is given.
  Case& of(DataType type);
  Case& input(Shape shape, Fill fill = normal(), DataType type = DataType::undefined);
  // An input whose value never changes: weights.
  Case& constant(Shape shape, Fill fill = normal(), DataType type = DataType::undefined);
  // An int64 constant of one dimension (shapes, axes, …).
  Case& value(std::vector<std::int64_t> values);
  // An int64 constant without dimensions.
  Case& scalar(std::int64_t value);
  Case& no_input();  // an optional input that is left out
  // How many outputs are asked for (1 if never called), or which.
  Case& output_count(std::size_t count);
  Case& outputs_given(std::vector<bool> given);

  Case& param(std::string_view name, ParamValue value);
  Case& param(std::string_view name, std::integral auto value) {
    return param(name, ParamValue(static_cast<std::int64_t>(value)));
  }
  Case& param(std::string_view name, const char* value) {
    return param(name, ParamValue(std::string(value)));
  }
  Case& param(std::string_view name, std::initializer_list<std::int64_t> values) {
    return param(name, ParamValue(std::vector<std::int64_t>(values)));
  }

  Case& post_op(UnaryOp op, float alpha = 0, float beta = 0);
  // y = op(y, operand), or op(operand, y) if `swapped`.
  Case& post_op(BinaryOp op, Shape operand, bool swapped = false, Fill fill = normal());

  // Where the default tolerance does not fit (say why).
  Case& tolerance(double absolute, double relative);
  // All sums are exact in float32 whatever their order (small integer fills): routines that do
  // not transform their data must give naive's bits.
  Case& exact();
  // What cpu/naive must give, computed by hand or by the operator's own documentation.
  Case& expect(std::vector<double> values, std::optional<Shape> shape = {});
  Case& expect_output(std::size_t output, std::vector<double> values,
                      std::optional<Shape> shape = {});
  // Every routine must end run() with an error of this code.
  Case& fails(StatusCode code = StatusCode::invalid_argument);
};

class ProblemSet {
 public:
  // References stay valid.
  Case& add(std::string layer_type) {
    cases_.emplace_back().layer_type = std::move(layer_type);
    return cases_.back();
  }
  const std::deque<Case>& cases() const { return cases_; }

 private:
  std::deque<Case> cases_;
};

// Makes all tests' inputs; SOFTNEURO_TEST_SEED sets another one. Printed where a test fails.
std::uint64_t test_seed();

// Which problems of a set a run as on another processor (SOFTNEURO_TEST_MASKED) takes: one in
// `one_in`, beginning with number `first` modulo that. SOFTNEURO_TEST_SAMPLE=ONE_IN:FIRST sets it;
// all of them where it is not set.
struct ProblemSample {
  std::size_t one_in = 1;
  std::size_t first = 0;
};
ProblemSample problem_sample();

// The table of tests/numeric/problems_*.cpp, generated by CMake.
struct ProblemFile {
  const char* name;
  void (*add)(ProblemSet&);
};
extern const ProblemFile problem_files[];
extern const std::size_t problem_file_count;

}  // namespace softneuro::test
