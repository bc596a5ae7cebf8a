// DPRS, dynamic programming for routine selection: one candidate per layer of a DAG such that the
// candidates' times and the adapts between them sum to the least.
//
// Pure: knows nothing of graphs, routines or clocks, and depends on the standard library alone.
// docs/internals/solver.md derives it.
//
// Costs are times in any unit (microseconds in practice), >= 0, infinity for "impossible".
// Formats, tensors, layers, candidates are numbers from 0; -1 is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "softneuro/status.h"

namespace softneuro::dprs {

using Cost = double;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// What a table of formats may be at most: sets of formats are 64-bit words.
inline constexpr int kMaxFormats = 64;

// One way to compute a layer.
struct Candidate {
  // The format that each input port takes; -1: any will do (or the port is left out).
  std::vector<int> inputs;
  // The format that each output port makes; -1 only where the port is left out.
  std::vector<int> outputs;
  Cost time = 0;
  std::size_t workspace = 0;  // bytes while it runs
  std::size_t resident = 0;   // bytes as long as the net is there: packed weights
};

struct Layer {
  std::vector<int> inputs;   // tensor per input port, -1: none
  std::vector<int> outputs;  // tensor per output port, -1: none
  std::vector<Candidate> candidates;
};

struct Tensor {
  // Of a tensor that no layer makes (a graph input): the format that it is given in.
  int fixed_format = -1;
  // Formats in which the outside wants it (graph outputs); they are made whatever layers want.
  std::vector<int> wanted;
  // Time of the adapt, row-major [from * formats + to]; infinity: impossible. The diagonal is not
  // read: what is there already costs nothing. Empty: no adapt is possible.
  std::vector<Cost> adapt;
  // Size in each format, for the memory limit; empty: 0.
  std::vector<std::size_t> bytes;
};

struct Problem {
  int formats = 0;
  std::vector<Layer> layers;  // each after the layers that make its inputs
  std::vector<Tensor> tensors;
};

struct Limits {
  std::size_t max_memory = 0;  // peak_memory() of a path; 0: no limit
  // The path with the smallest peak that is found, whatever its time, instead of the fastest. Times
  // have no part in it: that peak can be kept as a limit after layers were measured again.
  bool least_memory = false;
  int k = 1;  // how many paths to return at most
  // Sums of table entries that may be made, some 3e8 per second. Nothing depends on a clock: equal
  // problems have equal solutions.
  double work = 6e8;
};

// One adapt layer: `tensor` from the format that its producer makes to another.
struct Adapt {
  int tensor = -1;
  int from = -1;
  int to = -1;
  bool operator==(const Adapt&) const = default;
};

struct Path {
  std::vector<int> choice;    // candidate per layer
  std::vector<Adapt> adapts;  // each once, however many consumers share it; ordered by tensor, to
  Cost cost = 0;              // candidates and adapts
  std::size_t memory = 0;     // peak_memory()
};

struct Solution {
  std::vector<Path> paths;  // best first, at least 1, at most k, no two with the same choice
  Cost lower_bound = 0;     // no path within the limits costs less; rough where nothing is proven
  double gap = 0;           // (paths[0].cost - lower_bound) / paths[0].cost; 0 if optimal
  bool optimal = false;     // paths[0] is proven; the others are then the next best, in order
  // Of the tables that were filled; 0: they would have been too large, the path was searched for.
  std::size_t table_cells = 0;
  int width = 0;  // variables in the largest table
};

// Every index in range, layers in topological order, one producer per tensor, costs not negative.
Status validate(const Problem& problem);

// The best path, proven optimal unless the tables would take too much work or memory; then the best
// path found.
//   invalid_argument  the problem is malformed (validate's message), or the limits are
//   unsupported       no path exists, or none within the limits; the message says the nearest
//   out_of_memory
Result<Solution> solve(const Problem& problem, const Limits& limits = {});

// The path that the choice makes: which adapts, their cost and memory.
// Errors: invalid_argument if a choice is out of range; cost is infinite if an adapt is impossible.
Result<Path> make_path(const Problem& problem, const std::vector<int>& choice);

}  // namespace softneuro::dprs
