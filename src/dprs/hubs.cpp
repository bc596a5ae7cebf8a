#include "dprs/hubs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace softneuro::dprs {
namespace {

// An exact factor that would be larger than this is written as a hub.
constexpr std::size_t kExactCells = 1 << 16;

// The formats that the view may mean.
FormatSet wants(const PortView& view) {
  FormatSet set = 0;
  for (const int format : view.formats)
    if (format != -1) set |= format_bit(format);
  return set;
}

class TensorBuilder {
 public:
  TensorBuilder(const Problem& problem, const Weights& weights, const Encoding& encoding,
                Model& model)
      : problem_(problem), weights_(weights), encoding_(encoding), model_(model) {}

  void add(int tensor, const TensorPorts& ports);
  // Memberships and containments, once all hubs are known.
  void connect_hubs();

 private:
  // Of a hub in the model, as long as hubs are not connected.
  struct Ends {
    int format = -1;           // bits: the one that it stands for; sets: -1
    std::vector<int> members;  // consumers, as indices of views_, ascending
  };

  // Adapting to `to` costs this beyond what is spent anyway.
  Cost residual(int from, int to) const {
    if (to == -1 || (always_ >> to & 1) != 0 || from == to) return 0;
    const std::vector<Cost>& adapt = weights_.adapt[at(tensor_)];
    return adapt.empty() ? kInfinity : adapt[at(from * problem_.formats + to)];
  }
  Cost residuals(int from, FormatSet set) const {
    Cost sum = 0;
    for (int to = 0; set != 0; ++to, set >>= 1)
      if ((set & 1) != 0) sum += residual(from, to);
    return sum;
  }
  // The largest residual over the formats in which the tensor may be made.
  Cost worst_residual(int to) const {
    Cost worst = 0;
    for (const int from : maker_->formats) worst = std::max(worst, residual(from, to));
    return worst;
  }

  void split_demand(const TensorPorts& ports);
  void add_always();
  // A factor over the views' variables: `cost` of the views' formats.
  template <class F>
  void add_factor(const std::vector<const PortView*>& views, F&& cost);
  std::size_t cells(const std::vector<const PortView*>& views) const;

  void add_exact();
  void add_bits();
  bool add_sets();
  void add_hub(Hub hub, int format, const std::vector<const PortView*>& consumers);

  int view_number(const PortView& view);
  // The hub's variable, seen as the numbers of its values.
  static PortView values_of(const Hub& hub) {
    PortView view{hub.variable, std::vector<int>(hub.sets.size())};
    std::iota(view.formats.begin(), view.formats.end(), 0);
    return view;
  }

  bool may_contain(std::size_t outer, std::size_t inner) const;
  std::vector<std::size_t> inner_hubs(std::size_t outer) const;
  void add_membership(const Hub& hub, const PortView& view);
  void add_containment(const Hub& outer, const Hub& inner);

  const Problem& problem_;
  const Weights& weights_;
  const Encoding& encoding_;
  Model& model_;

  // The tensor at hand.
  int tensor_ = -1;
  const PortView* maker_ = nullptr;
  FormatSet always_ = 0;                    // demanded whatever is chosen
  std::vector<const PortView*> consumers_;  // those whose demand varies and may cost

  std::vector<Ends> ends_;  // per hub
  std::vector<PortView> views_;
  std::map<std::pair<int, std::vector<int>>, int> view_numbers_;
  std::vector<std::vector<std::size_t>> hubs_by_first_;  // per view, those whose first member it is
};

std::size_t TensorBuilder::cells(const std::vector<const PortView*>& views) const {
  std::vector<int> seen;
  std::size_t count = 1;
  for (const PortView* view : views) {
    if (view->variable == -1) continue;
    if (std::find(seen.begin(), seen.end(), view->variable) != seen.end()) continue;
    seen.push_back(view->variable);
    count *= at(model_.variables[at(view->variable)].size);
    if (count > kExactCells) return count;
  }
  return count;
}

template <class F>
void TensorBuilder::add_factor(const std::vector<const PortView*>& views, F&& cost) {
  Factor factor;
  std::vector<int> slot(views.size(), -1);  // per view, its place in the scope
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (views[v]->variable == -1) continue;
    const auto known = std::find(factor.scope.begin(), factor.scope.end(), views[v]->variable);
    slot[v] = static_cast<int>(known - factor.scope.begin());
    if (known == factor.scope.end()) factor.scope.push_back(views[v]->variable);
  }
  if (encoding_.scopes_only && !factor.scope.empty()) {
    model_.factors.push_back(std::move(factor));
    return;
  }
  std::vector<int> values(factor.scope.size(), 0);
  std::vector<int> formats(views.size());
  bool all_zero = true;
  for (bool more = true; more;) {
    for (std::size_t v = 0; v < views.size(); ++v)
      formats[v] = views[v]->format(slot[v] == -1 ? 0 : values[at(slot[v])]);
    factor.table.push_back(cost(formats));
    all_zero = all_zero && factor.table.back() == 0;
    more = false;
    for (std::size_t d = values.size(); d-- > 0;) {
      if (++values[d] < model_.variables[at(factor.scope[d])].size) {
        more = true;
        break;
      }
      values[d] = 0;
    }
  }
  if (all_zero) return;
  if (factor.scope.empty())
    model_.constant += factor.table[0];
  else
    model_.factors.push_back(std::move(factor));
}

// What is demanded whatever is chosen, and the consumers whose demand depends on the choice.
void TensorBuilder::split_demand(const TensorPorts& ports) {
  always_ = 0;
  consumers_.clear();
  for (const int format : problem_.tensors[at(tensor_)].wanted) always_ |= format_bit(format);
  for (const PortView& view : ports.consumers)
    if (view.variable == -1 && view.formats[0] != -1) always_ |= format_bit(view.formats[0]);
  for (const PortView& view : ports.consumers) {
    if (view.variable == -1) continue;
    const bool costs = std::any_of(view.formats.begin(), view.formats.end(),
                                   [&](int format) { return worst_residual(format) > 0; });
    const bool known = std::any_of(consumers_.begin(), consumers_.end(),
                                   [&](const PortView* other) { return *other == view; });
    if (costs && !known) consumers_.push_back(&view);
  }
}

void TensorBuilder::add_always() {
  if (always_ == 0) return;
  const FormatSet always = std::exchange(always_, 0);  // residual() shall not skip them
  add_factor({maker_},
             [&](const std::vector<int>& formats) { return residuals(formats[0], always); });
  always_ = always;
}

void TensorBuilder::add(int tensor, const TensorPorts& ports) {
  tensor_ = tensor;
  maker_ = &ports.maker;
  if (maker_->variable == -1 && maker_->formats[0] == -1) return;  // neither made nor wanted
  split_demand(ports);
  add_always();
  if (consumers_.empty()) return;
  const int count = static_cast<int>(consumers_.size());
  if (count > 1) model_.most_consumers = std::max(model_.most_consumers, count);
  std::vector<const PortView*> all = consumers_;
  all.push_back(maker_);
  const bool exact = count == 1 || (count <= encoding_.exact && cells(all) <= kExactCells);
  if (exact)
    add_exact();
  else if (!add_sets())
    add_bits();
}

void TensorBuilder::add_exact() {
  std::vector<const PortView*> views = {maker_};
  views.insert(views.end(), consumers_.begin(), consumers_.end());
  add_factor(views, [&](const std::vector<int>& formats) {
    FormatSet set = 0;
    for (std::size_t v = 1; v < formats.size(); ++v)
      if (formats[v] != -1) set |= format_bit(formats[v]);
    return residuals(formats[0], set);
  });
}

// One variable per format that two or more consumers may want; where only one may, the adapt is
// that consumer's and needs none.
void TensorBuilder::add_bits() {
  std::vector<FormatSet> alone(consumers_.size(), 0);
  for (int format = 0; format < problem_.formats; ++format) {
    if (worst_residual(format) == 0) continue;
    std::vector<const PortView*> who;
    std::size_t last = 0;
    for (std::size_t c = 0; c < consumers_.size(); ++c) {
      if ((wants(*consumers_[c]) >> format & 1) == 0) continue;
      who.push_back(consumers_[c]);
      last = c;
    }
    const FormatSet bit = format_bit(format);
    if (who.size() == 1)
      alone[last] |= bit;
    else if (who.size() > 1)
      add_hub({-1, bit, {0, bit}, {}, {}}, format, who);
  }
  for (std::size_t c = 0; c < consumers_.size(); ++c) {
    if (alone[c] == 0) continue;
    add_factor({maker_, consumers_[c]}, [&](const std::vector<int>& formats) {
      return formats[1] != -1 && (alone[c] >> formats[1] & 1) != 0
                 ? residual(formats[0], formats[1])
                 : 0;
    });
  }
}

// The hub's variable, what it costs, and whom it serves.
void TensorBuilder::add_hub(Hub hub, int format, const std::vector<const PortView*>& consumers) {
  hub.variable = static_cast<int>(model_.variables.size());
  model_.variables.push_back({static_cast<int>(hub.sets.size()), false});
  Ends ends = {format, {}};
  for (const PortView* view : consumers) ends.members.push_back(view_number(*view));
  std::sort(ends.members.begin(), ends.members.end());
  const PortView values = values_of(hub);
  add_factor({maker_, &values}, [&](const std::vector<int>& formats) {
    return residuals(formats[0], hub.sets[at(formats[1])]);
  });
  model_.hubs.push_back(std::move(hub));
  ends_.push_back(std::move(ends));
}

// Adds the sets of 1 to `most` of the formats, the smallest first; false: more than `most_sets`.
bool add_all_sets(const std::vector<int>& formats, std::size_t most, std::size_t most_sets,
                  std::vector<FormatSet>& sets) {
  std::vector<std::pair<FormatSet, std::size_t>> last = {{0, 0}};  // and what may be added
  for (std::size_t size = 1; size <= most; ++size) {
    std::vector<std::pair<FormatSet, std::size_t>> longer;
    for (const auto& [set, first] : last)
      for (std::size_t i = first; i < formats.size(); ++i) {
        if (sets.size() == most_sets) return false;
        longer.emplace_back(set | format_bit(formats[i]), i + 1);
        sets.push_back(longer.back().first);
      }
    last = std::move(longer);
  }
  return true;
}

// One variable over the sets of formats that may be demanded at once; false: too many.
bool TensorBuilder::add_sets() {
  if (encoding_.most_sets == 0) return false;
  Hub hub;
  std::vector<int> tracked;
  bool may_be_none = true;
  for (const PortView* view : consumers_) {
    const FormatSet wanted = wants(*view) & ~always_;
    hub.tracked |= wanted;
    may_be_none =
        may_be_none && std::any_of(view->formats.begin(), view->formats.end(),
                                   [&](int f) { return f == -1 || (always_ >> f & 1) != 0; });
  }
  for (int format = 0; format < problem_.formats; ++format)
    if ((hub.tracked >> format & 1) != 0) tracked.push_back(format);
  if (may_be_none) hub.sets.push_back(0);
  const std::size_t most =
      std::min({consumers_.size(), tracked.size(), at(encoding_.most_formats)});
  if (!add_all_sets(tracked, most, encoding_.most_sets, hub.sets)) return false;
  add_hub(std::move(hub), -1, consumers_);
  return true;
}

int TensorBuilder::view_number(const PortView& view) {
  const auto [entry, added] = view_numbers_.emplace(std::pair(view.variable, view.formats),
                                                    static_cast<int>(views_.size()));
  if (added) views_.push_back(view);
  return entry->second;
}

// Everything that `inner` offers, `outer` must offer: true where the inner's consumers are among
// the outer's, and the inner speaks of all formats that matter to the outer.
bool TensorBuilder::may_contain(std::size_t outer, std::size_t inner) const {
  const Ends& a = ends_[outer];
  const Ends& b = ends_[inner];
  if (outer == inner || a.format != b.format || b.members.size() > a.members.size()) return false;
  if (b.members.size() == a.members.size() && inner < outer) return false;  // no cycles
  if (!std::includes(a.members.begin(), a.members.end(), b.members.begin(), b.members.end()))
    return false;
  FormatSet wanted = 0;
  for (const int member : b.members) wanted |= wants(views_[at(member)]);
  return (model_.hubs[outer].tracked & wanted & ~model_.hubs[inner].tracked) == 0;
}

// Hubs that the outer one may contain as far as their size and first member tell, the largest
// first.
std::vector<std::size_t> TensorBuilder::inner_hubs(std::size_t outer) const {
  std::vector<std::size_t> inner;
  for (const int member : ends_[outer].members)
    for (const std::size_t hub : hubs_by_first_[at(member)])
      if (hub != outer && ends_[hub].format == ends_[outer].format) inner.push_back(hub);
  std::sort(inner.begin(), inner.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(ends_[b].members.size(), a) < std::pair(ends_[a].members.size(), b);
  });
  return inner;
}

void TensorBuilder::connect_hubs() {
  hubs_by_first_.resize(views_.size());
  for (std::size_t h = 0; h < ends_.size(); ++h)
    hubs_by_first_[at(ends_[h].members[0])].push_back(h);
  for (std::size_t h = 0; h < ends_.size(); ++h) {
    Hub& hub = model_.hubs[h];
    std::vector<int> open = ends_[h].members;
    if (encoding_.nested) {
      for (const std::size_t inner : inner_hubs(h)) {
        if (open.size() < 2) break;
        if (!may_contain(h, inner)) continue;
        std::vector<int> rest;
        std::set_difference(open.begin(), open.end(), ends_[inner].members.begin(),
                            ends_[inner].members.end(), std::back_inserter(rest));
        if (open.size() - rest.size() < 2) continue;
        hub.inner.push_back(static_cast<int>(inner));
        add_containment(hub, model_.hubs[inner]);
        open = std::move(rest);
      }
    }
    for (const int member : open) {
      hub.members.push_back(views_[at(member)]);
      add_membership(hub, hub.members.back());
    }
  }
}

void TensorBuilder::add_membership(const Hub& hub, const PortView& view) {
  const PortView values = values_of(hub);
  add_factor({&values, &view}, [&](const std::vector<int>& formats) {
    const FormatSet demand = formats[1] == -1 ? 0 : format_bit(formats[1]) & hub.tracked;
    return (demand & ~hub.sets[at(formats[0])]) == 0 ? 0 : kInfinity;
  });
}

void TensorBuilder::add_containment(const Hub& outer, const Hub& inner) {
  Factor factor;
  factor.scope = {outer.variable, inner.variable};
  if (!encoding_.scopes_only)
    for (const FormatSet offered : outer.sets)
      for (const FormatSet needed : inner.sets)
        factor.table.push_back((needed & outer.tracked & ~offered) == 0 ? 0 : kInfinity);
  model_.factors.push_back(std::move(factor));
}

}  // namespace

void add_tensors(const Problem& problem, const Weights& weights, const Encoding& encoding,
                 const std::vector<TensorPorts>& tensors, Model& model) {
  TensorBuilder builder(problem, weights, encoding, model);
  for (std::size_t t = 0; t < tensors.size(); ++t) builder.add(static_cast<int>(t), tensors[t]);
  builder.connect_hubs();
}

}  // namespace softneuro::dprs
