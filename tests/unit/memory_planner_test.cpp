// Which bytes of the arena tensors get: never two at a time the same, and each as low as the rule
// of the planner says.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "core/plan/plan_impl.h"

using namespace softneuro;

namespace {

struct Life {
  std::size_t bytes = 0, offset = 0;
  std::int64_t first = 0, last = 0;
};

// A plan whose step i makes tensor i + 1 (tensor 0 is the input) and reads some before it.
PlanImpl random_plan(std::size_t steps, std::size_t reach, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  PlanImpl plan;
  auto graph = std::make_shared<Graph>();
  plan.tensors.resize(steps + 1);
  plan.tensors[0].storage = Storage::input;
  plan.steps.resize(steps);
  for (std::size_t s = 0; s < steps; ++s) {
    PlannedTensor& made = plan.tensors[s + 1];
    made.storage = Storage::arena;
    made.bytes = below(4) == 0 ? 0 : below(20) * 50;
    for (std::size_t k = 0; k <= below(3); ++k)
      plan.steps[s].inputs.push_back(static_cast<TensorId>(s - below(std::min(reach, s) + 1)));
    plan.steps[s].outputs = {static_cast<TensorId>(s + 1)};
  }
  graph->outputs = {static_cast<TensorId>(steps)};
  plan.graph = graph;
  return plan;
}

std::vector<Life> lives_of(const PlanImpl& plan) {
  std::vector<Life> lives;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const TensorId id = plan.steps[s].outputs[0];
    const PlannedTensor& planned = plan.tensors[id];
    if (planned.storage != Storage::arena) continue;
    auto now = static_cast<std::int64_t>(s);
    Life life{(planned.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment,
              planned.offset, now, now};
    for (std::size_t t = 0; t < plan.steps.size(); ++t)
      if (const auto& ids = plan.steps[t].inputs;
          std::find(ids.begin(), ids.end(), id) != ids.end())
        life.last = static_cast<std::int64_t>(t);
    lives.push_back(life);
  }
  return lives;
}

// The largest first, each at the lowest offset that is free all its life: by trying all ends of
// blocks placed before.
std::size_t lowest_offset(const std::vector<Life>& placed, const Life& life) {
  std::vector<std::size_t> candidates = {0};
  for (const Life& other : placed) candidates.push_back(other.offset + other.bytes);
  std::sort(candidates.begin(), candidates.end());
  const auto is_free = [&](std::size_t offset) {
    return std::none_of(placed.begin(), placed.end(), [&](const Life& other) {
      return other.first <= life.last && life.first <= other.last &&
             other.offset < offset + life.bytes && offset < other.offset + other.bytes;
    });
  };
  return *std::find_if(candidates.begin(), candidates.end(), is_free);
}

}  // namespace

TEST_CASE("memory planner: every tensor is at the lowest offset that is free all its life") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::size_t steps = 1 + seed % 70;
    const std::size_t reach = seed % 3 == 0 ? steps : 4;
    CAPTURE(seed, steps, reach);
    PlanImpl plan = random_plan(steps, reach, seed);
    plan_memory(plan);
    std::vector<Life> lives = lives_of(plan);
    std::stable_sort(lives.begin(), lives.end(),
                     [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
    std::vector<Life> placed;
    std::size_t end = 0;
    for (const Life& life : lives) {
      if (life.bytes == 0) continue;
      REQUIRE(life.offset == lowest_offset(placed, life));
      placed.push_back(life);
      end = std::max(end, life.offset + life.bytes);
    }
    CHECK(plan.output_offsets[0] == end);
  }
}

TEST_CASE("memory planner: 20,000 tensors that are all alive at once, and as many in a chain") {
  constexpr std::size_t kSteps = 20000;
  for (const std::size_t reach : {std::size_t{0}, kSteps}) {
    PlanImpl plan = random_plan(kSteps, 0, 1);
    for (PlannedTensor& planned : plan.tensors) planned.bytes = kTensorAlignment;
    if (reach > 0)
      for (TensorId id = 0; id + 1 < kSteps; ++id) plan.steps.back().inputs.push_back(id);
    plan_memory(plan);
    CHECK(plan.devices[0].arena_bytes == (reach > 0 ? kSteps : 3) * kTensorAlignment);
  }
}
