// For nets whose tables would be too large. Three steps, each from the best path so far:
//
// 1. simple paths: the fastest candidates; one format wherever it can be had;
// 2. the best of the paths that have each tensor in few formats, for which small tables do;
// 3. windows of consecutive layers, optimised with all others held, until none gets better.
#include <algorithm>
#include <utility>

#include "dprs/engine.h"

namespace softneuro::dprs {
namespace {

// Formats in which a restricted path has a tensor at most: more are hardly ever worth their adapts.
constexpr int kMostFormats = 3;
// Windows are restricted as well, so that more layers fit into one.
constexpr Encoding kWindow = {2, 512, true, 2};
constexpr std::size_t kLeastWindow = 4;
constexpr double kWindowShare = 1.0 / 16;  // of the work that is left, for one of them
// What an entry of a model costs to make, in steps of elimination.
constexpr double kStepsPerEntry = 10;

// Impossible adapts get a price that no path worth having reaches: windows must have a slope to go
// down. Gives that price, which is more than any path costs.
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

// What making the model took.
double build_work(const Net& net, const Model& model) {
  std::size_t entries = net.layers.size();
  for (const Net::Signatures& layer : net.layers) entries += layer.of_candidate.size();
  for (const Factor& factor : model.factors) entries += factor.table.size();
  return kStepsPerEntry * static_cast<double>(entries);
}

class LocalSearch {
 public:
  LocalSearch(const Net& net, const Weights& weights, double& work)
      : net_(net), weights_(weights), work_(work), big_(make_finite(net, weights_)) {}

  Outcome run() {
    start();
    restrict_formats();
    polish_all();
    Outcome result;
    if (cost_ < big_) {  // no adapt is impossible
      result.best = best_;
      result.cost = cost_;
      result.lower_bound = std::min(least_times(weights_), cost_);
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

  // The fastest candidates, then one format wherever it can be had.
  void start() {
    for (int wanted = -1; wanted < net_.problem.formats; ++wanted) {
      std::vector<int> choice;
      for (std::size_t l = 0; l < weights_.time.size(); ++l)
        choice.push_back(pick(net_.problem.layers[l], weights_.time[l], wanted));
      offer(choice);
    }
  }

  void eliminate(const Model& model, const Order& order) {
    Elimination elimination(model, order);
    elimination.run();
    work_ -= order.work;
    if (elimination.minimum() < kInfinity) offer(model.choice(elimination.best_values()));
  }

  // The best of the paths with few formats per tensor, as many as half of the work allows.
  void restrict_formats() {
    for (int formats = 1; formats <= kMostFormats; ++formats) {
      const Plan plan = make_plan(net_, weights_, formats, 1, work_ / 2);
      if (!plan.order.complete) return;
      eliminate(plan.model, plan.order);
    }
  }

  // The layers [first, last) optimised, all others as in the best path. False: too large.
  bool improve(std::size_t first, std::size_t last, double most_work) {
    for (std::size_t l = first; l < last; ++l) pinned_.time[l] = weights_.time[l];
    const std::vector<int> before = best_;
    const Model model = build_model(net_, pinned_, kWindow);
    work_ -= build_work(net_, model);
    const Order order = find_order(model, OrderRule::min_weight, most_work);
    if (order.complete) eliminate(model, order);
    for (std::size_t l = first; l < last; ++l) {
      if (best_[l] != before[l]) changed_[l] = ++clock_;
      pin(l);
    }
    return order.complete;
  }
  void pin(std::size_t layer) {
    std::vector<Cost>& times = pinned_.time[layer];
    times.assign(times.size(), kInfinity);
    times[at(best_[layer])] = weights_.time[layer][at(best_[layer])];
  }

  // Windows that grow as long as they fit.
  void polish_all() {
    pinned_ = weights_;
    for (std::size_t l = 0; l < best_.size(); ++l) pin(l);
    changed_.assign(best_.size(), ++clock_);
    for (std::size_t size = kLeastWindow; work_ > 0; size += size / 2)
      if (!polish(std::min(size, best_.size())) || size >= best_.size()) return;
  }

  // All windows of a size, those again near which something changed since, until nothing does.
  // True: some window was small enough.
  bool polish(std::size_t size) {
    const std::size_t layers = best_.size();
    const std::size_t step = (size + 1) / 2;
    const double most_work = kWindowShare * work_;
    std::vector<std::size_t> done((layers + step - 1) / step, 0);
    bool fits = false;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t w = 0; w < done.size(); ++w) {
        if (work_ <= 0) return fits;
        const std::size_t first = w * step;
        const std::size_t last = std::min(first + size, layers);
        const std::size_t near = first > size ? first - size : 0;
        const std::size_t newest = *std::max_element(
            changed_.begin() + static_cast<std::ptrdiff_t>(near),
            changed_.begin() + static_cast<std::ptrdiff_t>(std::min(last + size, layers)));
        if (done[w] > newest) continue;
        const std::size_t before = clock_;
        fits = improve(first, last, most_work) || fits;
        better = better || clock_ != before;
        done[w] = clock_ + 1;
      }
    }
    return fits;
  }

  const Net& net_;
  Weights weights_;
  double& work_;
  Cost big_;  // what an impossible adapt costs
  std::vector<int> best_;
  Cost cost_ = kInfinity;
  Weights pinned_;                    // all layers at their candidate of the best path
  std::vector<std::size_t> changed_;  // per layer, when its candidate last changed
  std::size_t clock_ = 0;
};

}  // namespace

Outcome search_locally(const Net& net, const Weights& weights, double& work) {
  return LocalSearch(net, weights, work).run();
}

}  // namespace softneuro::dprs
