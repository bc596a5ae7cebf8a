// The limit on memory. The solver counts the bytes that are alive at each step; views, work in
// place and the packing of arenas are not in its count. So its bound follows from what plans really
// take.
#include <map>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Plans that are made to find the solver's bound; two or three do, as a rule.
constexpr int kMemoryRounds = 12;
// Paths whose size differs by less than one in so many are alike.
constexpr std::size_t kMemorySteps = 64;

}  // namespace

std::size_t plan_memory(const Plan& plan) {
  const PlanImpl& impl = impl_of(plan);
  std::size_t bytes = 0;
  for (const PlannedDevice& planned : impl.devices) bytes += planned.arena_bytes;
  std::map<const std::byte*, std::size_t> packed;  // layers may share them
  for (const Step& step : impl.steps)
    if (!step.packed.empty()) packed[step.packed.data()] = step.packed.size();
  for (const auto& [data, size] : packed) bytes += size;
  return bytes;
}

Result<std::size_t> Tuner::memory_of(const RoutinePath& path) const {
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, path, nullptr));
  return plan_memory(*plan);
}

// Lowers the solver's bound until the plan of the path that it finds keeps the limit. Where nothing
// keeps the bound that follows from the last plan, higher ones are tried, halfway.
Status Tuner::find_memory_bound() {
  if (options_.max_memory == 0) return {};
  std::size_t least = SIZE_MAX;
  std::size_t fails = 0;         // the largest bound that no path keeps
  std::size_t found = SIZE_MAX;  // what the solver counts of the smallest path
  for (int round = 0; round < kMemoryRounds && found - fails > found / kMemorySteps; ++round) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    const Result<Selections> best = select_paths(*job_.graph, layers_, adapts_, rules());
    std::size_t wanted = 0;
    if (best.ok()) {
      const Selection& selection = best->paths[0];
      SN_ASSIGN_OR_RETURN(const RoutinePath path,
                          make_path(*job_.graph, layers_, adapts_, selection));
      SN_ASSIGN_OR_RETURN(const std::size_t memory, memory_of(path));
      if (memory <= options_.max_memory) return {};
      least = std::min(least, memory);
      found = std::min(found, selection.memory);
      const std::size_t excess = memory - options_.max_memory;
      wanted = found > excess ? found - excess : 0;
    } else if (best.status().code() != StatusCode::unsupported || memory_bound_ == 0) {
      return best.status();
    } else {
      fails = memory_bound_;
    }
    memory_bound_ = wanted > fails ? wanted : fails + (found - fails) / 2;
  }
  return unsupported(
      "no plan takes at most {} bytes (arena and packed weights): the smallest found takes {}. "
      "Allow more, or more schemas",
      options_.max_memory, least);
}

}  // namespace softneuro
