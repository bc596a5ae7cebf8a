// A relaxation that elimination can afford: where a table would be too large, the variable is split
// into copies that may disagree (mini-buckets). Its minimum bounds the model's from below; prices
// on disagreement raise it (Lagrangian decomposition).
#pragma once

#include <optional>
#include <vector>

#include "dprs/elimination.h"
#include "dprs/model.h"
#include "dprs/order.h"

namespace softneuro::dprs {

struct Relaxation {
  // The variables that the model had, then copies. Every variable has exactly one unary factor, the
  // factor of its own number; a variable's is shared out evenly among its copies.
  Model model;
  Order order;
  std::vector<std::vector<int>> copies;  // per variable of the original, itself first
  bool is_exact() const { return model.variables.size() == copies.size(); }  // nothing was split
};

// The relaxation with the largest tables whose elimination stays within `most_cells` (messages, all
// together) and `most_work`; none if even the smallest does not. `order` is complete, of `model`'s
// variables.
std::optional<Relaxation> relax(const Model& model, const Order& order, double most_cells,
                                double most_work);

// One step: eliminates, and moves costs between copies that disagree, `pace` of the Polyak step
// towards `target`. False: the deadline passed, nothing was changed.
struct Step {
  Cost bound = 0;
  std::vector<int> values;  // of the original variables, the first copies'
  bool all_agree = false;   // then values are a minimiser of the model itself
};
bool price_step(Relaxation& relaxation, Cost target, double pace, Deadline deadline, Step& step);

}  // namespace softneuro::dprs
