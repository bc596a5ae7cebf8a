#include "dprs/engine.h"

#include <algorithm>

namespace softneuro::dprs {
namespace {

// Cells that elimination minimises over per second, to be on the safe side of (three functions per
// cell and cache misses included).
constexpr double kWorkPerSecond = 1.5e8;
// Some dozens of milliseconds: done whatever the clock says, so that a machine that stalls does not
// turn a net that is solved at once into a guess.
constexpr double kAlwaysWork = 2e7;
constexpr double kLittleWork = 1e6;  // a few milliseconds: Limits::is_repeatable

bool same_shape(const Model& a, const Model& b) {
  return a.variables.size() == b.variables.size() && a.factors.size() == b.factors.size() &&
         std::equal(a.variables.begin(), a.variables.end(), b.variables.begin(),
                    [](const Variable& x, const Variable& y) { return x.size == y.size; }) &&
         std::equal(a.factors.begin(), a.factors.end(), b.factors.begin(),
                    [](const Factor& x, const Factor& y) { return x.scope == y.scope; });
}

}  // namespace

Plan make_plan(const Net& net, const Weights& weights, int ranks, const Budget& budget) {
  using Hub = Encoding::Hub;
  struct Trial {
    Encoding encoding;
    double good_enough = 0;  // work at which no further encoding is tried
  };
  // Sets with few states are the best for most nets, a variable per format for dense blocks.
  static constexpr Trial trials[] = {
      {{2, Hub::sets, true}, 1e6}, {{1, Hub::bits, true}, 1e7}, {{4, Hub::bits, true}, 1e7},
      {{1, Hub::sets, true}, 1e7}, {{3, Hub::bits, true}, 1e7}, {{2, Hub::bits, false}, 1e7},
      {{6, Hub::sets, false}, 0},
  };
  Plan best;
  double most_work = budget.work;
  // Without tensors that several layers read, encodings do not differ, and no table is large.
  const bool is_only = std::all_of(net.uses.begin(), net.uses.end(),
                                   [](const TensorUse& use) { return use.consumers.size() < 2; });
  for (const Trial& trial : trials) {
    Encoding encoding = trial.encoding;
    encoding.ranks = ranks;
    encoding.scopes_only = !is_only;
    Model scopes = build_model(net, weights, encoding);
    encoding.scopes_only = false;
    if (best.model.layers.empty()) best.model.constant = scopes.constant;
    for (const OrderRule rule : {OrderRule::min_weight, OrderRule::min_fill}) {
      Order order = find_order(scopes, rule, most_work);
      if (!order.complete || order.cells > budget.cells) continue;
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

Budget Engine::budget() const {
  const double seconds =
      std::chrono::duration<double>(deadline_ - std::chrono::steady_clock::now()).count();
  return {static_cast<double>(limits_.table_bytes) / sizeof(Cost),
          limits_.is_repeatable ? kLittleWork : std::max(seconds * kWorkPerSecond, kAlwaysWork)};
}

// Weights of the same shape, as in a bisection, take the last order over.
bool Engine::plan_for(const Weights& weights, int ranks) {
  if (plan_ && plan_ranks_ == ranks && plan_->order.complete) {
    Model model = build_model(net_, weights, plan_->encoding);
    if (same_shape(model, plan_->model)) {
      plan_->model = std::move(model);
      return true;
    }
  }
  plan_ = make_plan(net_, weights, ranks, budget());
  plan_ranks_ = ranks;
  return plan_->order.complete;
}

Outcome Engine::run(const Weights& weights, int ranks, const Visitor& visit) {
  Outcome outcome;
  if (plan_for(weights, ranks)) {
    outcome.cells = plan_->order.cells;
    outcome.width = plan_->order.width;
    Elimination elimination(plan_->model, plan_->order);
    if (elimination.run(plan_->order.work > kAlwaysWork ? deadline_ : Deadline::max())) {
      outcome.lower_bound = outcome.cost = elimination.minimum();
      outcome.optimal = true;
      if (!(outcome.cost < kInfinity)) return outcome;
      outcome.best = plan_->model.choice(elimination.best_values());
      if (!visit(outcome.cost, outcome.best)) return outcome;
      BestFirst best_first(elimination);
      Cost cost = 0;
      std::vector<int> values;
      bool seen = false;  // the best again, which ties may bring later than first
      while (best_first.next(cost, values)) {
        const std::vector<int> choice = plan_->model.choice(values);
        if (!seen && choice == outcome.best)
          seen = true;
        else if (!visit(cost, choice))
          break;
        if (passed(deadline_)) break;
      }
      return outcome;
    }
  } else if (!(plan_->model.constant < kInfinity)) {
    outcome.lower_bound = kInfinity;
    return outcome;
  }
  outcome = limits_.is_repeatable ? run_simple(net_, weights, budget())
                                  : run_anytime(net_, weights, budget(), deadline_);
  if (!outcome.best.empty()) visit(outcome.cost, outcome.best);
  return outcome;
}

}  // namespace softneuro::dprs
