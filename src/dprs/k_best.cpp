// BestFirst: Lawler's partition on the bucket tree.
//
// The buckets are visited depth first, roots first. A solution splits what is left into parts: "as
// this solution up to here, then another value", each with the exact cost of its best member. A
// pass fixes the choice variables one by one; what is not fixed yet is summed up in the messages,
// and hubs, which are no choice, are minimised over: outside(v) is a table over the hubs in v's
// context (everything that is not below v), inside(v) the same for the subtree once it is fixed.
#include <algorithm>

#include "dprs/elimination.h"

namespace softneuro::dprs {
namespace {

// A table seen from a grid of hubs: cell of the table = offset + sum of strides * coordinates.
struct Term {
  const Cost* table = nullptr;
  std::size_t offset = 0;
  std::vector<std::size_t> strides;
};

// result[cell by `target`'s strides] = min over the grid of the terms' sum.
void minimise(const std::vector<std::size_t>& sizes, std::vector<Term>& terms, Term target,
              std::vector<Cost>& result) {
  std::vector<std::size_t> counter(sizes.size(), 0);
  for (bool more = true; more;) {
    Cost sum = 0;
    for (const Term& term : terms) sum += term.table[term.offset];
    result[target.offset] = std::min(result[target.offset], sum);
    more = false;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const bool carry = ++counter[d] == sizes[d];
      auto step = [&](Term& term) {
        term.offset =
            carry ? term.offset - term.strides[d] * (sizes[d] - 1) : term.offset + term.strides[d];
      };
      for (Term& term : terms) step(term);
      step(target);
      if (!carry) {
        more = true;
        break;
      }
      counter[d] = 0;
    }
  }
}

}  // namespace

class BestFirst::Pass {
 public:
  Pass(BestFirst& owner, const Part* part)
      : owner_(owner),
        elimination_(owner.elimination_),
        model_(elimination_.model()),
        part_(part),
        values_(model_.variables.size(), 0),
        left_(values_.size(), false),
        outside_(values_.size()),
        inside_(values_.size()) {}

  // The part's best solution; pushes the parts that it splits the rest into.
  std::vector<int> run() {
    const std::size_t number = owner_.solutions_.size();
    for (std::size_t e = 0; e < owner_.events_.size(); ++e) {
      const auto [variable, entered] = owner_.events_[e];
      if (!entered) {
        leave(variable);
        continue;
      }
      outside_[at(variable)] = outside(variable);
      if (model_.variables[at(variable)].is_choice) choose(variable, e, number);
    }
    return std::move(values_);
  }

 private:
  bool is_hub(int variable) const { return !model_.variables[at(variable)].is_choice; }

  std::vector<int> hubs(int variable) const {
    std::vector<int> result;
    for (const int other : elimination_.bucket(variable).context)
      if (is_hub(other)) result.push_back(other);
    return result;
  }
  std::vector<std::size_t> sizes(const std::vector<int>& grid) const {
    std::vector<std::size_t> result;
    result.reserve(grid.size());
    for (const int hub : grid) result.push_back(at(model_.variables[at(hub)].size));
    return result;
  }
  std::size_t cells(const std::vector<int>& grid) const {
    std::size_t count = 1;
    for (const std::size_t size : sizes(grid)) count *= size;
    return count;
  }

  // A table over `table_hubs`, row-major, on the grid.
  Term term_over(const Cost* table, const std::vector<int>& table_hubs,
                 const std::vector<int>& grid) const {
    Term term{table, 0, std::vector<std::size_t>(grid.size(), 0)};
    std::size_t stride = 1;
    for (std::size_t d = table_hubs.size(); d-- > 0;) {
      const auto place = std::find(grid.begin(), grid.end(), table_hubs[d]);
      term.strides[at(static_cast<int>(place - grid.begin()))] = stride;
      stride *= at(model_.variables[at(table_hubs[d])].size);
    }
    return term;
  }

  // A function of `variable`'s bucket on the grid, the choices at their values.
  Term term_of(const Elimination::Function& function, int variable,
               const std::vector<int>& grid) const {
    Term term{function.table, 0, std::vector<std::size_t>(grid.size(), 0)};
    auto place = [&](int of, std::size_t stride) {
      if (!is_hub(of))
        term.offset += stride * at(values_[at(of)]);
      else
        term.strides[at(
            static_cast<int>(std::find(grid.begin(), grid.end(), of) - grid.begin()))] += stride;
    };
    const std::vector<int>& context = elimination_.bucket(variable).context;
    place(variable, function.stride);
    for (std::size_t d = 0; d < context.size(); ++d) place(context[d], function.strides[d]);
    return term;
  }

  // The bucket's functions on the grid: subtrees that were left as they are fixed now, the others
  // by their messages, `except` not at all.
  void add_bucket(int variable, int except, const std::vector<int>& grid,
                  std::vector<Term>& terms) const {
    for (const Elimination::Function& function : elimination_.bucket(variable).functions) {
      const int child = function.child;
      if (child != -1 && child == except) continue;
      if (child != -1 && left_[at(child)])
        terms.push_back(term_over(inside_[at(child)].data(), hubs(child), grid));
      else
        terms.push_back(term_of(function, variable, grid));
    }
  }

  std::vector<Cost> outside(int variable) const {
    const int parent = elimination_.parent(variable);
    if (parent == -1) return {outside_of_root(variable)};
    std::vector<int> grid = hubs(parent);
    std::vector<Term> terms = {term_over(outside_[at(parent)].data(), grid, grid)};
    if (is_hub(parent)) {
      grid.push_back(parent);
      terms[0].strides.push_back(0);
    }
    add_bucket(parent, variable, grid, terms);
    const std::vector<int> kept = hubs(variable);
    std::vector<Cost> result(cells(kept), kInfinity);
    minimise(sizes(grid), terms, term_over(nullptr, kept, grid), result);
    return result;
  }

  Cost outside_of_root(int root) const {
    Cost sum = model_.constant;
    for (const int other : elimination_.sequence())
      if (other != root && elimination_.parent(other) == -1)
        sum += left_[at(other)] ? inside_[at(other)][0] : elimination_.bucket(other).message[0];
    return sum;
  }

  // Fixes a choice variable, and splits off what its other values would cost.
  void choose(int variable, std::size_t position, std::size_t solution) {
    const bool before = part_ != nullptr && position < part_->position;
    if (before || (part_ != nullptr && position == part_->position)) {
      values_[at(variable)] =
          before ? owner_.solutions_[part_->solution][at(variable)] : part_->value;
      return;
    }
    const std::vector<int> grid = hubs(variable);
    std::vector<Cost> costs;
    for (int value = 0; value < model_.variables[at(variable)].size; ++value) {
      values_[at(variable)] = value;
      std::vector<Term> terms = {term_over(outside_[at(variable)].data(), grid, grid)};
      add_bucket(variable, -1, grid, terms);
      std::vector<Cost> least = {kInfinity};
      minimise(sizes(grid), terms, term_over(nullptr, {}, grid), least);
      costs.push_back(least[0]);
    }
    const int best = static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    values_[at(variable)] = best;
    for (int value = 0; at(value) < costs.size(); ++value) {
      if (value == best || !(costs[at(value)] < kInfinity)) continue;
      owner_.parts_.push_back({costs[at(value)], owner_.serial_++, solution, position, value});
      std::push_heap(owner_.parts_.begin(), owner_.parts_.end(), Later());
    }
  }

  void leave(int variable) {
    std::vector<int> grid = hubs(variable);
    const std::vector<int> kept = grid;
    if (is_hub(variable)) grid.push_back(variable);
    std::vector<Term> terms;
    add_bucket(variable, -1, grid, terms);
    std::vector<Cost>& result = inside_[at(variable)];
    result.assign(cells(kept), kInfinity);
    minimise(sizes(grid), terms, term_over(nullptr, kept, grid), result);
    left_[at(variable)] = true;
  }

  BestFirst& owner_;
  const Elimination& elimination_;
  const Model& model_;
  const Part* part_;
  std::vector<int> values_;
  std::vector<bool> left_;
  std::vector<std::vector<Cost>> outside_;
  std::vector<std::vector<Cost>> inside_;
};

BestFirst::BestFirst(const Elimination& elimination) : elimination_(elimination) {
  // Depth first without recursion: a chain's tree is as deep as the chain is long.
  std::vector<std::pair<int, bool>> stack;
  for (const int variable : elimination.sequence())
    if (elimination.parent(variable) == -1) stack.emplace_back(variable, true);
  while (!stack.empty()) {
    const auto [variable, entered] = stack.back();
    stack.pop_back();
    events_.emplace_back(variable, entered);
    if (!entered) continue;
    stack.emplace_back(variable, false);
    for (const int child : elimination.bucket(variable).children) stack.emplace_back(child, true);
  }
}

bool BestFirst::next(Cost& cost, std::vector<int>& values) {
  Part part;
  if (started_) {
    if (parts_.empty()) return false;
    std::pop_heap(parts_.begin(), parts_.end(), Later());
    part = parts_.back();
    parts_.pop_back();
    cost = part.cost;
  } else {
    cost = elimination_.minimum();
    if (!(cost < kInfinity)) return false;
  }
  solutions_.push_back(Pass(*this, started_ ? &part : nullptr).run());
  started_ = true;
  values = solutions_.back();
  return true;
}

}  // namespace softneuro::dprs
