#include "dprs/dual.h"

#include <algorithm>

namespace softneuro::dprs {
namespace {

// The least of a row; in lanes, which the compiler may not make of a single minimum by itself.
Cost least_of(const Cost* row, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  Cost lanes[kLanes];
  std::fill(lanes, lanes + kLanes, kInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = std::min(lanes[lane], row[i + lane]);
  Cost result = *std::min_element(lanes, lanes + kLanes);
  for (; i < count; ++i) result = std::min(result, row[i]);
  return result;
}

}  // namespace

Dual::Dual(const Model& model, Cost big)
    : model_(model), big_(big), unary_(model.variables.size()), places_(model.variables.size()) {
  const std::vector<int> rank = find_sweep();
  for (std::size_t v = 0; v < unary_.size(); ++v) unary_[v].assign(at(model.variables[v].size), 0);
  for (const Factor& factor : model.factors) {
    std::vector<Cost> costs = factor.table;
    for (Cost& cost : costs) cost = std::min(cost, big);
    if (factor.scope.size() == 1) {
      for (std::size_t i = 0; i < costs.size(); ++i) unary_[at(factor.scope[0])][i] += costs[i];
      continue;
    }
    const auto [first, last] =
        std::minmax_element(factor.scope.begin(), factor.scope.end(),
                            [&](int a, int b) { return rank[at(a)] < rank[at(b)]; });
    std::size_t stride = 1;
    for (std::size_t d = factor.scope.size(); d-- > 0;) {
      const int variable = factor.scope[d];
      places_[at(variable)].push_back(
          {static_cast<int>(tables_.size()), stride, variable == *first, variable == *last});
      stride *= at(model.variables[at(variable)].size);
    }
    tables_.push_back({&factor, std::move(costs)});
  }
}

// The sweep's order, and each variable's rank in it: the layers' order, a hub after the first of
// its neighbours, so that the factors form long monotonic chains.
std::vector<int> Dual::find_sweep() {
  const std::size_t count = model_.variables.size();
  std::vector<int> first(count, static_cast<int>(count));
  for (std::size_t v = 0; v < count; ++v)
    if (model_.variables[v].is_choice) first[v] = static_cast<int>(v);
  for (const Factor& factor : model_.factors)
    for (const int a : factor.scope)
      for (const int b : factor.scope)
        if (!model_.variables[at(a)].is_choice && model_.variables[at(b)].is_choice)
          first[at(a)] = std::min(first[at(a)], b);
  for (std::size_t v = 0; v < count; ++v) order_.push_back(static_cast<int>(v));
  std::sort(order_.begin(), order_.end(), [&](int a, int b) {
    return first[at(a)] != first[at(b)] ? first[at(a)] < first[at(b)] : a < b;
  });
  std::vector<int> rank(count);
  for (std::size_t i = 0; i < count; ++i) rank[at(order_[i])] = static_cast<int>(i);
  return rank;
}

// Per value of the variable, the least entry of the factor.
std::vector<Cost>& Dual::min_marginal(const Place& place, int size) const {
  const std::vector<Cost>& costs = tables_[at(place.factor)].costs;
  scratch_.assign(at(size), kInfinity);
  if (place.stride == 1) {  // the values lie side by side
    for (std::size_t outer = 0; outer < costs.size(); outer += at(size))
      for (std::size_t value = 0; value < at(size); ++value)
        scratch_[value] = std::min(scratch_[value], costs[outer + value]);
    return scratch_;
  }
  const std::size_t block = place.stride * at(size);
  for (std::size_t outer = 0; outer < costs.size(); outer += block)
    for (std::size_t value = 0; value < at(size); ++value) {
      const Cost* row = costs.data() + outer + value * place.stride;
      scratch_[value] = std::min(scratch_[value], least_of(row, place.stride));
    }
  return scratch_;
}

void Dual::add(const Place& place, int size, const std::vector<Cost>& costs, double weight) {
  std::vector<Cost>& table = tables_[at(place.factor)].costs;
  if (place.stride == 1) {
    for (std::size_t outer = 0; outer < table.size(); outer += at(size))
      for (std::size_t value = 0; value < at(size); ++value)
        table[outer + value] += weight * costs[value];
    return;
  }
  const std::size_t block = place.stride * at(size);
  for (std::size_t outer = 0; outer < table.size(); outer += block)
    for (std::size_t value = 0; value < at(size); ++value) {
      Cost* row = table.data() + outer + value * place.stride;
      const Cost shift = weight * costs[value];
      for (std::size_t i = 0; i < place.stride; ++i) row[i] += shift;
    }
}

// Collects what the variable's factors know about it, and hands it on in equal parts to those that
// go on in the sweep's direction.
void Dual::visit(int variable, bool forward) {
  std::vector<Cost>& unary = unary_[at(variable)];
  const int size = static_cast<int>(unary.size());
  int onward = 0;
  int backward = 0;
  for (const Place& place : places_[at(variable)]) {
    const std::vector<Cost>& marginal = min_marginal(place, size);
    for (std::size_t value = 0; value < unary.size(); ++value) unary[value] += marginal[value];
    add(place, size, marginal, -1);
    onward += (forward ? place.is_last : place.is_first) ? 0 : 1;
    backward += (forward ? place.is_first : place.is_last) ? 0 : 1;
  }
  if (onward == 0) return;
  const double weight = 1.0 / std::max(onward, backward);
  for (const Place& place : places_[at(variable)])
    if (!(forward ? place.is_last : place.is_first)) add(place, size, unary, weight);
  for (Cost& cost : unary) cost *= 1 - weight * onward;
}

void Dual::iterate() {
  for (const int variable : order_) visit(variable, true);
  for (std::size_t i = order_.size(); i-- > 0;) visit(order_[i], false);
}

Cost Dual::bound() const {
  Cost sum = model_.constant;
  for (const std::vector<Cost>& unary : unary_)
    sum += *std::min_element(unary.begin(), unary.end());
  for (const Table& table : tables_)
    sum += *std::min_element(table.costs.begin(), table.costs.end());
  return sum;
}

Model Dual::reparametrised() const {
  Model model;
  model.variables = model_.variables;
  model.constant = model_.constant;
  for (std::size_t v = 0; v < unary_.size(); ++v)
    model.factors.push_back({{static_cast<int>(v)}, unary_[v]});
  for (const Table& table : tables_) model.factors.push_back({table.factor->scope, table.costs});
  return model;
}

std::vector<int> Dual::decode() const {
  std::vector<int> values(unary_.size(), -1);
  for (const int variable : order_) {
    std::vector<Cost> costs = unary_[at(variable)];
    for (const Place& place : places_[at(variable)]) {
      // The least entry with the variables so far at their values.
      const Table& table = tables_[at(place.factor)];
      const std::vector<int>& scope = table.factor->scope;
      std::vector<Cost> least(costs.size(), kInfinity);
      for (std::size_t cell = 0; cell < table.costs.size(); ++cell) {
        std::size_t rest = cell;
        bool agrees = true;
        for (std::size_t d = scope.size(); d-- > 0 && agrees;) {
          const std::size_t size = unary_[at(scope[d])].size();
          agrees = values[at(scope[d])] == -1 || at(values[at(scope[d])]) == rest % size;
          rest /= size;
        }
        if (!agrees) continue;
        const std::size_t value = cell / place.stride % costs.size();
        least[value] = std::min(least[value], table.costs[cell]);
      }
      for (std::size_t value = 0; value < costs.size(); ++value) costs[value] += least[value];
    }
    values[at(variable)] =
        static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }
  return values;
}

std::vector<Cost> Dual::excess(int variable) const {
  std::vector<Cost> result = unary_[at(variable)];
  const Cost least = *std::min_element(result.begin(), result.end());
  for (Cost& cost : result) cost -= least;
  for (const Place& place : places_[at(variable)]) {
    const std::vector<Cost>& marginal = min_marginal(place, static_cast<int>(result.size()));
    const Cost bottom = *std::min_element(marginal.begin(), marginal.end());
    for (std::size_t value = 0; value < result.size(); ++value)
      result[value] += marginal[value] - bottom;
  }
  return result;
}

void Dual::forbid(int variable, int value) {
  unary_[at(variable)][at(value)] += big_;
}

}  // namespace softneuro::dprs
