// One minimisation under given weights: exact where the tables fit, else by local search.
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

// A model with the encoding and the order that take the least work.
struct Plan {
  Model model;
  Order order;
  Encoding encoding;
};

// Tries encodings and orders; order.complete is false where none stays within the work.
// `most_formats`, `ranks`: as in Encoding.
Plan make_plan(const Net& net, const Weights& weights, int most_formats, int ranks,
               double most_work);

// Sum of the chosen candidates' and adapts' weights.
Cost weigh(const Net& net, const Weights& weights, const std::vector<int>& choice);

class Engine {
 public:
  Engine(const Net& net, double work) : net_(net), all_work_(work), work_(work) {}

  // Called with choices from the best on, with their cost under the weights; false: enough. Where
  // tables would be too large it is called once, with what was found.
  using Visitor = std::function<bool(Cost, const std::vector<int>&)>;

  // `ranks`: how many candidates with the same formats the visitor wants to see apart; `share`: of
  // the work that is left, what may be taken to find the best.
  Outcome run(const Weights& weights, int ranks, double share, const Visitor& visit);

  // Everything that is done takes from the same work.
  void spend(double work) { work_ -= work; }
  bool is_spent() const { return work_ <= 0; }
  // As new: what follows does not depend on what was done before.
  void restart();

 private:
  bool plan_for(const Weights& weights, int ranks, double most_work);

  const Net& net_;
  double all_work_;
  double work_;               // that is left
  std::optional<Plan> plan_;  // of the last run: an order holds for all weights of the same shape
  int plan_ranks_ = 0;
};

// For nets whose tables would be too large. Takes from `work`, and may take a little more than is
// left.
Outcome search_locally(const Net& net, const Weights& weights, double& work);

}  // namespace softneuro::dprs
