// Where tables would be too large: whatever is returned, bound <= optimum <= path. And what that
// search stands on: encodings, and restricted ones.
#include <catch2/catch.hpp>
#include <cmath>

#include "dprs/engine.h"
#include "dprs/oracle.h"
#include "dprs/random_problem.h"

namespace softneuro::dprs::oracle {
namespace {

Problem problem_of(int i) {
  Kind kind;
  kind.shape = static_cast<Shape>(i % 5);
  kind.whole_times = i % 4 == 0;
  return random_problem(static_cast<std::uint64_t>(i) + 9000, kind);
}

}  // namespace

TEST_CASE("dprs: with little work, bound <= optimum <= path", "[dprs]") {
  int searched = 0, optima = 0, none = 0;
  for (int i = 0; i < 240; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    for (const double work : {1.0, 300.0, 3000.0}) {
      Limits limits;
      limits.work = work;
      const Result<Solution> solution = solve(problem, limits);
      INFO("problem " << i << ", work " << work << ": " << solution.status().message() << "\n"
                      << describe(problem));
      if (!solution.ok()) {
        REQUIRE(solution.status().code() == StatusCode::unsupported);
        none += best.empty() ? 0 : 1;
        continue;
      }
      REQUIRE_FALSE(best.empty());
      const Path& path = solution->paths[0];
      REQUIRE(solution->lower_bound <= best[0] + 1e-9 * (1 + best[0]));
      REQUIRE(path.cost >= best[0] - 1e-9 * (1 + best[0]));
      REQUIRE(path.cost == Approx(cost_by_hand(problem, path.choice)).margin(1e-9));
      if (solution->optimal) REQUIRE(path.cost == Approx(best[0]).margin(1e-9));
      REQUIRE(solve(problem, limits)->paths[0].choice == path.choice);
      if (solution->table_cells != 0) continue;
      ++searched;
      optima += path.cost < best[0] + 1e-9 * (1 + best[0]) ? 1 : 0;
    }
  }
  INFO(searched << " searched, " << optima << " optima, " << none << " without a path");
  CHECK(searched > 200);
  CHECK(optima * 10 > searched * 3);
  // Where impossible adapts abound, no simple path may be possible.
  CHECK(none < 30);
}

TEST_CASE("dprs: the local search finds most optima of small nets", "[dprs]") {
  int problems = 0, optima = 0;
  for (int i = 0; i < 240; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    if (best.empty()) continue;
    double work = 1e5;
    const Outcome outcome = search_locally(Net(problem), weights_of(problem), work);
    INFO("problem " << i << "\n" << describe(problem));
    REQUIRE_FALSE(outcome.best.empty());
    REQUIRE(outcome.cost == Approx(cost_by_hand(problem, outcome.best)).margin(1e-9));
    REQUIRE(outcome.cost >= best[0] - 1e-9 * (1 + best[0]));
    ++problems;
    optima += outcome.cost < best[0] + 1e-9 * (1 + best[0]) ? 1 : 0;
  }
  CHECK(optima * 100 >= problems * 95);
}

TEST_CASE("dprs: all encodings and orders have the same minimum", "[dprs]") {
  int hubs = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    const Net net(problem);
    for (const Encoding encoding :
         {Encoding{1, 0, true}, Encoding{1, 0, false}, Encoding{1, 512, true},
          Encoding{1, 512, false}, Encoding{1, 5, true}, Encoding{2, 0, true},
          Encoding{9, 0, true}}) {
      const Model model = build_model(net, weights_of(problem), encoding);
      hubs += static_cast<int>(model.hubs.size());
      if (!(model.constant < kInfinity)) {
        REQUIRE(best.empty());
        continue;
      }
      for (const OrderRule rule : {OrderRule::min_weight, OrderRule::min_fill}) {
        Elimination elimination(model, find_order(model, rule, kInfinity));
        elimination.run();
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

TEST_CASE("dprs: fewer formats per tensor leave paths out, and change no path's cost", "[dprs]") {
  int optima = 0, more = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = problem_of(i);
    const std::vector<double> best = ranking(problem, 1);
    if (best.empty()) continue;
    const Net net(problem);
    Cost before = kInfinity;
    for (int formats = 1; formats <= 4; ++formats) {
      const Model model = build_model(net, weights_of(problem), {1, 512, true, formats});
      Elimination elimination(model, find_order(model, OrderRule::min_weight, kInfinity));
      elimination.run();
      INFO("problem " << i << ", formats " << formats << "\n" << describe(problem));
      const Cost cost = elimination.minimum();
      REQUIRE(cost >= best[0] - 1e-9 * (1 + best[0]));
      REQUIRE(cost <= before + 1e-9 * (1 + best[0]));
      before = cost;
      if (!(cost < kInfinity)) continue;
      const std::vector<int> choice = model.choice(elimination.best_values());
      REQUIRE(cost_by_hand(problem, choice) == Approx(cost).margin(1e-9));
      if (formats == 1) ++(cost < best[0] + 1e-9 * (1 + best[0]) ? optima : more);
    }
    REQUIRE(before == Approx(best[0]).margin(1e-9));  // all four formats
  }
  CHECK(optima > 50);
  CHECK(more > 5);
}

}  // namespace softneuro::dprs::oracle
