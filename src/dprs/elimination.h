// Bucket elimination over (min, +): exact, in the order given.
//
// Each variable's bucket holds the factors and messages in which it is the first to go; its message
// is their sum, minimised over the variable, as a table over the others (the context). No argmins
// are stored: they are found again where they are needed, from the bucket at one context.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "dprs/model.h"
#include "dprs/order.h"

namespace softneuro::dprs {

using Deadline = std::chrono::steady_clock::time_point;
inline bool passed(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}

class Elimination {
 public:
  // A table that a bucket sums: a factor of the model, or a child's message.
  struct Function {
    const Cost* table = nullptr;
    int child = -1;                    // variable whose message it is; -1: a factor
    std::size_t stride = 0;            // of the bucket's variable
    std::vector<std::size_t> strides;  // of the context's; 0: does not depend on it
  };
  struct Bucket {
    std::vector<int> context;  // in the order of elimination
    std::vector<Function> functions;
    std::vector<int> children;
    std::vector<Cost> message;  // row-major over context
  };

  // `model` must outlive this. `order` is complete.
  Elimination(const Model& model, const Order& order);

  // Fills the messages; false: the deadline passed on the way.
  bool run(Deadline deadline);

  // What follows needs run() to have returned true.
  Cost minimum() const;                  // infinite: there is no path
  std::vector<int> best_values() const;  // per variable, one minimiser
  const Model& model() const { return model_; }
  const Bucket& bucket(int variable) const { return buckets_[static_cast<std::size_t>(variable)]; }
  int parent(int variable) const;  // variable in whose bucket the message lies; -1: a root
  const std::vector<int>& sequence() const { return sequence_; }

 private:
  void link(int variable);
  void add_function(int variable, const std::vector<int>& scope, const Cost* table, int child);
  bool fill_message(int variable, Deadline deadline);

  const Model& model_;
  std::vector<int> sequence_;
  std::vector<int> position_;  // per variable
  std::vector<Bucket> buckets_;
};

// The best assignments of the choice variables, one after the other, ties in some fixed order:
// Lawler's partition, each part's best found by one pass down the buckets in which only hubs are
// tables.
class BestFirst {
 public:
  // `elimination` has run and outlives this.
  explicit BestFirst(const Elimination& elimination);

  // False: there are no more. `values` are those of the choice variables (hubs: unspecified).
  bool next(Cost& cost, std::vector<int>& values);

 private:
  class Pass;
  struct Part {
    Cost cost = 0;
    std::size_t serial = 0;    // ties: first come, first served
    std::size_t solution = 0;  // whose values hold before `position`
    std::size_t position = 0;  // in the pass's order
    int value = -1;
  };
  struct Later {
    bool operator()(const Part& a, const Part& b) const {
      return a.cost != b.cost ? a.cost > b.cost : a.serial > b.serial;
    }
  };

  const Elimination& elimination_;
  std::vector<std::pair<int, bool>> events_;  // variable entered (true) or left, depth first
  std::vector<std::vector<int>> solutions_;
  std::vector<Part> parts_;  // a heap
  std::size_t serial_ = 0;
  bool started_ = false;
};

}  // namespace softneuro::dprs
