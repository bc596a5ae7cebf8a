// The nets of the paper's Figure 2 and the net on which its Algorithm 1 gives two routines to one
// layer (docs/internals/solver.md).
#include <catch2/catch.hpp>

#include "dprs/oracle.h"
#include "dprs/random_problem.h"

namespace softneuro::dprs::oracle {
namespace {

// A net given by its edges, layers numbered from 1 as in the paper; layer n makes tensor n. Layers
// without a predecessor read tensor 0, those without a successor are outputs.
struct Edges {
  const char* name;
  int layers;
  std::vector<std::pair<int, int>> edges;
};

const Edges kNets[] = {
    {"A, straight", 5, {{1, 2}, {2, 3}, {3, 4}, {4, 5}}},
    {"B, branching", 6, {{1, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}, {5, 6}}},
    {"C, multi-branching",
     8,
     {{1, 2}, {2, 3}, {2, 4}, {3, 5}, {4, 5}, {1, 6}, {6, 7}, {5, 8}, {7, 8}}},
    {"D, multi-input, multi-output",
     8,
     {{1, 3}, {2, 3}, {2, 4}, {3, 5}, {3, 6}, {4, 6}, {5, 7}, {6, 8}}},
};

// `formats` schemas, one routine per layer and schema as in the paper, random times.
Problem build(const Edges& net, int formats, Random& random) {
  Problem problem;
  problem.formats = formats;
  problem.tensors.resize(static_cast<std::size_t>(net.layers) + 1);
  for (Tensor& tensor : problem.tensors)
    for (int i = 0; i < formats * formats; ++i) tensor.adapt.push_back(random.unit() * 5);
  problem.tensors[0].fixed_format = 0;
  for (int l = 1; l <= net.layers; ++l) {
    Layer layer;
    bool is_output = true;
    for (const auto& [from, to] : net.edges) {
      if (to == l) layer.inputs.push_back(from);
      is_output = is_output && from != l;
    }
    if (layer.inputs.empty()) layer.inputs = {0};
    if (is_output) problem.tensors[static_cast<std::size_t>(l)].wanted = {0};
    layer.outputs = {l};
    for (int f = 0; f < formats; ++f)
      layer.candidates.push_back(
          {std::vector<int>(layer.inputs.size(), f), {f}, random.unit() * 10});
    problem.layers.push_back(std::move(layer));
  }
  return problem;
}

}  // namespace

TEST_CASE("dprs: the paper's nets A to D", "[dprs]") {
  for (const Edges& net : kNets)
    for (int formats = 2; formats <= 3; ++formats)
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        const Problem problem = build(net, formats, random);
        const Result<Solution> solution = solve(problem);
        INFO("net " << net.name << ", seed " << seed << ": " << solution.status().message());
        REQUIRE(solution.ok());
        REQUIRE(solution->optimal);
        REQUIRE(solution->paths[0].cost == Approx(ranking(problem, 1)[0]).epsilon(1e-12));
        REQUIRE(cost_by_hand(problem, solution->paths[0].choice) ==
                Approx(solution->paths[0].cost).epsilon(1e-12));
      }
}

TEST_CASE("dprs: the net on which Algorithm 1 answers 1.1 has its optimum at 2.0", "[dprs]") {
  const int alpha = 0;
  const int beta = 1;
  Problem problem;
  problem.formats = 2;
  problem.tensors.resize(5);
  problem.tensors[0].fixed_format = alpha;
  problem.tensors[1].adapt = {0, 0.1, 0.1, 0};
  problem.tensors[2].adapt = {0, 1, 1, 0};
  problem.tensors[3].adapt = {0, 1, 1, 0};
  auto add = [&](std::vector<int> inputs, int output, const std::vector<int>& schemas) {
    Layer layer;
    layer.inputs = std::move(inputs);
    layer.outputs = {output};
    for (const int s : schemas)
      layer.candidates.push_back({std::vector<int>(layer.inputs.size(), s), {s}, 0});
    problem.layers.push_back(std::move(layer));
  };
  add({0}, 1, {alpha});
  add({1}, 2, {alpha, beta});
  add({1, 2}, 3, {alpha});
  add({2, 3}, 4, {beta});

  CHECK(ranking(problem, 1)[0] == Approx(2.0));
  Limits limits;
  limits.k = 2;
  const Result<Solution> solution = solve(problem, limits);
  REQUIRE(solution.ok());
  CHECK(solution->optimal);
  REQUIRE(solution->paths.size() == 2);
  CHECK(solution->paths[0].cost == Approx(2.0));
  CHECK(solution->paths[0].choice[1] == alpha);
  CHECK(solution->paths[1].cost == Approx(2.1));
}

}  // namespace softneuro::dprs::oracle
