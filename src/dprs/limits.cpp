// Peak memory is no sum, so paths are ranked by their cost, and it is checked: the ranking from the
// best on meets the true optimum. Where no path of it respects the limit, the bytes alive at the
// steps that exceed it are given a price that rises until one does.
#include "dprs/limits.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace softneuro::dprs {
namespace {

constexpr int kMemoryRounds = 40;
constexpr double kRoundShare = 0.05;  // of the work that is left
// Paths of a ranking that are looked at before the search turns to prices.
constexpr int kRanking = 64;
constexpr double kStepsPerTensor = 10;  // what pricing a path takes, in steps of elimination
constexpr double kRounding = 1e-9;

class LimitedSolver {
 public:
  LimitedSolver(const Net& net, Engine& engine, const Limits& limits)
      : net_(net), engine_(engine), limits_(limits), plain_(weights_of(net.problem)) {}

  Result<Solution> run() {
    if (limits_.least_memory) return smallest();
    const Outcome first = rank();
    if (first.lower_bound == kInfinity) return no_path(first);
    describe(first, solution_);
    if (found_.empty()) price_memory(plain_, [this] { return limits_.max_memory; });
    if (found_.empty()) find_smallest();
    if (found_.empty()) return nothing_within();
    if (!proven()) change_single_layers(false);
    return finish();
  }

 private:
  // Keeps the k cheapest paths within the limits.
  void consider(const std::vector<int>& choice) {
    const Path path = price(net_.problem, net_.uses, choice);
    if (!(path.cost < kInfinity)) return;
    if (path.memory < least_memory_) {
      least_memory_ = path.memory;
      smallest_ = choice;
    }
    if (path.memory > limits_.max_memory) return;
    for (const Path& known : found_)
      if (known.choice == choice) return;
    found_.insert(std::upper_bound(found_.begin(), found_.end(), path,
                                   [](const Path& a, const Path& b) { return a.cost < b.cost; }),
                  path);
    if (found_.size() > at(limits_.k)) found_.pop_back();
  }

  // Whether the search for memory has what it looks for.
  bool is_found() const { return !limits_.least_memory && !found_.empty(); }

  // The k best are known: nothing that was not looked at can cost less than the last of them.
  bool proven() const {
    return exhausted_ || (found_.size() == at(limits_.k) &&
                          found_.back().cost <= bound_ + kRounding * std::max(1.0, bound_));
  }

  // Looks at paths in the order of their cost until the best are proven.
  Outcome rank() {
    int seen = 0;
    bool stopped = false;
    Cost last = 0;  // of the ranking
    Outcome outcome = engine_.run(
        plain_, std::numeric_limits<int>::max(), 1, [&](Cost cost, const std::vector<int>& choice) {
          last = cost;
          consider(choice);
          stopped =
              ++seen >= kRanking || (found_.size() == at(limits_.k) && found_.back().cost <= cost);
          return !stopped;
        });
    bound_ = outcome.optimal ? last : outcome.lower_bound;
    exhausted_ = outcome.optimal && !stopped && !engine_.is_spent();
    return outcome;
  }

  // The path with the smallest peak that can be found. Times, the limit and what was done before
  // have no part in it, so a limit of its peak can be kept, whatever is measured in between.
  void find_smallest() {
    engine_.restart();
    least_memory_ = std::numeric_limits<std::size_t>::max();
    smallest_.clear();
    Weights weights = plain_;
    for (std::vector<Cost>& times : weights.time) make_free(times);
    for (std::vector<Cost>& times : weights.adapt) make_free(times);
    price_memory(weights, [this] { return least_memory_ - 1; });
    change_single_layers(true);
  }

  Result<Solution> smallest() {
    find_smallest();
    if (smallest_.empty()) return nothing_within();
    found_ = {price(net_.problem, net_.uses, smallest_)};
    return finish();
  }

  static void make_free(std::vector<Cost>& costs) {
    for (Cost& cost : costs)
      if (cost < kInfinity) cost = 0;
  }

  // Prices per byte and step that rise where a path exceeds the limit on memory, until one keeps
  // max_memory.
  void price_memory(const Weights& base, const std::function<std::size_t()>& limit_of) {
    const std::size_t steps = net_.problem.layers.size() + 1;
    std::vector<double> prices(steps, 0);
    std::vector<int> choice;
    double unit = -1;
    for (int round = 0; round < kMemoryRounds && !engine_.is_spent(); ++round) {
      Weights weights = base;
      add_memory_prices(prices, weights);
      int seen = 0;
      engine_.run(weights, 1, kRoundShare, [&](Cost, const std::vector<int>& next) {
        if (seen == 0) choice = next;
        consider(next);
        return ++seen < 8 && !is_found();
      });
      if (choice.empty()) return;
      const std::vector<std::size_t> bytes = memory_profile(net_.problem, net_.uses, choice);
      const double limit = static_cast<double>(limit_of());
      const double peak = static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
      if (is_found()) return;
      if (unit < 0) unit = 0.02 * std::max(weigh(net_, base, choice), 1e-6) / std::max(peak, 1.0);
      for (std::size_t s = 0; s < steps; ++s) {
        const double over = static_cast<double>(bytes[s]) - limit;
        if (over > 0) prices[s] += unit * (0.1 + over / std::max(limit, 1.0));
      }
      unit *= 1.4;
    }
  }

  void add_memory_prices(const std::vector<double>& prices, Weights& weights) const {
    const Problem& problem = net_.problem;
    std::vector<double> sums(prices.size() + 1, 0);
    for (std::size_t s = 0; s < prices.size(); ++s) sums[s + 1] = sums[s] + prices[s];
    for (std::size_t l = 0; l < weights.time.size(); ++l)
      for (std::size_t c = 0; c < weights.time[l].size(); ++c)
        weights.time[l][c] +=
            prices[l] * static_cast<double>(problem.layers[l].candidates[c].workspace) +
            sums.back() * static_cast<double>(problem.layers[l].candidates[c].resident);
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      const TensorUse& use = net_.uses[t];
      if (problem.tensors[t].bytes.empty()) continue;
      const std::size_t last = !problem.tensors[t].wanted.empty() ? prices.size() - 1
                               : use.consumers.empty()            ? at(std::max(use.maker, 0))
                                                                  : at(use.consumers.back().layer);
      const std::size_t first = use.consumers.empty() ? last : at(use.consumers.front().layer);
      for (std::size_t cell = 0; cell < weights.adapt[t].size(); ++cell)
        weights.adapt[t][cell] +=
            (sums[last + 1] - sums[first]) *
            static_cast<double>(problem.tensors[t].bytes[cell % at(problem.formats)]);
      if (use.maker == -1) continue;
      const Layer& maker = problem.layers[at(use.maker)];
      for (std::size_t c = 0; c < maker.candidates.size(); ++c)
        weights.time[at(use.maker)][c] +=
            (sums[last + 1] - sums[at(use.maker)]) *
            static_cast<double>(
                problem.tensors[t].bytes[at(maker.candidates[c].outputs[at(use.maker_port)])]);
    }
  }

  // One layer's candidate at a time, while the peak of the smallest path falls, or the best one
  // within the limits gets cheaper.
  void change_single_layers(bool for_memory) {
    const auto best = [&] { return for_memory ? smallest_ : found_[0].choice; };
    for (bool better = !best().empty(); better;) {
      better = false;
      for (std::size_t l = 0; l < plain_.time.size(); ++l)
        for (std::size_t c = 0; c < plain_.time[l].size(); ++c) {
          if (engine_.is_spent() || (for_memory && is_found())) return;
          std::vector<int> choice = best();
          if (std::exchange(choice[l], static_cast<int>(c)) == static_cast<int>(c)) continue;
          engine_.spend(kStepsPerTensor * static_cast<double>(net_.uses.size()));
          if (!for_memory && !(weigh(net_, plain_, choice) < found_[0].cost)) continue;
          consider(choice);
          better = better || best() == choice;
        }
    }
  }

  Status nothing_within() const {
    if (least_memory_ == std::numeric_limits<std::size_t>::max())
      return Status(StatusCode::unsupported, "dprs: no path was found");
    return Status(StatusCode::unsupported,
                  "dprs: no path within " + std::to_string(limits_.max_memory) +
                      " bytes of memory was found; the smallest peak seen is " +
                      std::to_string(least_memory_) + " bytes");
  }

  Result<Solution> finish() {
    solution_.optimal = proven();
    solution_.lower_bound = bound_;
    solution_.paths = std::move(found_);
    return std::move(solution_);
  }

  const Net& net_;
  Engine& engine_;
  const Limits& limits_;
  Weights plain_;
  std::vector<Path> found_;  // within the limits, the best first
  Cost bound_ = 0;           // on every path within the limits that is not in found_
  bool exhausted_ = false;   // all paths were looked at
  std::size_t least_memory_ = std::numeric_limits<std::size_t>::max();
  std::vector<int> smallest_;  // the choice with that peak
  Solution solution_;
};

}  // namespace

Result<Solution> solve_limited(const Net& net, Engine& engine, const Limits& limits) {
  return LimitedSolver(net, engine, limits).run();
}

}  // namespace softneuro::dprs
