// What a pass may lose: a graph before and after it, on constants and inputs that arithmetic is bad
// at, against the rounding that the graph has before.
#pragma once

#include <functional>
#include <random>

#include "support/graph_evaluator.h"

namespace softneuro::test {

// Numbers of a float type: whole ones and ties, powers of two, large and tiny ones, both ends of
// the range, zeros of both signs.
class Draw {
 public:
  Draw(std::uint32_t seed, DataType type) : random_(seed), type_(type) {}

  DataType type() const { return type_; }
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  bool chance() { return below(2) == 0; }
  double uniform(double low, double high);
  double normal() { return std::normal_distribution<double>()(random_); }
  double number();
  double nonzero();
  // About 1: what usual models multiply by.
  double mild();
  // number(), or now and then NaN or, if allowed, an infinity; where `spread` is set, about
  // `center`.
  double input();

  bool infinities = true;
  double center = 0;
  double spread = 0;

 private:
  std::mt19937 random_;
  DataType type_;
};

struct ExactnessCase {
  const char* name;
  std::vector<std::string> passes;  // empty: all
  std::function<TensorId(GraphBuilder&, Draw&)> build;
  // The same numbers, those that are infinite or NaN included, but for the sign of a zero. Else: up
  // to a few times the rounding of the graph before, and finite where that is, but for sums close
  // to the end of the range.
  bool exact = false;
};

// For `seeds` seeds, which messages name.
void check_exactness(const ExactnessCase& test, DataType type, std::uint32_t seeds);

}  // namespace softneuro::test
