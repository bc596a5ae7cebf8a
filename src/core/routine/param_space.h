// ParamSpace: the values that a routine's own parameters may take for one problem, and which of
// them to measure next, given what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/params.h"

namespace softneuro {

struct ParamAxis {
  std::string name;
  std::vector<ParamValue> values;  // at least one; integers in rising or falling order
};

// Parameters that were tried. infinity: not measured yet, or the kernel failed.
struct Trial {
  Params params;
  double us = 0;
};

// What to measure next.
struct Proposal {
  std::vector<Params> params;
  bool is_last = true;  // the space has nothing to propose after them
};

// A grid of named values, or a search of the routine's own. The product of the axes is never
// materialised where it is large.
struct SN_INTREE ParamSpace {
  std::vector<ParamAxis> axes;                // none: the routine has no parameters
  std::function<bool(const Params&)> allows;  // null: every combination is allowed
  // Of allowed ones: whether it might be the fastest for this problem. Null: any might.
  std::function<bool(const Params&)> promising;
  // The order in which they are tried, the least first. Null: spread over the grid.
  std::function<double(const Params&)> rank;
  // Instead of axes: proposes one at a time, and nullopt where none is worth a measurement.
  std::function<std::optional<Params>(std::span<const Trial> known)> next;

  bool contains(const Params& params) const;  // of a grid
  // All allowed combinations of a grid if there are at most `limit`, else so many, spread.
  std::vector<Params> list(std::size_t limit) const;
  // At most `count` promising combinations that are not in `known`. Of a grid that holds more:
  // first half of `count`, by rank or spread; then neighbours of the fastest known, which differ
  // from it in one axis, by one step where its values are numbers. Deterministic.
  Proposal propose(std::span<const Trial> known, std::size_t count) const;

 private:
  std::vector<Params> points(bool promising_only) const;
  bool are_neighbours(const Params& a, const Params& b) const;
};

}  // namespace softneuro
