// Random DAGs of layers for the solver's tests. The same seed gives the same problem everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "dprs/dprs.h"

namespace softneuro::dprs::oracle {

// A small generator of its own: the standard distributions differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }

 private:
  std::uint64_t state_;
};

enum class Shape {
  any,       // each layer reads one to three earlier tensors, several outputs possible
  branches,  // nested fork and join
  skips,     // a chain with skip connections
  dense,     // each layer reads all that came before it in its block
  shared,    // few tensors with many consumers
};
const char* name_of(Shape shape);

struct Kind {
  Shape shape = Shape::any;
  int most_layers = 10;
  int most_formats = 4;
  double most_choices = 3000;  // brute force's share: layers lose candidates until it fits
  bool whole_times = false;    // integers: sums are exact, ties are many
};

Problem random_problem(std::uint64_t seed, const Kind& kind);

// Readable, for a failing test's message.
std::string describe(const Problem& problem);

}  // namespace softneuro::dprs::oracle
