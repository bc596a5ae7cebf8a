// One minimisation under given weights: exact where the tables fit, else bounded.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "dprs/elimination.h"
#include "dprs/model.h"

namespace softneuro::dprs {

struct Outcome {
  std::vector<int> best;  // the cheapest choice found; empty: none
  Cost cost = kInfinity;  // its, under the weights
  Cost lower_bound = 0;   // infinite: there is no path
  bool optimal = false;
  double cells = 0;
  int width = 0;
};

// What an order is allowed to cost.
struct Budget {
  double cells = 0;
  double work = 0;
};

// A model with the encoding and the order that make the smallest tables.
struct Plan {
  Model model;
  Order order;
  Encoding encoding;
};

// Tries encodings and orders; order.complete is false where none stays within the budget.
Plan make_plan(const Net& net, const Weights& weights, int ranks, const Budget& budget);

// Sum of the chosen candidates' and adapts' weights.
Cost weigh(const Net& net, const Weights& weights, const std::vector<int>& choice);

class Engine {
 public:
  Engine(const Net& net, const Limits& limits, Deadline deadline)
      : net_(net), limits_(limits), deadline_(deadline) {}

  // Called with choices from the best on, with their cost under the weights; false: enough. Where
  // tables exceed the limits it is called with what was found, the best first, not necessarily all
  // in between.
  using Visitor = std::function<bool(Cost, const std::vector<int>&)>;

  // `ranks`: how many candidates with the same formats the visitor wants to see apart.
  Outcome run(const Weights& weights, int ranks, const Visitor& visit);

  Deadline deadline() const { return deadline_; }

 private:
  Budget budget() const;
  bool plan_for(const Weights& weights, int ranks);

  const Net& net_;
  const Limits& limits_;
  Deadline deadline_;
  std::optional<Plan> plan_;  // of the last run: an order holds for all weights of the same shape
  int plan_ranks_ = 0;
};

// For nets whose tables exceed the limits: bound, decode, polish and branch until the deadline;
// `visit` as above.
Outcome run_anytime(const Net& net, const Weights& weights, const Budget& budget,
                    Deadline deadline);
// Of that, the local search alone.
Outcome run_local(const Net& net, const Weights& weights, const Budget& budget, Deadline deadline);
// For them, too: the best of the simple paths that the above starts with.
Outcome run_simple(const Net& net, const Weights& weights, const Budget& budget);

}  // namespace softneuro::dprs
