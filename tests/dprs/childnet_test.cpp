// Childnets: the outer layer's candidates are the inner net's best paths, border by border.
#include <catch2/catch.hpp>

#include "dprs/oracle.h"
#include "dprs/random_problem.h"

namespace softneuro::dprs::oracle {
namespace {

constexpr int kFormats = 3;

Layer random_layer(Random& random, std::vector<int> inputs, int output) {
  Layer layer;
  layer.inputs = std::move(inputs);
  layer.outputs = {output};
  for (int f = 0; f < kFormats; ++f)
    layer.candidates.push_back({std::vector<int>(layer.inputs.size(), f),
                                {random.below(kFormats)},
                                random.unit() * 10,
                                static_cast<std::size_t>(random.below(50))});
  return layer;
}

// Two adapts in a row never cost less than one.
Tensor random_tensor(Random& random) {
  double from[kFormats];
  double to[kFormats];
  for (int f = 0; f < kFormats; ++f) {
    from[f] = random.unit() * 2;
    to[f] = random.unit() * 2;
  }
  Tensor tensor;
  for (int i = 0; i < kFormats * kFormats; ++i)
    tensor.adapt.push_back(i / kFormats == i % kFormats ? 0
                                                        : from[i / kFormats] + to[i % kFormats]);
  return tensor;
}

// wgenc -> wgconv -> wgdec: tensors 0 (in) to 3 (out).
Childnet random_childnet(Random& random) {
  Childnet childnet;
  childnet.problem.formats = kFormats;
  for (int t = 0; t < 4; ++t) childnet.problem.tensors.push_back(random_tensor(random));
  for (int l = 0; l < 3; ++l) childnet.problem.layers.push_back(random_layer(random, {l}, l + 1));
  childnet.inputs = {0};
  childnet.outputs = {3};
  return childnet;
}

}  // namespace

TEST_CASE("dprs: a childnet's rows are the best paths of each border", "[dprs]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Childnet childnet = random_childnet(random);
    const auto rows = solve_childnet(childnet, {{0, 1, 2}}, {{0, 1, 2}});
    REQUIRE(rows.ok());
    REQUIRE(rows->size() == 9);
    for (const ChildnetRow& row : *rows) {
      Problem inner = childnet.problem;
      inner.tensors[0].fixed_format = row.candidate.inputs[0];
      inner.tensors[3].wanted = {row.candidate.outputs[0]};
      REQUIRE(row.candidate.time == Approx(ranking(inner, 1)[0]));
      REQUIRE(row.candidate.time == Approx(cost_by_hand(inner, row.path.choice)));
      REQUIRE(row.candidate.workspace == memory_by_hand(inner, row.path.choice));
    }
  }
}

// A chain in which one layer is a childnet, against the flat chain with the inner layers in its
// place: the border's formats are what the inner layers would have met.
TEST_CASE("dprs: a net with a childnet costs what the flat net costs", "[dprs]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed + 1000);
    const Childnet childnet = random_childnet(random);
    const Layer before = random_layer(random, {0}, 1);
    const Layer after = random_layer(random, {1}, 2);
    const Tensor given = random_tensor(random);
    const Tensor end = random_tensor(random);

    Problem flat;
    flat.formats = kFormats;
    flat.tensors = {given};
    flat.tensors.insert(flat.tensors.end(), childnet.problem.tensors.begin(),
                        childnet.problem.tensors.end());
    flat.tensors.push_back(end);
    flat.tensors[0].fixed_format = 0;
    flat.tensors[5].wanted = {0};
    flat.layers = {before};
    for (Layer layer : childnet.problem.layers) {
      layer.inputs[0] += 1;
      layer.outputs[0] += 1;
      flat.layers.push_back(layer);
    }
    flat.layers.push_back(after);
    flat.layers.back().inputs = {4};
    flat.layers.back().outputs = {5};

    Problem nested;
    nested.formats = kFormats;
    nested.tensors = {given, childnet.problem.tensors[0], childnet.problem.tensors[3], end};
    nested.tensors[0].fixed_format = 0;
    nested.tensors[3].wanted = {0};
    Layer middle;
    middle.inputs = {1};
    middle.outputs = {2};
    const auto rows = solve_childnet(childnet, {{0, 1, 2}}, {{0, 1, 2}});
    REQUIRE(rows.ok());
    for (const ChildnetRow& row : *rows) middle.candidates.push_back(row.candidate);
    nested.layers = {before, middle, after};
    nested.layers[2].inputs = {2};
    nested.layers[2].outputs = {3};

    const Result<Solution> solution = solve(nested);
    REQUIRE(solution.ok());
    // On the border the nested net could adapt twice in a row, inside and outside, where the flat
    // one adapts once; with a row for every border it never needs to.
    REQUIRE(solution->paths[0].cost == Approx(ranking(flat, 1)[0]));
  }
}

TEST_CASE("dprs: a childnet's malformed border is refused", "[dprs]") {
  Random random(1);
  const Childnet childnet = random_childnet(random);
  CHECK(solve_childnet(childnet, {}, {{0}}).status().code() == StatusCode::invalid_argument);
  CHECK(solve_childnet(childnet, {{}}, {{0}}).status().code() == StatusCode::invalid_argument);
  CHECK(solve_childnet(childnet, {{3}}, {{0}}).status().code() == StatusCode::invalid_argument);
  Childnet outside = childnet;
  outside.outputs = {4};
  CHECK(solve_childnet(outside, {{0}}, {{0}}).status().code() == StatusCode::invalid_argument);
  const std::vector<int> many(65, 0);
  Childnet wide = childnet;
  wide.inputs = {0, 0};
  CHECK(solve_childnet(wide, {many, many}, {{0}}).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("dprs: borders without a path are left out", "[dprs]") {
  Random random(2);
  Childnet childnet = random_childnet(random);
  childnet.problem.tensors[3].adapt.clear();
  for (Candidate& candidate : childnet.problem.layers[2].candidates) candidate.outputs = {1};
  const auto rows = solve_childnet(childnet, {{0, 1, 2}}, {{0, 1, 2}});
  REQUIRE(rows.ok());
  CHECK(rows->size() == 3);
  for (const ChildnetRow& row : *rows) CHECK(row.candidate.outputs == std::vector<int>{1});
  CHECK(solve_childnet(childnet, {{0}}, {{0}}).status().code() == StatusCode::unsupported);
}

}  // namespace softneuro::dprs::oracle
