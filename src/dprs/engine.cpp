#include "dprs/engine.h"

#include <algorithm>

namespace softneuro::dprs {
namespace {

// Hubs over sets of formats: small ones are good for most nets, large ones where up to four layers
// read a tensor that may have many formats.
constexpr std::size_t kFewSets = 512;
constexpr std::size_t kManySets = 1 << 14;

bool same_shape(const Model& a, const Model& b) {
  return a.variables.size() == b.variables.size() && a.factors.size() == b.factors.size() &&
         std::equal(a.variables.begin(), a.variables.end(), b.variables.begin(),
                    [](const Variable& x, const Variable& y) { return x.size == y.size; }) &&
         std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(),
                    [](const Factor& x, const Factor& y) { return x.scope == y.scope; });
}

}  // namespace

Plan make_plan(const Net& net, const Weights& weights, int most_formats, int ranks,
               double most_work) {
  struct Trial {
    int exact = 0;
    bool nested = true;
    std::size_t most_sets = 0;
    double good_enough = 0;  // work at which no further encoding is tried
  };
  // A variable per format, that is no sets, is the best for dense blocks.
  static constexpr Trial trials[] = {
      {2, true, kFewSets, 1e6},  {1, true, 0, 1e7},       {4, true, 0, 1e7},
      {1, true, kFewSets, 1e7},  {3, true, 0, 1e7},       {2, false, 0, 1e7},
      {2, true, kManySets, 1e7}, {6, false, kFewSets, 0},
  };
  Plan best;
  // Without tensors that several layers read, encodings do not differ, and no table is large.
  const bool is_only = std::all_of(net.uses.begin(), net.uses.end(),
                                   [](const TensorUse& use) { return use.consumers.size() < 2; });
  for (const Trial& trial : trials) {
    Encoding encoding = {trial.exact, trial.most_sets, trial.nested, most_formats, ranks, !is_only};
    Model scopes = build_model(net, weights, encoding);
    encoding.scopes_only = false;
    if (best.model.layers.empty()) best.model.constant = scopes.constant;
    for (const OrderRule rule : {OrderRule::min_weight, OrderRule::min_fill}) {
      Order order = find_order(scopes, rule, most_work);
      if (!order.complete) continue;
      if (best.order.complete && order.work >= best.order.work) continue;
      most_work = std::min(most_work, order.work);
      best.order = std::move(order);
      best.encoding = encoding;
    }
    if (is_only) {
      best.model = std::move(scopes);
      return best;
    }
    if (scopes.most_consumers < 2) break;
    if (best.order.complete && best.order.work < trial.good_enough) break;
  }
  if (best.order.complete) best.model = build_model(net, weights, best.encoding);
  return best;
}

Cost weigh(const Net& net, const Weights& weights, const std::vector<int>& choice) {
  Cost sum = 0;
  for (std::size_t l = 0; l < choice.size(); ++l) sum += weights.time[l][at(choice[l])];
  for (const auto& [tensor, from, to] : adapts_of(net.problem, net.uses, choice))
    sum += adapt_cost(weights.adapt[at(tensor)], net.problem.formats, from, to);
  return sum;
}

// Weights of the same shape, as in a bisection, take the last order over.
bool Engine::plan_for(const Weights& weights, int ranks, double most_work) {
  if (plan_ && plan_ranks_ == ranks && plan_->order.complete && plan_->order.work <= most_work) {
    Model model = build_model(net_, weights, plan_->encoding);
    if (same_shape(model, plan_->model)) {
      plan_->model = std::move(model);
      return true;
    }
  }
  plan_ = make_plan(net_, weights, kMaxFormats, ranks, most_work);
  plan_ranks_ = ranks;
  return plan_->order.complete;
}

void Engine::restart() {
  work_ = all_work_;
  plan_.reset();
}

Outcome Engine::run(const Weights& weights, int ranks, double share, const Visitor& visit) {
  Outcome outcome;
  const double most_work = share * work_;
  if (!plan_for(weights, ranks, most_work)) {
    if (plan_->model.constant < kInfinity) {
      double left = most_work;
      outcome = search_locally(net_, weights, left);
      spend(most_work - left);
    } else {
      outcome.lower_bound = kInfinity;
    }
    if (!outcome.best.empty()) visit(outcome.cost, outcome.best);
    return outcome;
  }
  outcome.cells = plan_->order.cells;
  outcome.width = plan_->order.width;
  Elimination elimination(plan_->model, plan_->order);
  elimination.run();
  spend(plan_->order.work);
  outcome.lower_bound = outcome.cost = elimination.minimum();
  outcome.optimal = true;
  if (!(outcome.cost < kInfinity)) return outcome;
  outcome.best = plan_->model.choice(elimination.best_values());
  if (!visit(outcome.cost, outcome.best)) return outcome;
  BestFirst best_first(elimination, work_);
  Cost cost = 0;
  std::vector<int> values;
  bool seen = false;  // the best again, which ties may bring later than first
  while (best_first.next(cost, values)) {
    const std::vector<int> choice = plan_->model.choice(values);
    if (!seen && choice == outcome.best)
      seen = true;
    else if (!visit(cost, choice))
      break;
  }
  return outcome;
}

}  // namespace softneuro::dprs
