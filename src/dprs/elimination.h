// Bucket elimination over (min, +): exact, in the order given.
//
// Each variable's bucket holds the factors and messages in which it is the first to go; its message
// is their sum, minimised over the variable, as a table over the others (the context). No argmins
// are stored: they are found again where they are needed, from the bucket at one context.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "dprs/model.h"
#include "dprs/order.h"

namespace softneuro::dprs {

class Elimination {
 public:
  // A table that a bucket sums: a factor of the model, or a child's message.
  struct Function {
    const Cost* table = nullptr;
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

  void run();  // fills the messages, which what follows needs

  Cost minimum() const;                  // infinite: there is no path
  std::vector<int> best_values() const;  // per variable, one minimiser
  // Per value of the variable, the least of what its bucket sums up to, the variables of its
  // context being at their values.
  std::vector<Cost> row(int variable, const std::vector<int>& values) const;
  const Model& model() const { return model_; }
  const Bucket& bucket(int variable) const { return buckets_[static_cast<std::size_t>(variable)]; }
  const std::vector<int>& sequence() const { return sequence_; }

 private:
  void link(int variable);
  void add_function(int variable, const std::vector<int>& scope, const Cost* table);
  void fill_message(int variable);

  const Model& model_;
  std::vector<int> sequence_;
  std::vector<int> position_;  // per variable
  std::vector<Bucket> buckets_;
};

// The assignments from the best on, each choice once, ties in some fixed order: Lawler's partition.
class BestFirst {
 public:
  // `elimination` has run; it and `work`, of which each step takes its part, outlive this.
  BestFirst(const Elimination& elimination, double& work);

  // False: there are no more, or no work is left.
  bool next(Cost& cost, std::vector<int>& values);

 private:
  // The assignments that begin like a path, then differ from it.
  struct Part {
    Cost cost = 0;           // of the best of them, hubs at any value
    std::size_t serial = 0;  // ties: first come, first served
    std::size_t path = 0;    // whose values hold before `position`
    std::size_t position = 0;
    int value = -1;
  };
  struct Later {
    bool operator()(const Part& a, const Part& b) const {
      return a.cost != b.cost ? a.cost > b.cost : a.serial > b.serial;
    }
  };

  void push(Part part);
  bool complete(const Part& part);
  bool is_tight(const Hub& hub, const std::vector<int>& values) const;
  bool is_refused(int variable, const std::vector<int>& values) const;

  const Elimination& elimination_;
  double& work_;
  std::vector<int> order_;                       // of assignment
  std::vector<std::vector<const Hub*>> closed_;  // per variable, hubs that are known with it
  std::vector<std::vector<int>> paths_;
  std::vector<Part> parts_;  // a heap
  std::size_t serial_ = 0;
};

}  // namespace softneuro::dprs
