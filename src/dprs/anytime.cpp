// For nets whose tables exceed the limits: a path and a bound that meet as far as time allows.
//
// The path: greedy starts, decodings of the dual, and windows of layers optimised exactly with all
// others held. The bound: the dual. Values that cannot be in a better path are dropped; what is
// left is eliminated as soon as it fits, else split at the most doubtful layer, the dual kept warm.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "dprs/dual.h"
#include "dprs/engine.h"
#include "dprs/relax.h"

namespace softneuro::dprs {
namespace {

constexpr double kWindowWork = 3e5;  // per window of the local search
constexpr double kWideWork = 3e7;    // per window once small ones find nothing
constexpr double kLeafWork = 2e7;    // per elimination of what a node has left
constexpr double kDualCells = 1e6;   // of the dual's tables
constexpr int kRootSweeps = 200;
constexpr double kStepWork = 4e7;   // per step of the decomposition
constexpr double kSteps = 25;       // steps that the time should suffice for
constexpr double kFirstPace = 0.5;  // of its Polyak steps: it starts from prices that are good
constexpr int kStalledSteps = 40;
constexpr int kNodeSweeps = 12;
// Nodes open at a time, each of which holds a dual: as many as the table limit has room for, within
// these.
constexpr double kFewestNodes = 64;
constexpr double kMostNodes = 4096;
constexpr double kRounding = 1e-9;

// A part of the search space: the dual with the values that are out, and which those are.
struct Node {
  Dual dual;
  std::vector<std::vector<char>> allowed;  // [variable][value]
  Cost bound = 0;

  void forbid(int variable, int value) {
    allowed[at(variable)][at(value)] = 0;
    dual.forbid(variable, value);
  }
};

// Impossible adapts get a price that no path worth having reaches: the local search must have a
// slope to go down. Gives that price, which is more than any path costs.
Cost make_finite(const Net& net, Weights& weights) {
  const int formats = net.problem.formats;
  const auto most = [](const std::vector<Cost>& costs) {
    Cost result = 0;
    for (const Cost cost : costs)
      if (cost < kInfinity) result = std::max(result, cost);
    return result;
  };
  Cost big = 1;
  for (const std::vector<Cost>& times : weights.time) big += most(times);
  for (std::size_t t = 0; t < weights.adapt.size(); ++t) {
    const std::size_t uses = net.uses[t].consumers.size() + net.problem.tensors[t].wanted.size();
    big += most(weights.adapt[t]) * static_cast<Cost>(std::min(uses, at(formats)));
  }
  for (std::vector<Cost>& adapt : weights.adapt) {
    if (adapt.empty()) adapt.assign(at(formats * formats), kInfinity);
    for (Cost& cost : adapt) cost = std::min(cost, big);
  }
  return big;
}

// Hubs over sets give the better bound, as long as sweeps over their tables are quick.
Model make_model(const Net& net, const Weights& weights) {
  Encoding encoding = {2, Encoding::Hub::sets, true, 1, true};
  double cells = 1;
  const Model scopes = build_model(net, weights, encoding);
  for (const Factor& factor : scopes.factors) {
    double table = 1;
    for (const int variable : factor.scope) table *= scopes.variables[at(variable)].size;
    cells += table;
  }
  if (cells > kDualCells) encoding = {1, Encoding::Hub::bits};
  encoding.scopes_only = false;
  return build_model(net, weights, encoding);
}

Cost least_times(const Weights& weights) {
  Cost sum = 0;
  for (const std::vector<Cost>& times : weights.time)
    sum += *std::min_element(times.begin(), times.end());
  return sum;
}

// The fastest candidate of those with the most ports in a format; −1: in any.
int pick(const Layer& layer, const std::vector<Cost>& times, int wanted) {
  int best = -1;
  std::pair<std::ptrdiff_t, Cost> least;
  for (std::size_t c = 0; c < times.size(); ++c) {
    if (!(times[c] < kInfinity)) continue;
    const Candidate& candidate = layer.candidates[c];
    auto others = [&](const std::vector<int>& formats) {
      return std::count_if(formats.begin(), formats.end(), [&](int f) { return f != wanted; });
    };
    const std::pair key(wanted == -1 ? 0 : others(candidate.inputs) + others(candidate.outputs),
                        times[c]);
    if (best == -1 || key < least) {
      best = static_cast<int>(c);
      least = key;
    }
  }
  return best;
}

// The best path so far, and what makes it better: windows of layers optimised exactly, all others
// held.
class LocalSearch {
 public:
  // `net` and `weights` outlive this; the adapts are finite.
  LocalSearch(const Net& net, const Weights& weights, const Budget& budget, Deadline deadline)
      : net_(net), weights_(weights), budget_(budget), deadline_(deadline) {}

  Cost cost() const { return cost_; }
  bool closes(Cost bound) const { return bound >= cost_ - kRounding * std::max(1.0, cost_); }

  // The fastest candidate of each layer; and for each format, the layers as far as they can in it.
  void start() {
    for (int wanted = -1; wanted < net_.problem.formats; ++wanted) {
      std::vector<int> choice;
      for (std::size_t l = 0; l < weights_.time.size(); ++l)
        choice.push_back(pick(net_.problem.layers[l], weights_.time[l], wanted));
      offer(choice);
      if (passed(deadline_)) return;
    }
  }

  // The best path under these weights. False: its tables would be too large, or time is up.
  bool optimise(const Weights& weights, double work) {
    const Model model = build_model(net_, weights, {});
    if (!(model.constant < kInfinity)) return true;
    const Order order = find_order(model, OrderRule::min_weight, work);
    if (!order.complete || order.cells > budget_.cells) return false;
    Elimination elimination(model, order);
    if (!elimination.run(deadline_)) return false;
    if (elimination.minimum() < kInfinity) offer(model.choice(elimination.best_values()));
    return true;
  }

  void polish() {
    pinned_ = weights_;
    for (std::size_t l = 0; l < best_.size(); ++l) pin(l);
    changed_.assign(best_.size(), ++clock_);
    polish(std::min<std::size_t>(best_.size(), 8), kWindowWork);
  }
  // Windows that grow as long as they fit, for a share of the time that is left.
  void polish_widely(double share) {
    polish();
    const auto now = std::chrono::steady_clock::now();
    const Deadline end =
        std::exchange(deadline_, now + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           share * std::chrono::duration<double>(deadline_ - now)));
    for (std::size_t size = 16; size / 2 < best_.size() && !passed(deadline_); size += size / 2)
      if (!polish(std::min(size, best_.size()), std::min(kWideWork, budget_.work))) break;
    deadline_ = end;
  }
  // A decoded path that is nearly as good as the best deserves a local search of its own.
  void polish_near(const std::vector<int>& choice) {
    if (std::find(choice.begin(), choice.end(), -1) != choice.end()) return;
    const Cost cost = weigh(net_, weights_, choice);
    if (cost > cost_ * 1.05) return;
    const std::vector<int> kept = std::exchange(best_, choice);
    const Cost kept_cost = std::exchange(cost_, cost);
    polish();
    if (cost_ <= kept_cost) return;
    best_ = kept;
    cost_ = kept_cost;
  }

  // The best path under a bound, if it has no impossible adapt: if it costs less than `big`.
  Outcome outcome(Cost bound, Cost big) const {
    Outcome result;
    result.lower_bound = bound;
    if (cost_ < big) {
      result.best = best_;
      result.cost = cost_;
      result.lower_bound = std::min(bound, cost_);
      result.optimal = closes(bound);
    } else if (bound >= big) {
      result.lower_bound = kInfinity;
    }
    return result;
  }

 private:
  void offer(const std::vector<int>& choice) {
    const Cost cost = weigh(net_, weights_, choice);
    if (!best_.empty() && cost >= cost_) return;
    best_ = choice;
    cost_ = cost;
  }
  // The layers [first, last) optimised, all others as in the best path. False: too large.
  bool improve(std::size_t first, std::size_t last, double work) {
    for (std::size_t l = first; l < last; ++l) pinned_.time[l] = weights_.time[l];
    const std::vector<int> before = best_;
    const bool fits = optimise(pinned_, work);
    for (std::size_t l = first; l < last; ++l) {
      if (best_[l] != before[l]) changed_[l] = ++clock_;
      pin(l);
    }
    return fits;
  }
  void pin(std::size_t layer) {
    std::vector<Cost>& times = pinned_.time[layer];
    times.assign(times.size(), kInfinity);
    times[at(best_[layer])] = weights_.time[layer][at(best_[layer])];
  }

  // All windows of a size, those again near which something changed since, until nothing does.
  // True: some window was small enough.
  bool polish(std::size_t size, double work) {
    const std::size_t layers = best_.size();
    const std::size_t step = (size + 1) / 2;
    std::vector<std::size_t> done((layers + step - 1) / step, 0);
    bool fits = false;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t w = 0; w < done.size(); ++w) {
        if (passed(deadline_)) return fits;
        const std::size_t first = w * step;
        const std::size_t last = std::min(first + size, layers);
        const std::size_t near = first > size ? first - size : 0;
        const std::size_t newest = *std::max_element(
            changed_.begin() + static_cast<std::ptrdiff_t>(near),
            changed_.begin() + static_cast<std::ptrdiff_t>(std::min(last + size, layers)));
        if (done[w] > newest) continue;
        const std::size_t before = clock_;
        fits = improve(first, last, work) || fits;
        better = better || clock_ != before;
        done[w] = clock_ + 1;
      }
    }
    return fits;
  }

  const Net& net_;
  const Weights& weights_;
  Budget budget_;
  Deadline deadline_;
  std::vector<int> best_;
  Cost cost_ = kInfinity;
  Weights pinned_;                    // all layers at their candidate of the best path
  std::vector<std::size_t> changed_;  // per layer, when its candidate last changed
  std::size_t clock_ = 0;
};

// Drops the candidates of a layer of which a value is out.
void drop_others(const Model& model, const Node& node, std::size_t layer,
                 std::vector<Cost>& times) {
  const Model::LayerTable& table = model.layers[layer];
  std::vector<char> stays(times.size(), 0);
  for (std::size_t cell = 0; cell < table.candidates.size(); ++cell) {
    if (table.candidates[cell] == -1) continue;
    std::size_t rest = cell;
    bool allowed = true;
    for (std::size_t d = table.variables.size(); d-- > 0;) {
      const std::size_t size = at(model.variables[at(table.variables[d])].size);
      allowed = allowed && node.allowed[at(table.variables[d])][rest % size] != 0;
      rest /= size;
    }
    if (allowed) stays[at(table.candidates[cell])] = 1;
  }
  for (std::size_t c = 0; c < times.size(); ++c)
    if (stays[c] == 0) times[c] = kInfinity;
}

// The variable whose second best value is the least worse than its best, and that best.
std::pair<int, int> most_doubtful(const Model& model, const Node& node) {
  std::pair<int, int> result(-1, -1);
  Cost smallest = kInfinity;
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    if (!model.variables[v].is_choice) continue;
    if (std::count(node.allowed[v].begin(), node.allowed[v].end(), 1) < 2) continue;
    const std::vector<Cost> excess = node.dual.excess(static_cast<int>(v));
    Cost best = kInfinity;
    Cost second = kInfinity;
    int value = -1;
    for (std::size_t x = 0; x < excess.size(); ++x) {
      if (node.allowed[v][x] == 0) continue;
      if (excess[x] < best) {
        second = best;
        best = excess[x];
        value = static_cast<int>(x);
      } else {
        second = std::min(second, excess[x]);
      }
    }
    if (second >= smallest) continue;
    smallest = second;
    result = {static_cast<int>(v), value};
  }
  return result;
}

// Branch and bound: raises the bound, and hands the local search what it finds on the way.
class Search {
 public:
  // `weights` and `paths` outlive this. `big` is more than any path costs.
  Search(Model model, const Weights& weights, Cost big, const Budget& budget, Deadline deadline,
         LocalSearch& paths)
      : model_(std::move(model)),
        weights_(weights),
        budget_(budget),
        deadline_(deadline),
        paths_(paths),
        bound_(least_times(weights)) {
    double cells = 1;  // of a dual
    for (const Factor& factor : model_.factors) cells += static_cast<double>(factor.table.size());
    most_nodes_ =
        static_cast<std::size_t>(std::clamp(budget_.cells / cells, kFewestNodes, kMostNodes));
    std::vector<std::vector<char>> allowed;
    for (const Variable& variable : model_.variables) allowed.emplace_back(at(variable.size), 1);
    open(std::make_unique<Node>(Node{Dual(model_, big), std::move(allowed), bound_}));
  }

  // Until the bound meets the best path or time is up. Gives the bound.
  Cost run() {
    root();
    if (!paths_.closes(open_.front()->bound)) decompose(*open_.front());
    while (!open_.empty() && !passed(deadline_) && !paths_.closes(open_.front()->bound) &&
           !paths_.closes(bound_)) {
      std::unique_ptr<Node> node = take();
      if (++nodes_ > 1) sweep(*node, kNodeSweeps);
      settle(std::move(node));
    }
    Cost least = std::min(paths_.cost(), unfinished_);
    if (!open_.empty()) least = std::min(least, open_.front()->bound);
    return std::max(bound_, least);
  }

 private:
  // A relaxation with the largest tables that leave time for some dozens of steps; its minimisers
  // are starts for the local search, its minimum is a better bound than the dual's.
  void decompose(Node& root) {
    drop_values(root);
    if (paths_.closes(root.bound)) return;
    const Model model = root.dual.reparametrised();
    const Order order = find_order(model, OrderRule::min_weight, kInfinity);
    const double work = std::min(kStepWork, budget_.work / kSteps);
    std::optional<Relaxation> relaxation = relax(model, order, budget_.cells, work);
    if (!relaxation) return;
    double pace = kFirstPace;
    int stalled = 0, steps = 0;
    Step step;
    while (stalled < kStalledSteps && !paths_.closes(bound_) &&
           price_step(*relaxation, paths_.cost(), pace, deadline_, step)) {
      const Cost before = bound_;
      bound_ = std::max(bound_, step.bound);
      if (bound_ > before + 1e-6 * before)
        stalled = 0;
      else if (++stalled % 4 == 0)
        pace *= 0.7;
      if (steps++ % 16 == 0 || step.all_agree) paths_.polish_near(model_.choice(step.values));
      if (step.all_agree) break;
    }
  }

  static bool later(const std::unique_ptr<Node>& a, const std::unique_ptr<Node>& b) {
    return a->bound > b->bound;
  }
  void open(std::unique_ptr<Node> node) {
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), later);
  }
  std::unique_ptr<Node> take() {
    std::pop_heap(open_.begin(), open_.end(), later);
    std::unique_ptr<Node> node = std::move(open_.back());
    open_.pop_back();
    return node;
  }

  // Sweeps until the bound hardly rises; decodes now and then.
  void root() {
    Node& node = *open_.front();
    Cost before = 0;
    for (int i = 10; i <= kRootSweeps && !paths_.closes(node.bound); i += 10) {
      sweep(node, 10);
      if (passed(deadline_)) return;
      if (i == 20 || i == 80) paths_.polish_near(model_.choice(node.dual.decode()));
      if (node.bound - before < 1e-4 * node.bound) break;
      before = node.bound;
    }
    paths_.polish_near(model_.choice(node.dual.decode()));
    paths_.polish_widely(0.25);
  }

  void sweep(Node& node, int times) {
    for (int i = 0; i < times; ++i) {
      node.dual.iterate();
      if (passed(deadline_) || paths_.closes(node.bound)) break;
    }
    node.bound = std::max(node.bound, node.dual.bound());
  }

  // Closes the node, eliminates what it has left, or splits it.
  void settle(std::unique_ptr<Node> node) {
    if (paths_.closes(node->bound)) return;
    if (nodes_ % 8 == 0) paths_.polish_near(model_.choice(node->dual.decode()));
    drop_values(*node);
    if (paths_.closes(node->bound) || eliminate(*node)) return;
    const auto [variable, value] = most_doubtful(model_, *node);
    if (variable == -1 || open_.size() >= most_nodes_) {  // cannot be split further
      unfinished_ = std::min(unfinished_, node->bound);
      return;
    }
    auto without = std::make_unique<Node>(*node);
    without->forbid(variable, value);
    for (int other = 0; other < model_.variables[at(variable)].size; ++other)
      if (other != value && node->allowed[at(variable)][at(other)] != 0)
        node->forbid(variable, other);
    open(std::move(without));
    open(std::move(node));
  }

  // Values whose bound is no better than the best path.
  void drop_values(Node& node) {
    const Cost bound = node.dual.bound();
    for (std::size_t v = 0; v < model_.variables.size(); ++v) {
      if (!model_.variables[v].is_choice) continue;
      const std::vector<Cost> excess = node.dual.excess(static_cast<int>(v));
      for (std::size_t x = 0; x < excess.size(); ++x)
        if (node.allowed[v][x] != 0 && paths_.closes(bound + excess[x]))
          node.forbid(static_cast<int>(v), static_cast<int>(x));
      if (std::find(node.allowed[v].begin(), node.allowed[v].end(), 1) == node.allowed[v].end()) {
        node.bound = paths_.cost();  // nothing better is left
        return;
      }
    }
  }

  // True: what is left was small enough, and is done.
  bool eliminate(const Node& node) {
    Weights left = weights_;
    for (std::size_t l = 0; l < left.time.size(); ++l) drop_others(model_, node, l, left.time[l]);
    return paths_.optimise(left, std::min(kLeafWork, budget_.work));
  }

  Model model_;
  const Weights& weights_;
  Budget budget_;
  Deadline deadline_;
  LocalSearch& paths_;
  Cost bound_;
  Cost unfinished_ = kInfinity;              // the least bound of the nodes given up
  std::vector<std::unique_ptr<Node>> open_;  // a heap
  std::size_t most_nodes_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace

Outcome run_anytime(const Net& net, const Weights& weights, const Budget& budget,
                    Deadline deadline) {
  Weights finite = weights;
  const Cost big = make_finite(net, finite);
  Model model = make_model(net, finite);
  if (!(model.constant < kInfinity)) return {{}, kInfinity, kInfinity};  // there is no path
  LocalSearch paths(net, finite, budget, deadline);
  paths.start();
  paths.polish();
  Search search(std::move(model), finite, big, budget, deadline, paths);
  return paths.outcome(search.run(), big);
}

Outcome run_local(const Net& net, const Weights& weights, const Budget& budget,
                  Deadline deadline) {
  Weights finite = weights;
  const Cost big = make_finite(net, finite);
  LocalSearch paths(net, finite, budget, deadline);
  paths.start();
  paths.polish_widely(1);
  return paths.outcome(least_times(finite), big);
}

Outcome run_simple(const Net& net, const Weights& weights, const Budget& budget) {
  Weights finite = weights;
  const Cost big = make_finite(net, finite);
  LocalSearch paths(net, finite, budget, Deadline::max());
  paths.start();
  return paths.outcome(least_times(finite), big);
}

}  // namespace softneuro::dprs
