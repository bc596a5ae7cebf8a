// The solver's answer is the optimum: brute force over all choices, priced by a function that
// shares nothing with it, on thousands of random DAGs of which many defeat simpler strategies.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "dprs/oracle.h"
#include "dprs/random_problem.h"

namespace softneuro::dprs::oracle {
namespace {

constexpr Shape kShapes[] = {Shape::any, Shape::branches, Shape::skips, Shape::dense,
                             Shape::shared};

bool same(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b));
}

struct Tally {
  int problems = 0;
  int feasible = 0;
  int defeat_greedy = 0;
  int defeat_per_edge = 0;
  int multiple_inputs = 0;
  int multiple_outputs = 0;
};

void count_kinds(const Problem& problem, Tally& tally) {
  bool inputs = false;
  bool outputs = false;
  for (const Layer& layer : problem.layers) {
    inputs = inputs || layer.inputs.size() > 1;
    outputs = outputs || layer.outputs.size() > 1;
  }
  int wanted = 0;
  for (const Tensor& tensor : problem.tensors) wanted += tensor.wanted.empty() ? 0 : 1;
  tally.multiple_inputs += inputs ? 1 : 0;
  tally.multiple_outputs += outputs || wanted > 1 ? 1 : 0;
}

void compare(std::uint64_t seed, const Kind& kind, int k, Tally& tally) {
  const Problem problem = random_problem(seed, kind);
  const std::vector<double> expected = ranking(problem, static_cast<std::size_t>(k));
  Limits limits;
  limits.k = k;
  const Result<Solution> solution = solve(problem, limits);
  INFO("shape " << name_of(kind.shape) << ", seed " << seed << "\n" << describe(problem));
  ++tally.problems;
  count_kinds(problem, tally);
  if (expected.empty()) {
    REQUIRE_FALSE(solution.ok());
    REQUIRE(solution.status().code() == StatusCode::unsupported);
    return;
  }
  INFO(solution.status().message());
  REQUIRE(solution.ok());
  REQUIRE(solution->optimal);
  REQUIRE(solution->gap == 0);
  REQUIRE(solution->paths.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Path& path = solution->paths[i];
    REQUIRE(same(path.cost, expected[i]));
    REQUIRE(same(cost_by_hand(problem, path.choice), expected[i]));
    REQUIRE(path.memory == memory_by_hand(problem, path.choice));
    for (std::size_t j = 0; j < i; ++j) REQUIRE(solution->paths[j].choice != path.choice);
  }
  ++tally.feasible;
  if (cost_by_hand(problem, greedy(problem)) > expected[0] + 1e-9) ++tally.defeat_greedy;
  const std::vector<int> unshared = best_per_edge(problem);
  if (!unshared.empty() && cost_by_hand(problem, unshared) > expected[0] + 1e-9)
    ++tally.defeat_per_edge;
}

// `each` problems of each shape.
Tally compare_all(int each, int k) {
  Tally tally;
  for (const Shape shape : kShapes)
    for (int i = 0; i < each; ++i) {
      Kind kind;
      kind.shape = shape;
      kind.whole_times = i % 2 == 0;
      compare(static_cast<std::uint64_t>(i), kind, k, tally);
    }
  INFO(tally.problems << " DAGs, " << tally.feasible
                      << " with a path; the optimum defeats greedy on " << tally.defeat_greedy
                      << ", per-edge adapts on " << tally.defeat_per_edge);
  // The problems are worth solving. The shares are of all DAGs, those without a path included.
  CHECK(tally.defeat_greedy * 10 >= tally.problems * 3);
  CHECK(tally.defeat_per_edge * 10 >= tally.problems);
  CHECK(tally.multiple_inputs * 2 > tally.problems);
  CHECK(tally.multiple_outputs * 3 > tally.problems);
  CHECK(tally.feasible * 10 > tally.problems * 8);
  return tally;
}

}  // namespace

TEST_CASE("dprs: the optimum on random DAGs, as brute force finds it", "[dprs]") {
  compare_all(200, 1);
}

TEST_CASE("dprs: the optimum on 10,000 random DAGs", "[dprs][slow]") {
  CHECK(compare_all(2000, 1).problems >= 10000);
}

TEST_CASE("dprs: the k best are brute force's ranking", "[dprs]") {
  compare_all(60, 12);
}

TEST_CASE("dprs: the k best of more random DAGs", "[dprs][slow]") {
  compare_all(500, 25);
}

TEST_CASE("dprs: where there are fewer than k paths, all are returned once", "[dprs]") {
  Problem problem;
  problem.formats = 2;
  problem.tensors.resize(2);
  problem.tensors[0].fixed_format = 0;
  problem.tensors[0].adapt = {0, 1, 1, 0};
  Layer layer;
  layer.inputs = {0};
  layer.outputs = {1};
  layer.candidates = {{{0}, {0}, 3}, {{0}, {0}, 3}, {{1}, {1}, 1}, {{1}, {1}, kInfinity}};
  problem.layers = {layer};
  Limits limits;
  limits.k = 10;
  const Result<Solution> solution = solve(problem, limits);
  REQUIRE(solution.ok());
  REQUIRE(solution->paths.size() == 3);
  CHECK(solution->paths[0].choice == std::vector<int>{2});
  CHECK(solution->paths[0].cost == 2);
  CHECK(solution->paths[0].adapts == std::vector<Adapt>{{0, 0, 1}});
  CHECK(solution->paths[1].cost == 3);
  CHECK(solution->paths[2].cost == 3);
}

TEST_CASE("dprs: where adapts are free, each path is returned once", "[dprs]") {
  constexpr int kFormats = 3, kConsumers = 4;
  Problem problem;
  problem.formats = kFormats;
  problem.tensors.resize(2 + kConsumers);
  problem.tensors[0].fixed_format = 0;
  for (Tensor& tensor : problem.tensors) tensor.adapt.assign(kFormats * kFormats, 0);
  for (int l = 0; l <= kConsumers; ++l) {
    Layer layer;
    layer.inputs = {l == 0 ? 0 : 1};
    layer.outputs = {l + 1};
    for (int f = 0; f < kFormats; ++f) layer.candidates.push_back({{f}, {f}, 0});
    problem.layers.push_back(layer);
  }
  Limits limits;
  limits.k = 1000;
  const Result<Solution> solution = solve(problem, limits);
  REQUIRE(solution.ok());
  std::set<std::vector<int>> choices;
  for (const Path& path : solution->paths) {
    CHECK(path.cost == 0);
    choices.insert(path.choice);
  }
  CHECK(solution->paths.size() == 243);  // 3 candidates in each of 5 layers
  CHECK(choices.size() == 243);
}

}  // namespace softneuro::dprs::oracle
