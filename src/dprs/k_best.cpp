// BestFirst: Lawler's partition on the buckets.
//
// Variables are assigned from the last eliminated to the first, so that each bucket tells, per
// value of its variable, by how much exactly the cheapest completion grows. A path takes the best
// value everywhere; every other value opens a part, "as this path up to here, then that value", at
// the cost of its best member. A hub that offers what nobody demands would show a choice again, so
// such values are refused where the last variable that demands of it is assigned.
#include <algorithm>

#include "dprs/elimination.h"

namespace softneuro::dprs {

BestFirst::BestFirst(const Elimination& elimination, double& work)
    : elimination_(elimination),
      work_(work),
      order_(elimination.sequence().rbegin(), elimination.sequence().rend()),
      closed_(order_.size()) {
  std::vector<std::size_t> place(order_.size());
  for (std::size_t p = 0; p < order_.size(); ++p) place[at(order_[p])] = p;
  const std::vector<Hub>& hubs = elimination.model().hubs;
  for (const Hub& hub : hubs) {
    std::size_t last = place[at(hub.variable)];
    for (const PortView& view : hub.members) last = std::max(last, place[at(view.variable)]);
    for (const int inner : hub.inner) last = std::max(last, place[at(hubs[at(inner)].variable)]);
    closed_[at(order_[last])].push_back(&hub);
  }
  paths_.emplace_back(order_.size(), 0);
  push({elimination.minimum(), 0, 0, 0, -1});
}

void BestFirst::push(Part part) {
  if (!(part.cost < kInfinity)) return;
  part.serial = serial_++;
  parts_.push_back(part);
  std::push_heap(parts_.begin(), parts_.end(), Later());
}

// Whether the hub offers what is demanded and no more.
bool BestFirst::is_tight(const Hub& hub, const std::vector<int>& values) const {
  FormatSet demanded = 0;
  for (const PortView& view : hub.members) {
    const int format = view.format(values[at(view.variable)]);
    if (format != -1) demanded |= format_bit(format);
  }
  for (const int index : hub.inner) {
    const Hub& inner = elimination_.model().hubs[at(index)];
    demanded |= inner.sets[at(values[at(inner.variable)])];
  }
  return hub.sets[at(values[at(hub.variable)])] == (demanded & hub.tracked);
}

bool BestFirst::is_refused(int variable, const std::vector<int>& values) const {
  const std::vector<const Hub*>& closed = closed_[at(variable)];
  return std::any_of(closed.begin(), closed.end(),
                     [&](const Hub* hub) { return !is_tight(*hub, values); });
}

// Adds the part's best path, and what it splits the rest into; false: hubs make it cost more than
// was thought, which a new part says.
bool BestFirst::complete(const Part& part) {
  std::vector<int> values = paths_[part.path];
  if (part.position > 0) values[at(order_[part.position - 1])] = part.value;
  bool found = true;
  for (std::size_t p = part.position; found && p < order_.size(); ++p) {
    const int variable = order_[p];
    const std::vector<Cost> costs = elimination_.row(variable, values);
    const Cost least = *std::min_element(costs.begin(), costs.end());
    work_ -= static_cast<double>(costs.size());
    int best = -1;
    for (int value = 0; at(value) < costs.size(); ++value) {
      values[at(variable)] = value;
      if (!(costs[at(value)] < kInfinity) || is_refused(variable, values)) continue;
      if (best == -1 && costs[at(value)] == least)
        best = value;
      else
        push({part.cost + (costs[at(value)] - least), 0, paths_.size(), p + 1, value});
    }
    found = best != -1;
    values[at(variable)] = best;
  }
  paths_.push_back(std::move(values));
  return found;
}

bool BestFirst::next(Cost& cost, std::vector<int>& values) {
  while (!parts_.empty() && work_ > 0) {
    std::pop_heap(parts_.begin(), parts_.end(), Later());
    const Part part = parts_.back();
    parts_.pop_back();
    if (!complete(part)) continue;
    cost = part.cost;
    values = paths_.back();
    return true;
  }
  return false;
}

}  // namespace softneuro::dprs
