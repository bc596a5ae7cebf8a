// ParamSpace: the values that a routine's own parameters may take for one problem. Lazy: axes and
// a constraint; the product is never materialised.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/params.h"

namespace softneuro {

struct ParamAxis {
  std::string name;
  std::vector<ParamValue> values;  // at least one, in order of value
};

struct SN_INTREE ParamSpace {
  std::vector<ParamAxis> axes;                // none: the routine has no parameters
  std::function<bool(const Params&)> allows;  // null: every combination is allowed
  // Of allowed ones: whether it might be the fastest for this problem. Null: any might.
  std::function<bool(const Params&)> promising;

  // Combinations, disallowed ones included; saturates at INT64_MAX.
  std::int64_t size() const;
  // Combination `index` of [0, size()), the last axis running fastest.
  Params at(std::int64_t index) const;
  bool contains(const Params& params) const;
  // A random combination drawn with `seed`: the first allowed of a bounded number of tries, or the
  // first combination if there is none.
  Params sample(std::uint64_t seed) const;
  // All allowed combinations if there are at most `limit`, else `limit` samples without repetition
  // as far as they can be found. Deterministic.
  std::vector<Params> list(std::size_t limit) const;
  // The same of those that are promising: what a tuner tries.
  std::vector<Params> list_promising(std::size_t limit) const;
};

}  // namespace softneuro
