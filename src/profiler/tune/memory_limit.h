// TuneCriteria::max_memory. The solver counts the bytes that are alive at each step; views, work in
// place and the packing of arenas are not in its count. So its bound follows from what plans really
// take (docs/internals/tuner.md).
#pragma once

#include "profiler/tune/tune_context.h"

namespace softneuro {

// Bytes of the plan's arenas, on all devices, and of its packed weights.
std::size_t plan_memory(const Plan& plan);

class MemoryLimit {
 public:
  explicit MemoryLimit(TuneContext& context) : context_(context) {}

  std::size_t bytes() const { return context_.options.criteria.max_memory; }  // 0: no limit
  // What the plan of `path` takes; 0 where nothing limits it.
  Result<std::size_t> memory_of(const RoutinePath& path) const;
  // Finds the bound for rules(). unsupported if no plan keeps the limit.
  Status find_bound();
  // What every path keeps to, by what find_bound() found.
  SelectionRules rules() const;
  // What takes least memory, where the fastest path takes more than the limit.
  const std::optional<Selection>& smallest() const { return fit_.smallest; }
  // The fastest selection under `rules` that keeps the limit.
  Result<Selection> select(const SelectionRules& rules) const;

 private:
  struct Fit {
    Selection selection;
    std::size_t bound = 0;              // of what the solver counts; 0: none is needed
    std::optional<Selection> smallest;  // where one is
  };
  struct Sized {
    Selection selection;
    std::size_t memory = 0;  // memory_of its path
  };
  Result<Sized> select_sized(const SelectionRules& rules) const;
  Result<Fit> fit(SelectionRules rules) const;

  TuneContext& context_;
  Fit fit_;
};

}  // namespace softneuro
