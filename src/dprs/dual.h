// A lower bound by reparametrisation (sequential reweighted message passing, TRW-S for pairs): the
// model's costs are moved between factors and variables, which changes no assignment's cost, until
// the sum of all the tables' minima, a bound on every assignment, stops rising.
#pragma once

#include <vector>

#include "dprs/model.h"

namespace softneuro::dprs {

class Dual {
 public:
  // `model` outlives this; impossible entries count as `big`, which must exceed any cost of
  // interest: the bound holds for all assignments that cost less.
  Dual(const Model& model, Cost big);

  void iterate();  // once forward, once backward
  Cost bound() const;

  // The model with its costs as they lie now: every assignment costs the same.
  Model reparametrised() const;

  // The variables' values one after the other, each the best given those before it.
  std::vector<int> decode() const;

  // bound() rises by at least this much where the variable takes the value.
  std::vector<Cost> excess(int variable) const;
  // The value is out from here on; the bound stays one for what is left.
  void forbid(int variable, int value);

 private:
  struct Place {
    int factor = -1;  // index of factors_
    std::size_t stride = 0;
    bool is_first = false;  // no variable of the factor comes before
    bool is_last = false;
  };
  struct Table {
    const Factor* factor = nullptr;
    std::vector<Cost> costs;
  };

  std::vector<int> find_sweep();
  void visit(int variable, bool forward);
  std::vector<Cost>& min_marginal(const Place& place, int size) const;
  void add(const Place& place, int size, const std::vector<Cost>& costs, double weight);

  const Model& model_;
  Cost big_;
  std::vector<std::vector<Cost>> unary_;
  std::vector<Table> tables_;
  std::vector<std::vector<Place>> places_;  // per variable
  std::vector<int> order_;
  mutable std::vector<Cost> scratch_;
};

}  // namespace softneuro::dprs
