// solve: checks, the plain case, and what to say. Limits are in limits.cpp.
#include <algorithm>
#include <new>

#include "dprs/dprs.h"
#include "dprs/engine.h"
#include "dprs/limits.h"

namespace softneuro::dprs {
namespace {

Status check(const Limits& limits) {
  auto invalid = [](const char* what) {
    return Status(StatusCode::invalid_argument, std::string("dprs: ") + what);
  };
  if (limits.k < 1) return invalid("k must be at least 1");
  if (!(limits.work > 0)) return invalid("the work is not positive");
  return {};
}

// The plain case: no limit binds, the k best are what elimination finds.
Result<Solution> solve_unlimited(const Net& net, Engine& engine, const Limits& limits) {
  Solution solution;
  const Outcome outcome =
      engine.run(weights_of(net.problem), limits.k, 1, [&](Cost, const std::vector<int>& choice) {
        solution.paths.push_back(price(net.problem, net.uses, choice));
        return static_cast<int>(solution.paths.size()) < limits.k;
      });
  if (solution.paths.empty()) return no_path(outcome);
  describe(outcome, solution);
  return solution;
}

// There is nothing to choose: the empty path is all that limits could leave.
Solution without_layers(const Net& net) {
  Solution solution;
  solution.paths.push_back(price(net.problem, net.uses, {}));
  solution.lower_bound = solution.paths[0].cost;
  solution.optimal = true;
  return solution;
}

Result<Solution> solve_checked(const Problem& problem, const Limits& limits) {
  if (Status status = validate(problem); !status.ok()) return status;
  if (Status status = check(limits); !status.ok()) return status;
  const Net net(problem);
  if (problem.layers.empty()) return without_layers(net);
  Engine engine(net, limits.work);
  const bool limited = limits.max_memory != 0 || limits.least_memory;
  Result<Solution> solution =
      limited ? solve_limited(net, engine, limits) : solve_unlimited(net, engine, limits);
  if (!solution.ok()) return solution;
  std::stable_sort(solution->paths.begin(), solution->paths.end(),
                   [](const Path& a, const Path& b) { return a.cost < b.cost; });
  const Cost best = solution->paths[0].cost;
  solution->lower_bound = std::min(solution->lower_bound, best);
  if (solution->optimal) solution->lower_bound = best;
  solution->gap = best > 0 ? (best - solution->lower_bound) / best : 0;
  return solution;
}

}  // namespace

Status no_path(const Outcome& outcome) {
  if (outcome.lower_bound == kInfinity)
    return Status(StatusCode::unsupported,
                  "dprs: there is no path: some layer has no candidate that is possible, or an "
                  "adapt that every choice needs is impossible");
  return Status(StatusCode::unsupported, "dprs: no path was found; allow more work");
}

void describe(const Outcome& outcome, Solution& solution) {
  solution.lower_bound = outcome.lower_bound;
  solution.optimal = outcome.optimal;
  solution.table_cells = static_cast<std::size_t>(outcome.cells);
  solution.width = outcome.width;
}

Result<Solution> solve(const Problem& problem, const Limits& limits) {
#if defined(__cpp_exceptions)
  try {
    return solve_checked(problem, limits);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, "dprs: out of memory; lower the work");
  }
#else
  return solve_checked(problem, limits);
#endif
}

}  // namespace softneuro::dprs
