// rnn, gru, lstm.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

int gates(const std::string& type) {
  return type == "rnn" ? 1 : type == "gru" ? 3 : 4;
}

struct Sizes {
  std::int64_t steps, batch, input, hidden;
  std::int64_t directions = 1;
  bool batch_first = false;
};

// x, w, r and, where asked for, bias, lengths and initial states.
Case& recurrent(ProblemSet& set, const std::string& type, const Sizes& s, bool bias, bool states,
                std::vector<double> lengths = {}, bool constant = true) {
  const std::int64_t g = gates(type) * s.hidden;
  Case& added = set.add(type)
                    .input(s.batch_first ? Shape{s.batch, s.steps, s.input}
                                         : Shape{s.steps, s.batch, s.input})
                    .output_count(type == "lstm" ? 3 : 2)
                    .param("hidden_size", s.hidden)
                    .param("layout", s.batch_first ? 1 : 0);
  if (s.directions == 2) added.param("direction", "bidirectional");
  const auto weights = [&](Shape shape, const Fill& fill) {
    constant ? added.constant(shape, fill) : added.input(shape, fill);
  };
  weights({s.directions, g, s.input}, normal(0.4));
  weights({s.directions, g, s.hidden}, normal(0.4));
  if (bias)
    weights({s.directions, 2 * g}, normal(0.3));
  else
    added.no_input();
  if (lengths.empty())
    added.no_input();
  else
    added.input({s.batch}, explicit_values(std::move(lengths)), DataType::int32);
  const Shape state = s.batch_first ? Shape{s.batch, s.directions, s.hidden}
                                    : Shape{s.directions, s.batch, s.hidden};
  for (int i = 0; i < (type == "lstm" ? 2 : 1); ++i) {
    if (states)
      added.input(state, normal(0.5));
    else
      added.no_input();
  }
  return added;
}

std::vector<std::string> texts(std::initializer_list<const char*> names) {
  return {names.begin(), names.end()};
}

void add_known(ProblemSet& set) {
  // h = relu(x·2 + h₋₁·(−1) + 0.5), without saturation to make it readable.
  set.add("rnn")
      .input({3, 1, 1}, explicit_values({1, 2, -1}))
      .constant({1, 1, 1}, explicit_values({2}))
      .constant({1, 1, 1}, explicit_values({-1}))
      .constant({1, 2}, explicit_values({0.25, 0.25}))
      .param("activations", texts({"relu"}))
      .output_count(2)
      .expect({2.5, 2, 0}, Shape{3, 1, 1, 1})
      .expect_output(1, {0}, Shape{1, 1, 1});
  // Reverse: the last element comes first; a sequence of two ends there, zeros behind.
  set.add("rnn")
      .input({3, 2, 1}, explicit_values({1, 10, 2, 20, 3, 30}))
      .constant({1, 1, 1}, explicit_values({1}))
      .constant({1, 1, 1}, explicit_values({1}))
      .no_input()
      .input({2}, explicit_values({3, 2}), DataType::int32)
      .param("activations", texts({"affine"}))
      .param("direction", "reverse")
      .output_count(2)
      .expect({6, 30, 5, 20, 3, 0}, Shape{3, 1, 2, 1})
      .expect_output(1, {6, 30}, Shape{1, 2, 1});
  // Affine functions throughout (f, g, h = x): gates i o f c from x alone, weights 1 2 3 4.
  // Step 1: c = 1·4, h = 2·4. Step 2 (r = 0): c = 3·4 + 1·4 = 16, h = 2·16.
  set.add("lstm")
      .input({2, 1, 1}, explicit_values({1}))
      .constant({1, 4, 1}, explicit_values({1, 2, 3, 4}))
      .constant({1, 4, 1}, explicit_values({0}))
      .param("activations", texts({"affine", "affine", "affine"}))
      .output_count(3)
      .expect({8, 32}, Shape{2, 1, 1, 1})
      .expect_output(1, {32}, Shape{1, 1, 1})
      .expect_output(2, {16}, Shape{1, 1, 1});
  // z = 0.5·x, r = 2·x, n = x + (r·h₋₁)·1; h = (1 − z)·n + z·h₋₁: 0.5, then 0.5·2 + 0.5·0.5.
  set.add("gru")
      .input({2, 1, 1}, explicit_values({1}))
      .constant({1, 3, 1}, explicit_values({0.5, 2, 1}))
      .constant({1, 3, 1}, explicit_values({0, 0, 1}))
      .param("activations", texts({"affine", "affine"}))
      .output_count(2)
      .expect({0.5, 1.25}, Shape{2, 1, 1, 1})
      .expect_output(1, {1.25});
  for (const double length : {-1.0, 4.0})
    recurrent(set, "lstm", {3, 2, 3, 4}, true, false, {2, length}).fails();
}

void add_functions(ProblemSet& set) {
  const auto scaled = [&](Case& added, std::vector<std::string> names, std::vector<double> alpha,
                          std::vector<double> beta) -> Case& {
    return added.param("activations", std::move(names))
        .param("activation_alpha", std::move(alpha))
        .param("activation_beta", std::move(beta));
  };
  for (const char* name : {"relu", "tanh", "sigmoid", "softsign", "softplus", "elu", "leakyrelu",
                           "thresholdedrelu", "hardsigmoid", "affine", "scaledtanh"})
    recurrent(set, "rnn", {3, 2, 4, 5}, true, true).param("activations", texts({name}));
  scaled(recurrent(set, "lstm", {3, 2, 4, 5, 2}, true, true),
         texts({"hardsigmoid", "scaledtanh", "tanh", "sigmoid", "elu", "affine"}),
         {0.3, 1.7, 0.5, 0.9}, {0.4, 0.6, 0.1});
  scaled(recurrent(set, "gru", {3, 2, 4, 5}, true, true), texts({"hardsigmoid", "leakyrelu"}),
         {0.3, 0.2}, {0.4});
  for (const char* type : {"rnn", "gru", "lstm"})
    recurrent(set, type, {4, 2, 3, 6}, true, true).param("clip", 0.2);
}

}  // namespace

void add_problems_recurrent(ProblemSet& set) {
  add_known(set);
  add_functions(set);
  for (const char* type : {"rnn", "gru", "lstm"}) {
    for (const std::int64_t hidden : {1, 2, 5, 15, 16, 17, 33, 130})
      recurrent(set, type, {4, 1, 7, hidden}, true, false);
    for (const std::int64_t batch : {1, 2, 5, 6, 7, 13})
      recurrent(set, type, {3, batch, 5, 9}, true, true);
    for (const bool batch_first : {false, true})
      for (const std::int64_t directions : {1, 2}) {
        const Sizes sizes{5, 3, 4, 6, directions, batch_first};
        recurrent(set, type, sizes, false, false);
        recurrent(set, type, sizes, true, true, {5, 2, 0});
        recurrent(set, type, sizes, true, true, {1, 5, 3}, false);
      }
    recurrent(set, type, {5, 3, 4, 6}, true, true, {4, 5, 1}).param("direction", "reverse");
    recurrent(set, type, {1, 1, 1, 1}, true, true);
    recurrent(set, type, {0, 2, 3, 4}, true, true);
    recurrent(set, type, {4, 2, 3, 5}, true, true).outputs_given({false, true});
    for (const DataType element : {DataType::float16, DataType::float64}) {
      const std::int64_t g = 5 * gates(type);
      set.add(type)
          .of(element)
          .input({3, 2, 4})
          .constant({1, g, 4}, normal(0.4))
          .constant({1, g, 5}, normal(0.4));
    }
  }
  for (const bool bias : {false, true}) {
    recurrent(set, "gru", {4, 3, 5, 7, 2}, bias, true).param("linear_before_reset", 1);
    recurrent(set, "lstm", {4, 3, 5, 7, 2}, bias, true).param("input_forget", 1);
    recurrent(set, "lstm", {4, 3, 5, 7, 2}, bias, true).constant({2, 21});  // peepholes
  }
  recurrent(set, "lstm", {3, 2, 20, 256}, true, true).tolerance(5e-5, 1e-4);
}

}  // namespace softneuro::test
