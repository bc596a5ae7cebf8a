#include "dprs/order.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace softneuro::dprs {
namespace {

// Fill is counted exactly up to this many neighbours; beyond, a variable is never first anyway.
constexpr std::size_t kCountFill = 40;

class Ordering {
 public:
  Ordering(const Model& model, OrderRule rule) : model_(model), rule_(rule) {
    neighbours_.resize(model.variables.size());
    for (const Factor& factor : model.factors)
      for (const int a : factor.scope)
        for (const int b : factor.scope)
          if (a != b) neighbours_[at(a)].push_back(b);
    for (std::vector<int>& list : neighbours_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  Order run(double most_work) {
    Order order;
    const std::size_t count = model_.variables.size();
    order.sequence.reserve(count);
    stamps_.assign(count, 0);
    for (std::size_t v = 0; v < count; ++v) push(static_cast<int>(v));
    while (order.sequence.size() < count) {
      const auto [fill, weight, variable, stamp] = queue_.top();
      queue_.pop();
      if (stamp != stamps_[at(variable)]) continue;
      eliminate(variable, order);
      if (order.work > most_work || order.cells > kMostCells) return order;
    }
    order.complete = true;
    return order;
  }

 private:
  using Key = std::tuple<double, double, int, int>;  // fill, weight, variable, stamp

  double weight(int variable) const {
    double cells = model_.variables[at(variable)].size;
    for (const int u : neighbours_[at(variable)]) cells *= model_.variables[at(u)].size;
    return cells;
  }

  double fill(int variable) const {
    const std::vector<int>& around = neighbours_[at(variable)];
    if (around.size() > kCountFill) return static_cast<double>(around.size() * around.size());
    double missing = 0;
    for (std::size_t i = 0; i < around.size(); ++i)
      for (std::size_t j = i + 1; j < around.size(); ++j) {
        const std::vector<int>& list = neighbours_[at(around[i])];
        if (!std::binary_search(list.begin(), list.end(), around[j])) ++missing;
      }
    return missing;
  }

  void push(int variable) {
    const double first = rule_ == OrderRule::min_fill ? fill(variable) : 0;
    queue_.emplace(first, weight(variable), variable, stamps_[at(variable)]);
  }

  void eliminate(int variable, Order& order) {
    stamps_[at(variable)] = -1;
    order.sequence.push_back(variable);
    const std::vector<int> around = std::move(neighbours_[at(variable)]);
    neighbours_[at(variable)].clear();
    double cells = 1;
    for (const int u : around) cells *= model_.variables[at(u)].size;
    order.cells += cells;
    order.work += cells * model_.variables[at(variable)].size;
    order.width = std::max(order.width, static_cast<int>(around.size()));
    for (const int u : around) {
      std::vector<int>& list = neighbours_[at(u)];
      merged_.clear();
      std::set_union(list.begin(), list.end(), around.begin(), around.end(),
                     std::back_inserter(merged_));
      std::erase_if(merged_, [&](int w) { return w == u || w == variable; });
      list = merged_;
    }
    for (const int u : around) {
      ++stamps_[at(u)];
      push(u);
    }
  }

  const Model& model_;
  OrderRule rule_;
  std::vector<std::vector<int>> neighbours_;  // ascending
  std::vector<int> stamps_;                   // -1: eliminated
  std::vector<int> merged_;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue_;
};

}  // namespace

Order find_order(const Model& model, OrderRule rule, double most_work) {
  return Ordering(model, rule).run(most_work);
}

}  // namespace softneuro::dprs
