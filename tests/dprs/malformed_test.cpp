// Malformed problems and limits are refused with a message that names the place.
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "dprs/dprs.h"

namespace softneuro::dprs {
namespace {

// Two layers in a row, two formats.
Problem sound() {
  Problem problem;
  problem.formats = 2;
  problem.tensors.resize(3);
  for (Tensor& tensor : problem.tensors) tensor.adapt = {0, 1, 1, 0};
  problem.tensors[0].fixed_format = 0;
  problem.tensors[2].wanted = {0};
  for (int l = 0; l < 2; ++l) {
    Layer layer;
    layer.inputs = {l};
    layer.outputs = {l + 1};
    layer.candidates = {{{0}, {0}, 2}, {{1}, {1}, 1}};
    problem.layers.push_back(layer);
  }
  return problem;
}

struct Damage {
  const char* message;  // part of it
  std::function<void(Problem&)> damage;
};

}  // namespace

TEST_CASE("dprs: a problem without layers and formats has the empty path", "[dprs]") {
  Problem problem;
  problem.tensors.resize(1);
  for (const bool limited : {false, true}) {
    Limits limits;
    if (limited) limits.max_memory = 1;
    const Result<Solution> solution = solve(problem, limits);
    REQUIRE(solution.ok());
    REQUIRE(solution->paths.size() == 1);
    CHECK(solution->paths[0].choice.empty());
    CHECK(solution->paths[0].cost == 0);
  }
}

TEST_CASE("dprs: malformed problems give errors that name the place", "[dprs]") {
  REQUIRE(validate(sound()).ok());
  REQUIRE(solve(sound()).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Damage damages[] = {
      {"0 formats", [](Problem& p) { p.formats = 0; }},
      {"65 formats", [](Problem& p) { p.formats = 65; }},
      {"layer 1: input tensor 7 does not exist", [](Problem& p) { p.layers[1].inputs = {7}; }},
      {"layer 0: output tensor -2 does not exist", [](Problem& p) { p.layers[0].outputs = {-2}; }},
      {"layer 1: output tensor 1 is made by layer 0 too",
       [](Problem& p) { p.layers[1].outputs = {1}; }},
      {"not in topological order", [](Problem& p) { std::swap(p.layers[0], p.layers[1]); }},
      {"not in topological order", [](Problem& p) { p.layers[1].inputs = {2}; }},
      {"is made by no layer", [](Problem& p) { p.tensors[0].fixed_format = -1; }},
      {"tensor 1: has a fixed format", [](Problem& p) { p.tensors[1].fixed_format = 0; }},
      {"tensor 0: fixed format 5", [](Problem& p) { p.tensors[0].fixed_format = 5; }},
      {"tensor 2: wanted format 2", [](Problem& p) { p.tensors[2].wanted = {2}; }},
      {"tensor 3: is wanted",
       [](Problem& p) {
         p.tensors.emplace_back();
         p.tensors[3].wanted = {0};
       }},
      {"tensor 1: 3 adapt times where 4", [](Problem& p) { p.tensors[1].adapt.resize(3); }},
      {"tensor 1: an adapt time", [](Problem& p) { p.tensors[1].adapt[1] = -1; }},
      {"tensor 1: an adapt time", [&](Problem& p) { p.tensors[1].adapt[1] = nan; }},
      {"tensor 1: 1 sizes for 2", [](Problem& p) { p.tensors[1].bytes = {4}; }},
      {"layer 1: no candidates", [](Problem& p) { p.layers[1].candidates.clear(); }},
      {"layer 1: candidate 0: 2 input",
       [](Problem& p) {
         p.layers[1].candidates[0].inputs = {0, 0};
       }},
      {"layer 1: candidate 1: input format 2",
       [](Problem& p) { p.layers[1].candidates[1].inputs = {2}; }},
      {"layer 0: candidate 0: output format -1",
       [](Problem& p) { p.layers[0].candidates[0].outputs = {-1}; }},
      {"candidate 0: its time", [](Problem& p) { p.layers[0].candidates[0].time = -1; }},
      {"candidate 0: its time", [&](Problem& p) { p.layers[0].candidates[0].time = nan; }},
  };
  for (const Damage& damage : damages) {
    Problem problem = sound();
    damage.damage(problem);
    const Status status = validate(problem);
    INFO("expected: " << damage.message << "; got: " << status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(damage.message) != std::string::npos);
    CHECK(solve(problem).status().code() == StatusCode::invalid_argument);
    CHECK(make_path(problem, {0, 0}).status().code() == StatusCode::invalid_argument);
  }
}

TEST_CASE("dprs: malformed limits and choices give errors", "[dprs]") {
  Limits limits;
  limits.k = 0;
  CHECK(solve(sound(), limits).status().code() == StatusCode::invalid_argument);
  limits = {};
  limits.work = 0;
  CHECK(solve(sound(), limits).status().code() == StatusCode::invalid_argument);
  CHECK(make_path(sound(), {0}).status().code() == StatusCode::invalid_argument);
  CHECK(make_path(sound(), {0, 2}).status().code() == StatusCode::invalid_argument);
  CHECK(make_path(sound(), {0, -1}).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("dprs: an empty net has an empty path", "[dprs]") {
  Problem problem;
  problem.formats = 1;
  const Result<Solution> solution = solve(problem);
  REQUIRE(solution.ok());
  CHECK(solution->paths[0].choice.empty());
  CHECK(solution->paths[0].cost == 0);
  CHECK(solution->optimal);
}

TEST_CASE("dprs: no path at all is an error, not an infinite cost", "[dprs]") {
  Problem problem = sound();
  problem.tensors[1].adapt.clear();
  problem.layers[0].candidates = {{{0}, {0}, 1}};
  problem.layers[1].candidates = {{{1}, {0}, 1}};
  CHECK(solve(problem).status().code() == StatusCode::unsupported);
  problem.layers[1].candidates = {{{0}, {0}, kInfinity}};
  CHECK(solve(problem).status().code() == StatusCode::unsupported);
  Limits limits;
  limits.max_memory = 1;
  CHECK(solve(problem, limits).status().code() == StatusCode::unsupported);
}

}  // namespace softneuro::dprs
