// Limits on memory: the path returned respects them, is the best that does where the
// solver says so, and a limit that nothing respects is an error that names the nearest.
#include <catch2/catch.hpp>
#include <cmath>

#include "dprs/oracle.h"
#include "dprs/random_problem.h"

namespace softneuro::dprs::oracle {
namespace {

struct Priced {
  double cost = 0;
  std::size_t memory = 0;
};

std::vector<Priced> price_all(const Problem& problem) {
  std::vector<Priced> all;
  for_all_choices(problem, true, [&](const std::vector<int>& choice, double cost) {
    if (cost < kInfinity) all.push_back({cost, memory_by_hand(problem, choice)});
  });
  std::sort(all.begin(), all.end(),
            [](const Priced& a, const Priced& b) { return a.cost < b.cost; });
  return all;
}

struct Tally {
  int binding = 0;
  int optimal = 0;
  int unreachable = 0;
};

bool near(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b));
}

// The solution against all paths within the limits, the cheapest first.
void compare(const Problem& problem, const std::vector<Priced>& all, const Limits& limits,
             Tally& tally) {
  std::vector<Priced> within;
  for (const Priced& priced : all)
    if (priced.memory <= limits.max_memory) within.push_back(priced);
  const Result<Solution> solution = solve(problem, limits);
  INFO("max_memory " << limits.max_memory << ": " << solution.status().message() << "\n"
                     << describe(problem));
  if (within.empty()) {
    ++tally.unreachable;
    REQUIRE(solution.status().code() == StatusCode::unsupported);
    return;
  }
  if (all[0].cost < within[0].cost) ++tally.binding;
  // Finding any path within a memory limit is hard in general; where it is not found, say so.
  if (!solution.ok()) {
    REQUIRE(solution.status().message().find("was found") != std::string::npos);
    return;
  }
  REQUIRE(solution.ok());
  for (const Path& path : solution->paths) {
    REQUIRE(near(path.cost, cost_by_hand(problem, path.choice)));
    REQUIRE(memory_by_hand(problem, path.choice) <= limits.max_memory);
  }
  REQUIRE(solution->lower_bound <= within[0].cost * (1 + 1e-9) + 1e-9);
  if (!solution->optimal) return;
  ++tally.optimal;
  REQUIRE(solution->paths.size() == std::min(within.size(), static_cast<std::size_t>(limits.k)));
  for (std::size_t i = 0; i < solution->paths.size(); ++i)
    REQUIRE(near(solution->paths[i].cost, within[i].cost));
}

Problem limited_problem(int i) {
  Kind kind;
  kind.shape = static_cast<Shape>(i % 6 % 5);
  kind.most_choices = 1500;
  kind.whole_times = i % 4 == 0;
  return random_problem(static_cast<std::uint64_t>(i) + 5000, kind);
}

}  // namespace

TEST_CASE("dprs: a limit on memory", "[dprs]") {
  Tally tally, tally_of_hurried;
  int compared = 0;
  int found = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = limited_problem(i);
    const std::vector<Priced> all = price_all(problem);
    if (all.empty()) continue;
    std::size_t least = all[0].memory;
    for (const Priced& priced : all) least = std::min(least, priced.memory);
    for (const double share : {0.0, 0.3, 0.7}) {
      Limits limits;
      limits.max_memory =
          least + static_cast<std::size_t>(share * static_cast<double>(all[0].memory - least));
      compare(problem, all, limits, tally);
      Limits hurried = limits;  // nothing is claimed that was not proven
      hurried.work = i % 2 == 0 ? 100 : 1000;
      compare(problem, all, hurried, tally_of_hurried);
      ++compared;
      found += solve(problem, limits).ok() ? 1 : 0;
    }
  }
  CHECK(tally.binding * 4 > compared);
  CHECK(found * 100 >= compared * 95);
  CHECK(tally.optimal * 100 >= compared * 80);
}

TEST_CASE("dprs: the smallest peak that is found can be kept as a limit", "[dprs]") {
  int compared = 0;
  int least_found = 0;
  for (int i = 0; i < 120; ++i) {
    Problem problem = limited_problem(i);
    const std::vector<Priced> all = price_all(problem);
    if (all.empty()) continue;
    std::size_t least = all[0].memory;
    for (const Priced& priced : all) least = std::min(least, priced.memory);
    Limits limits;
    limits.least_memory = true;
    const Path smallest = solve(problem, limits).value().paths[0];
    const std::size_t found = smallest.memory;
    REQUIRE(found >= least);
    ++compared;
    least_found += found == least ? 1 : 0;
    // Other times, as where layers were measured again.
    for (Layer& layer : problem.layers)
      for (Candidate& candidate : layer.candidates) candidate.time = 1 + candidate.time * 7;
    REQUIRE(solve(problem, limits).value().paths[0].memory == found);
    limits.least_memory = false;
    limits.max_memory = found;
    const Result<Solution> within = solve(problem, limits);
    INFO(i << ": " << within.status().message());
    REQUIRE(within.ok());
    REQUIRE(memory_by_hand(problem, within->paths[0].choice) <= found);
    // However little work is allowed: both do the same.
    limits.max_memory = 0;
    limits.work = 500;
    limits.least_memory = true;
    const Result<Solution> hurried = solve(problem, limits);
    if (!hurried.ok()) continue;
    limits.least_memory = false;
    limits.max_memory = hurried->paths[0].memory;
    REQUIRE(solve(problem, limits).value().paths[0].memory <= limits.max_memory);
  }
  CHECK(least_found * 100 >= compared * 95);
}

TEST_CASE("dprs: a limit on memory below every path names the smallest peak", "[dprs]") {
  Problem problem;
  problem.formats = 1;
  problem.tensors.resize(2);
  problem.tensors[0].fixed_format = 0;
  problem.tensors[1].bytes = {100};
  Layer layer;
  layer.inputs = {0};
  layer.outputs = {1};
  layer.candidates = {{{0}, {0}, 1, 50}, {{0}, {0}, 2, 10}};
  problem.layers = {layer};
  Limits limits;
  limits.max_memory = 110;
  const Result<Solution> solution = solve(problem, limits);
  REQUIRE(solution.ok());
  CHECK(solution->paths[0].choice == std::vector<int>{1});
  CHECK(solution->paths[0].memory == 110);
  limits.max_memory = 109;
  const Status status = solve(problem, limits).status();
  CHECK(status.code() == StatusCode::unsupported);
  CHECK(status.message().find("110 bytes") != std::string::npos);
}

}  // namespace softneuro::dprs::oracle
