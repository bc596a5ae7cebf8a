#include "dprs/relax.h"

#include <algorithm>
#include <cmath>

namespace softneuro::dprs {
namespace {

// A factor or a message of the elimination to come: its scope, and the factors it is made of.
struct Function {
  std::vector<int> scope;  // ascending
  std::vector<int> factors;
};

// Where to split, from the scopes alone.
class Splitter {
 public:
  // `most_cells`: of one table, with the variable that is eliminated from it.
  Splitter(const Model& model, const Order& order, double most_cells)
      : most_cells_(most_cells), variables_(model.variables) {
    const std::size_t count = model.variables.size();
    for (std::size_t v = 0; v < count; ++v) copies_.push_back({static_cast<int>(v)});
    position_.resize(count);
    for (std::size_t p = 0; p < order.sequence.size(); ++p) position_[at(order.sequence[p])] = p;
    buckets_.resize(count);
    for (const Factor& factor : model.factors) {
      scopes_.push_back(factor.scope);
      if (factor.scope.size() == 1) continue;  // shared out among the copies at the end
      Function function{factor.scope, {static_cast<int>(scopes_.size()) - 1}};
      std::sort(function.scope.begin(), function.scope.end());
      push(std::move(function));
    }
    split_.complete = true;
    for (const int variable : order.sequence) eliminate(variable);
  }

  const Order& order() const { return split_; }
  bool is_exact() const { return variables_.size() == copies_.size(); }

  Relaxation make(const Model& model) {
    Relaxation result;
    result.model.variables = variables_;
    result.model.constant = model.constant;
    result.order = split_;
    std::vector<std::vector<Cost>> unary;
    for (const Variable& variable : model.variables) unary.emplace_back(at(variable.size), 0);
    std::vector<Factor> others;
    for (std::size_t f = 0; f < model.factors.size(); ++f) {
      const Factor& factor = model.factors[f];
      if (factor.scope.size() > 1) {
        others.push_back({scopes_[f], factor.table});
        continue;
      }
      std::vector<Cost>& sum = unary[at(factor.scope[0])];
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor.table[i];
    }
    std::vector<Factor>& factors = result.model.factors;
    factors.resize(variables_.size());
    for (std::size_t v = 0; v < copies_.size(); ++v) {
      for (Cost& cost : unary[v]) cost /= static_cast<Cost>(copies_[v].size());
      for (const int copy : copies_[v]) factors[at(copy)] = {{copy}, unary[v]};
    }
    factors.insert(factors.end(), std::make_move_iterator(others.begin()),
                   std::make_move_iterator(others.end()));
    result.copies = std::move(copies_);
    return result;
  }

 private:
  void push(Function function) {
    if (function.scope.empty()) return;
    const int first =
        *std::min_element(function.scope.begin(), function.scope.end(),
                          [&](int a, int b) { return position_[at(a)] < position_[at(b)]; });
    buckets_[at(first)].push_back(std::move(function));
  }

  double cells(const std::vector<int>& scope) const {
    double count = 1;
    for (const int variable : scope) count *= variables_[at(variable)].size;
    return count;
  }
  static std::vector<int> joined(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  // The bucket's functions in as few groups as the limit allows: the largest first, each where it
  // makes the table grow the least.
  void eliminate(int variable) {
    std::vector<Function> functions = std::move(buckets_[at(variable)]);
    std::stable_sort(functions.begin(), functions.end(), [&](const Function& a, const Function& b) {
      return cells(a.scope) > cells(b.scope);
    });
    std::vector<Function> groups;
    for (Function& function : functions) {
      Function* best = nullptr;
      double least = kInfinity;
      for (Function& group : groups) {
        const double size = cells(joined(group.scope, function.scope));
        if (size > most_cells_ || size / cells(group.scope) >= least) continue;
        least = size / cells(group.scope);
        best = &group;
      }
      if (best == nullptr) {
        groups.push_back(std::move(function));
        continue;
      }
      best->scope = joined(best->scope, function.scope);
      best->factors.insert(best->factors.end(), function.factors.begin(), function.factors.end());
    }
    split_.sequence.push_back(variable);
    if (groups.empty()) split_.work += variables_[at(variable)].size;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (g > 0) split_off(variable, groups[g]);
      const double table = cells(groups[g].scope);
      split_.work += table;
      split_.cells += table / variables_[at(variable)].size;
      std::erase(groups[g].scope, variable);
      push(std::move(groups[g]));
    }
  }

  // A copy of the variable for the factors of the group.
  void split_off(int variable, const Function& group) {
    const int copy = static_cast<int>(variables_.size());
    variables_.push_back(variables_[at(variable)]);
    copies_[at(variable)].push_back(copy);
    split_.sequence.push_back(copy);
    for (const int factor : group.factors)
      std::replace(scopes_[at(factor)].begin(), scopes_[at(factor)].end(), variable, copy);
  }

  double most_cells_;
  std::vector<Variable> variables_;  // the model's, then copies
  std::vector<std::vector<int>> copies_;
  std::vector<std::vector<int>> scopes_;  // per factor, with copies
  std::vector<std::size_t> position_;
  std::vector<std::vector<Function>> buckets_;
  Order split_;
};

}  // namespace

std::optional<Relaxation> relax(const Model& model, const Order& order, double most_cells,
                                double most_work) {
  std::optional<Splitter> best;
  for (int bits = 4; std::ldexp(1.0, bits) <= most_cells; ++bits) {
    Splitter splitter(model, order, std::ldexp(1.0, bits));
    if (splitter.order().work > most_work || splitter.order().cells > most_cells) break;
    best.emplace(std::move(splitter));
    if (best->is_exact()) break;
  }
  if (!best) return std::nullopt;
  return best->make(model);
}

bool price_step(Relaxation& relaxation, Cost target, double pace, Deadline deadline, Step& step) {
  std::vector<int> values;
  {
    Elimination elimination(relaxation.model, relaxation.order);
    if (!elimination.run(deadline)) return false;
    step.bound = elimination.minimum();
    values = elimination.best_values();
  }
  step.values.assign(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(relaxation.copies.size()));
  // The subgradient: per copy and value, whether it was taken, less the mean over the copies.
  double norm = 0;
  for (const std::vector<int>& copies : relaxation.copies) {
    const double share = 1.0 / static_cast<double>(copies.size());
    for (const int copy : copies) {
      const auto same = std::count_if(copies.begin(), copies.end(), [&](int other) {
        return values[at(other)] == values[at(copy)];
      });
      norm += 1 - share * static_cast<double>(same);
    }
  }
  step.all_agree = norm < 0.25;
  if (step.all_agree) return true;
  const double length = pace * std::max(target - step.bound, 0.0) / norm;
  for (const std::vector<int>& copies : relaxation.copies) {
    const double share = 1.0 / static_cast<double>(copies.size());
    if (copies.size() == 1) continue;
    for (const int copy : copies) {
      relaxation.model.factors[at(copy)].table[at(values[at(copy)])] += length;
      for (const int other : copies)
        relaxation.model.factors[at(other)].table[at(values[at(copy)])] -= share * length;
    }
  }
  return true;
}

}  // namespace softneuro::dprs
