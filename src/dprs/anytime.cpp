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
  Node(Dual of, std::vector<std::vector<char>> values, Cost least)
      : dual(std::move(of)), allowed(std::move(values)), bound(least) {}
  Dual dual;
  std::vector<std::vector<char>> allowed;  // [variable][value]
  Cost bound;
};

class Anytime {
 public:
  Anytime(const Net& net, const Weights& weights, const Budget& budget, Deadline deadline)
      : net_(net), budget_(budget), deadline_(deadline), weights_(weights) {}

  Outcome run_simple() {
    make_finite();
    for (const std::vector<Cost>& times : weights_.time)
      bound_ += *std::min_element(times.begin(), times.end());
    start();
    return finish();
  }

  Outcome run() {
    make_finite();
    make_model();
    if (!(model_.constant < kInfinity)) {
      Outcome outcome;
      outcome.lower_bound = kInfinity;
      return outcome;
    }
    for (const std::vector<Cost>& times : weights_.time)
      bound_ += *std::min_element(times.begin(), times.end());
    start();
    polish();
    search();
    return finish();
  }

 private:
  // Impossible adapts get a price that no path worth having reaches: the local search must have a
  // slope to go down.
  void make_finite() {
    const int formats = net_.problem.formats;
    big_ = 1;
    for (const std::vector<Cost>& times : weights_.time) {
      Cost most = 0;
      for (const Cost time : times)
        if (time < kInfinity) most = std::max(most, time);
      big_ += most;
    }
    for (std::size_t t = 0; t < weights_.adapt.size(); ++t) {
      Cost most = 0;
      for (const Cost cost : weights_.adapt[t])
        if (cost < kInfinity) most = std::max(most, cost);
      const std::size_t uses =
          net_.uses[t].consumers.size() + net_.problem.tensors[t].wanted.size();
      big_ += most * static_cast<Cost>(std::min(uses, at(formats)));
    }
    for (std::vector<Cost>& adapt : weights_.adapt) {
      if (adapt.empty()) adapt.assign(at(formats * formats), kInfinity);
      for (Cost& cost : adapt) cost = std::min(cost, big_);
    }
  }

  // Hubs over sets give the better bound, as long as sweeps over their tables are quick.
  void make_model() {
    Encoding encoding = {2, Encoding::Hub::sets, true, 1, true};
    double cells = 1;
    const Model scopes = build_model(net_, weights_, encoding);
    for (const Factor& factor : scopes.factors) {
      double table = 1;
      for (const int variable : factor.scope) table *= scopes.variables[at(variable)].size;
      cells += table;
    }
    if (cells > kDualCells) encoding = {1, Encoding::Hub::bits, true, 1, true};
    encoding.scopes_only = false;
    model_ = build_model(net_, weights_, encoding);
    cells = 1;
    for (const Factor& factor : model_.factors) cells += static_cast<double>(factor.table.size());
    most_nodes_ =
        static_cast<std::size_t>(std::clamp(budget_.cells / cells, kFewestNodes, kMostNodes));
  }

  void offer(const std::vector<int>& choice) {
    const Cost cost = weigh(net_, weights_, choice);
    if (!best_.empty() && cost >= cost_) return;
    best_ = choice;
    cost_ = cost;
  }
  bool closes(Cost bound) const { return bound >= cost_ - kRounding * std::max(1.0, cost_); }

  // The fastest candidate of each layer; and for each format, the layers as far as they can in it.
  void start() {
    for (int wanted = -1; wanted < net_.problem.formats; ++wanted) {
      std::vector<int> choice;
      for (std::size_t l = 0; l < weights_.time.size(); ++l) choice.push_back(pick(l, wanted));
      offer(choice);
      if (passed(deadline_)) return;
    }
  }
  int pick(std::size_t layer, int wanted) const {
    const std::vector<Cost>& times = weights_.time[layer];
    int best = -1;
    std::pair<std::size_t, Cost> least;
    for (std::size_t c = 0; c < times.size(); ++c) {
      if (!(times[c] < kInfinity)) continue;
      const Candidate& candidate = net_.problem.layers[layer].candidates[c];
      auto others = [&](const std::vector<int>& formats) {
        return formats.size() -
               at(static_cast<int>(std::count(formats.begin(), formats.end(), wanted)));
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

  // --- windows ------------------------------------------------------------------------------

  enum class Window { better, same, too_large };

  // The layers [first, last) optimised exactly, all others as in the best path.
  Window improve(std::size_t first, std::size_t last, double work) {
    for (std::size_t l = first; l < last; ++l) pinned_.time[l] = weights_.time[l];
    const Model model = build_model(net_, pinned_, {2, Encoding::Hub::bits, true, 1});
    const Order order = find_order(model, OrderRule::min_weight, work);
    Window result = Window::too_large;
    if (order.complete && order.cells <= budget_.cells) {
      Elimination elimination(model, order);
      result = Window::same;
      if (elimination.run(deadline_)) {
        const std::vector<int> before = best_;
        offer(model.choice(elimination.best_values()));
        for (std::size_t l = first; l < last; ++l)
          if (best_[l] != before[l]) {
            changed_[l] = ++clock_;
            result = Window::better;
          }
      }
    }
    for (std::size_t l = first; l < last; ++l) pin(l);
    return result;
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
        const Window result = improve(first, last, work);
        done[w] = clock_ + 1;
        fits = fits || result != Window::too_large;
        better = better || result == Window::better;
      }
    }
    return fits;
  }
  void polish() {
    if (best_.empty()) return;
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

  // --- the dual, and branch and bound ---------------------------------------------------------

  void search() {
    std::vector<std::vector<char>> allowed;
    for (const Variable& variable : model_.variables) allowed.emplace_back(at(variable.size), 1);
    open(std::make_unique<Node>(Dual(model_, big_), std::move(allowed), bound_));
    root();
    if (!closes(open_.front()->bound)) decompose(*open_.front());
    while (!open_.empty() && !passed(deadline_) && !closes(open_.front()->bound) &&
           !closes(bound_)) {
      std::unique_ptr<Node> node = take();
      ++nodes_;
      if (nodes_ > 1) sweep(*node, kNodeSweeps);
      settle(std::move(node));
    }
    Cost least = open_.empty() ? cost_ : open_.front()->bound;
    least = std::min(least, unfinished_);
    bound_ = std::max(bound_, std::min(least, cost_));
  }

  // A relaxation with the largest tables that leave time for some dozens of steps; its minimisers
  // are starts for the local search, its minimum is a better bound than the dual's.
  void decompose(Node& root) {
    drop_values(root);
    if (closes(root.bound)) return;
    const Model model = root.dual.reparametrised();
    const Order order = find_order(model, OrderRule::min_weight, kInfinity);
    const double work = std::min(kStepWork, budget_.work / kSteps);
    std::optional<Relaxation> relaxation = relax(model, order, budget_.cells, work);
    if (!relaxation) return;
    double pace = kFirstPace;
    int stalled = 0;
    Step step;
    while (stalled < kStalledSteps && !closes(bound_) &&
           price_step(*relaxation, cost_, pace, deadline_, step)) {
      ++steps_;
      const Cost before = bound_;
      bound_ = std::max(bound_, step.bound);
      if (bound_ > before + 1e-6 * before)
        stalled = 0;
      else if (++stalled % 4 == 0)
        pace *= 0.7;
      const std::vector<int> choice = model_.choice(step.values);
      if (steps_ % 16 == 1 || step.all_agree) polish_near(choice);
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
    for (int i = 10; i <= kRootSweeps && !closes(node.bound); i += 10) {
      sweep(node, 10);
      if (passed(deadline_)) return;
      if (i == 20 || i == 80) polish_near(model_.choice(node.dual.decode()));
      if (node.bound - before < 1e-4 * node.bound) break;
      before = node.bound;
    }
    polish_near(model_.choice(node.dual.decode()));
    polish_widely(0.25);
  }

  void sweep(Node& node, int times) {
    for (int i = 0; i < times; ++i) {
      node.dual.iterate();
      if (passed(deadline_) || closes(node.bound)) break;
    }
    node.bound = std::max(node.bound, node.dual.bound());
  }

  // A decoded path that is nearly as good as the best deserves a local search of its own.
  void polish_near(const std::vector<int>& choice) {
    if (std::find(choice.begin(), choice.end(), -1) != choice.end()) return;
    if (weigh(net_, weights_, choice) > cost_ * 1.05) return;
    const std::vector<int> kept = best_;
    const Cost kept_cost = cost_;
    best_ = choice;
    cost_ = weigh(net_, weights_, choice);
    polish();
    if (cost_ <= kept_cost) return;
    best_ = kept;
    cost_ = kept_cost;
  }

  // Closes the node, eliminates what it has left, or splits it.
  void settle(std::unique_ptr<Node> node) {
    if (closes(node->bound)) return;
    if (nodes_ % 8 == 0) polish_near(model_.choice(node->dual.decode()));
    drop_values(*node);
    if (closes(node->bound) || eliminate(*node)) return;
    const auto [variable, value] = most_doubtful(*node);
    if (variable == -1 ||
        open_.size() >= most_nodes_) {  // cannot be split further: its bound stays
      unfinished_ = std::min(unfinished_, node->bound);
      return;
    }
    auto without = std::make_unique<Node>(node->dual, node->allowed, node->bound);
    forbid(*without, variable, value);
    for (int other = 0; other < node->dual.size(variable); ++other)
      if (other != value && node->allowed[at(variable)][at(other)] != 0)
        forbid(*node, variable, other);
    open(std::move(without));
    open(std::move(node));
  }

  static void forbid(Node& node, int variable, int value) {
    node.allowed[at(variable)][at(value)] = 0;
    node.dual.forbid(variable, value);
  }

  // Values whose bound is no better than the best path.
  void drop_values(Node& node) {
    const Cost bound = node.dual.bound();
    for (std::size_t v = 0; v < model_.variables.size(); ++v) {
      if (!model_.variables[v].is_choice) continue;
      const std::vector<Cost> excess = node.dual.excess(static_cast<int>(v));
      for (std::size_t x = 0; x < excess.size(); ++x)
        if (node.allowed[v][x] != 0 && closes(bound + excess[x]))
          forbid(node, static_cast<int>(v), static_cast<int>(x));
      if (std::find(node.allowed[v].begin(), node.allowed[v].end(), 1) == node.allowed[v].end()) {
        node.bound = cost_;  // nothing better is left
        return;
      }
    }
  }

  // True: what is left was small enough, and is done.
  bool eliminate(const Node& node) {
    Weights left = weights_;
    for (std::size_t l = 0; l < left.time.size(); ++l) restrict_layer(node, l, left.time[l]);
    const Model model = build_model(net_, left, {2, Encoding::Hub::bits, true, 1});
    if (!(model.constant < kInfinity)) return true;
    const Order order = find_order(model, OrderRule::min_weight, std::min(kLeafWork, budget_.work));
    if (!order.complete || order.cells > budget_.cells) return false;
    Elimination elimination(model, order);
    if (!elimination.run(deadline_)) return false;
    if (elimination.minimum() < kInfinity) offer(model.choice(elimination.best_values()));
    return true;
  }

  // Candidates of which a value is out are out.
  void restrict_layer(const Node& node, std::size_t layer, std::vector<Cost>& times) const {
    const Model::LayerTable& table = model_.layers[layer];
    std::vector<char> stays(times.size(), 0);
    for (std::size_t cell = 0; cell < table.candidates.size(); ++cell) {
      if (table.candidates[cell] == -1) continue;
      std::size_t rest = cell;
      bool allowed = true;
      for (std::size_t d = table.variables.size(); d-- > 0;) {
        const std::size_t size = at(model_.variables[at(table.variables[d])].size);
        allowed = allowed && node.allowed[at(table.variables[d])][rest % size] != 0;
        rest /= size;
      }
      if (allowed) stays[at(table.candidates[cell])] = 1;
    }
    for (std::size_t c = 0; c < times.size(); ++c)
      if (stays[c] == 0) times[c] = kInfinity;
  }

  // The variable whose second best value is the least worse than its best, and that best.
  std::pair<int, int> most_doubtful(const Node& node) const {
    std::pair<int, int> result(-1, -1);
    Cost smallest = kInfinity;
    for (std::size_t v = 0; v < model_.variables.size(); ++v) {
      if (!model_.variables[v].is_choice) continue;
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

  Outcome finish() const {
    Outcome outcome;
    outcome.lower_bound = bound_;
    if (cost_ < big_) {
      outcome.best = best_;
      outcome.cost = cost_;
      outcome.lower_bound = std::min(bound_, cost_);
      outcome.optimal = closes(bound_);
    } else if (bound_ >= big_) {
      outcome.lower_bound = kInfinity;
    }
    return outcome;
  }

  const Net& net_;
  Budget budget_;
  Deadline deadline_;
  Weights weights_;  // finite adapts
  Cost big_ = 0;     // more than any path costs
  Model model_;
  Weights pinned_;
  std::vector<int> best_;
  Cost cost_ = kInfinity;
  Cost bound_ = 0;
  Cost unfinished_ = kInfinity;  // the least bound of the nodes given up
  std::vector<std::unique_ptr<Node>> open_;
  std::size_t most_nodes_ = 0;
  std::size_t nodes_ = 0;
  std::size_t steps_ = 0;
  std::vector<std::size_t> changed_;  // per layer, when its candidate last changed
  std::size_t clock_ = 0;
};

}  // namespace

Outcome run_anytime(const Net& net, const Weights& weights, const Budget& budget,
                    Deadline deadline) {
  return Anytime(net, weights, budget, deadline).run();
}

Outcome run_simple(const Net& net, const Weights& weights, const Budget& budget) {
  return Anytime(net, weights, budget, Deadline::max()).run_simple();
}

}  // namespace softneuro::dprs
