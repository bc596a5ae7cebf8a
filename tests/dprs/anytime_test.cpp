// Where tables exceed the limits: whatever is returned, bound <= optimum <= path.
#include <catch2/catch.hpp>
#include <cmath>

#include "dprs/dual.h"
#include "dprs/engine.h"
#include "dprs/oracle.h"
#include "dprs/random_problem.h"
#include "dprs/relax.h"

namespace softneuro::dprs::oracle {
namespace {

Problem problem_of(int i) {
  Kind kind;
  kind.shape = static_cast<Shape>(i % 5);
  kind.whole_times = i % 4 == 0;
  return random_problem(static_cast<std::uint64_t>(i) + 9000, kind);
}

}  // namespace

TEST_CASE("dprs: with tables of no size, bound <= optimum <= path", "[dprs]") {
  int proven = 0;
  int past_the_gate = 0;
  for (int i = 0; i < 240; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    Limits limits;
    limits.table_bytes = 1;
    // No time at all, or more than enough.
    limits.time = i % 3 == 0 ? std::chrono::nanoseconds(1) : std::chrono::seconds(10);
    const Result<Solution> solution = solve(problem, limits);
    INFO("problem " << i << ": " << solution.status().message() << "\n" << describe(problem));
    if (!solution.ok()) {
      REQUIRE(solution.status().code() == StatusCode::unsupported);
      // Only an instant may be too short to find a path where impossible adapts abound.
      REQUIRE((best.empty() || i % 3 == 0));
      continue;
    }
    REQUIRE_FALSE(best.empty());
    REQUIRE(solution->lower_bound <= best[0] + 1e-6 * (1 + best[0]));
    REQUIRE(solution->paths[0].cost >= best[0] - 1e-9 * (1 + best[0]));
    REQUIRE(solution->gap >= 0);
    REQUIRE(solution->paths[0].cost ==
            Approx(cost_by_hand(problem, solution->paths[0].choice)).margin(1e-9));
    if (solution->optimal) REQUIRE(solution->paths[0].cost == Approx(best[0]).margin(1e-6));
    proven += solution->optimal ? 1 : 0;
    const Plan plan = make_plan(Net(problem), weights_of(problem), 1, {0, 1e9});
    past_the_gate += plan.order.complete ? 0 : 1;
  }
  CHECK(past_the_gate > 150);
  CHECK(proven > 120);
}

TEST_CASE("dprs: what is solved at once is solved exactly, however late it is", "[dprs]") {
  for (int i = 0; i < 60; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    Limits limits;
    limits.time = std::chrono::nanoseconds(1);
    const Result<Solution> solution = solve(problem, limits);
    REQUIRE(solution.ok() == !best.empty());
    if (best.empty()) continue;
    REQUIRE(solution->optimal);
    REQUIRE(solution->paths[0].cost == Approx(best[0]).margin(1e-9));
  }
}

TEST_CASE("dprs: a repeatable solution is exact, or a path that no time limit changes", "[dprs]") {
  int simple = 0;
  for (int i = 0; i < 240; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    INFO("problem " << i << "\n" << describe(problem));
    Limits limits;
    limits.is_repeatable = true;
    const Result<Solution> exact = solve(problem, limits);
    REQUIRE(exact.ok() == !best.empty());
    if (best.empty()) continue;
    REQUIRE(exact->optimal);
    REQUIRE(exact->paths[0].cost == Approx(best[0]).margin(1e-9));

    limits.table_bytes = 1;
    const Result<Solution> path = solve(problem, limits);
    limits.time = std::chrono::nanoseconds(1);
    const Result<Solution> hurried = solve(problem, limits);
    REQUIRE(path.ok() == hurried.ok());
    if (!path.ok()) continue;  // impossible adapts may leave no simple path
    REQUIRE(path->paths[0].choice == hurried->paths[0].choice);
    REQUIRE(path->lower_bound <= best[0] + 1e-9 * (1 + best[0]));
    REQUIRE(path->paths[0].cost >= best[0] - 1e-9 * (1 + best[0]));
    ++simple;
  }
  CHECK(simple > 120);
}

TEST_CASE("dprs: the dual never exceeds the optimum, and rises", "[dprs]") {
  int problems = 0;
  int tight = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    if (best.empty()) continue;
    ++problems;
    const Net net(problem);
    for (const Encoding::Hub hub : {Encoding::Hub::bits, Encoding::Hub::sets}) {
      Encoding encoding;
      encoding.hub = hub;
      const Model model = build_model(net, weights_of(problem), encoding);
      Dual dual(model, 1e4);
      double before = dual.bound();
      for (int sweep = 0; sweep < 40; ++sweep) {
        dual.iterate();
        const double bound = dual.bound();
        INFO("problem " << i << ", sweep " << sweep);
        REQUIRE(bound <= best[0] + 1e-6);
        REQUIRE(bound >= before - 1e-6);
        before = bound;
      }
      if (hub == Encoding::Hub::sets && before > best[0] - 1e-3) ++tight;
    }
  }
  // On small nets the relaxation is mostly tight: a bound that does not rise would be useless.
  CHECK(tight * 10 > problems * 7);
}

TEST_CASE("dprs: a value's excess bounds what the value costs", "[dprs]") {
  int dropped = 0;
  for (int i = 0; i < 60; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    if (best.empty()) continue;
    const Net net(problem);
    const Model model = build_model(net, weights_of(problem), {});
    Dual dual(model, 1e4);
    for (int sweep = 0; sweep < 20; ++sweep) dual.iterate();
    // The best assignment's own values must survive a limit just above the optimum.
    Solution solution = *solve(problem);
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      const Model::LayerTable& table = model.layers[l];
      if (table.variables.size() != 1) continue;
      const std::vector<Cost> excess = dual.excess(table.variables[0]);
      for (std::size_t value = 0; value < excess.size(); ++value) {
        if (dual.bound() + excess[value] <= best[0] + 1e-6) continue;
        ++dropped;
        REQUIRE(table.candidates[value] != solution.paths[0].choice[l]);
      }
    }
  }
  CHECK(dropped > 100);
}

TEST_CASE("dprs: all encodings and orders have the same minimum", "[dprs]") {
  using Hub = Encoding::Hub;
  int hubs = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    const Net net(problem);
    for (const Encoding encoding : {Encoding{1, Hub::bits, true}, Encoding{1, Hub::bits, false},
                                    Encoding{1, Hub::sets, true}, Encoding{1, Hub::sets, false},
                                    Encoding{2, Hub::bits, true}, Encoding{9, Hub::bits, true}}) {
      const Model model = build_model(net, weights_of(problem), encoding);
      for (const Variable& variable : model.variables) hubs += variable.is_choice ? 0 : 1;
      if (!(model.constant < kInfinity)) {
        REQUIRE(best.empty());
        continue;
      }
      for (const OrderRule rule : {OrderRule::min_weight, OrderRule::min_fill}) {
        Elimination elimination(model, find_order(model, rule, kInfinity));
        REQUIRE(elimination.run(Deadline::max()));
        INFO("problem " << i << ", exact " << encoding.exact << ", nested " << encoding.nested);
        if (best.empty()) {
          REQUIRE(elimination.minimum() == kInfinity);
          continue;
        }
        REQUIRE(elimination.minimum() == Approx(best[0]).margin(1e-9));
        const std::vector<int> choice = model.choice(elimination.best_values());
        REQUIRE(cost_by_hand(problem, choice) == Approx(best[0]).margin(1e-9));
      }
    }
  }
  CHECK(hubs > 200);
}

TEST_CASE("dprs: mini-buckets bound the optimum, and prices on disagreement raise it", "[dprs]") {
  int split = 0;
  int raised = 0;
  for (int i = 0; i < 600; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    if (best.empty()) continue;
    // Pairs alone, of which small tables can be made.
    const Encoding pairs = {1, Encoding::Hub::bits, false};
    const Model model = build_model(Net(problem), weights_of(problem), pairs);
    const Order order = find_order(model, OrderRule::min_weight, kInfinity);
    std::optional<Relaxation> relaxation = relax(model, order, 1e6, 0.5 * order.work);
    if (!relaxation) continue;
    split += relaxation->is_exact() ? 0 : 1;
    Step step;
    double first = -1;
    double highest = 0;
    for (int s = 0; s < 30; ++s) {
      REQUIRE(price_step(*relaxation, best[0], 0.5, Deadline::max(), step));
      INFO("problem " << i << ", step " << s);
      REQUIRE(step.bound <= best[0] + 1e-9 * (1 + best[0]));
      if (first < 0) first = step.bound;
      highest = std::max(highest, step.bound);
      if (!step.all_agree) continue;
      REQUIRE(step.bound == Approx(best[0]).margin(1e-9));
      break;
    }
    raised += highest > first + 1e-9 ? 1 : 0;
  }
  CHECK(split > 20);  // work for less than the whole elimination was allowed
  CHECK(raised > 10);
}

}  // namespace softneuro::dprs::oracle
