// In which order to eliminate a model's variables, and what that will cost.
#pragma once

#include <vector>

#include "dprs/model.h"

namespace softneuro::dprs {

enum class OrderRule { min_weight, min_fill };

struct Order {
  std::vector<int> sequence;
  double cells = 0;       // of all messages: eight bytes each
  double work = 0;        // cells times the eliminated variable's size
  int width = 0;          // variables in a message at most
  bool complete = false;  // false: given up, more than `most_work` or kMostCells would be needed
};

// Of the messages of one elimination: 256 MiB.
inline constexpr double kMostCells = 1 << 25;

// Greedy: always the variable that makes the smallest table (min_weight), or that joins the fewest
// pairs (min_fill; then the smallest table). Stops where it would cost too much.
Order find_order(const Model& model, OrderRule rule, double most_work);

}  // namespace softneuro::dprs
