// The problem as variables and factors: what elimination and the bounds work on.
//
// A layer's ports that always have the same format share one variable; ports that vary on their own
// get one each, joined by the layer's table of times. A tensor with one consumer is a factor over
// maker and consumer. A tensor with several is one factor over all of them (exact), or a hub: which
// formats are made available, as one variable per format (bits) or one over sets of formats (sets).
// Hubs cost more the more they offer, so that minimising makes them tight.
#pragma once

#include <cstddef>
#include <vector>

#include "dprs/dprs.h"
#include "dprs/path.h"

namespace softneuro::dprs {

// The costs that count: the problem's own, or weighed with the error, restricted to some candidates
// (infinite time: out), or penalised for memory. Shapes as in the problem.
struct Weights {
  std::vector<std::vector<Cost>> time;   // [layer][candidate]
  std::vector<std::vector<Cost>> adapt;  // [tensor], as Tensor::adapt
};
Weights weights_of(const Problem& problem);

// What does not depend on weights: who uses what, and which candidates look alike from outside.
struct Net {
  explicit Net(const Problem& problem);

  struct Port {
    bool is_input = false;
    int port = -1;
    int tensor = -1;
  };
  struct Signatures {
    std::vector<Port> ports;                // those that touch a tensor with a consumer
    std::vector<int> of_candidate;          // signature per candidate
    std::vector<std::vector<int>> formats;  // [signature][port]
  };

  const Problem& problem;
  std::vector<TensorUse> uses;
  std::vector<Signatures> layers;
};

struct Encoding {
  int exact = 2;  // tensors with up to so many consumers: one factor over maker and consumers
  // Hubs of up to so many sets are one variable over them, others one variable per format.
  std::size_t most_sets = 0;
  bool nested = true;  // containment between hubs instead of memberships
  // Sets have up to so many formats. Where more are demanded of a tensor, paths are left out.
  int most_formats = kMaxFormats;
  int ranks = 1;             // tell apart up to so many candidates with the same formats (k best)
  bool scopes_only = false;  // tensors' factors without tables: to find an order
};

struct Factor {
  std::vector<int> scope;   // variables, each once
  std::vector<Cost> table;  // row-major
};

struct Variable {
  int size = 0;
  bool is_choice = false;  // else a hub's, which follows from the choices
};

// A port's format as a function of a variable's value; variable -1: always formats[0].
struct PortView {
  int variable = -1;
  std::vector<int> formats;
  bool operator==(const PortView&) const = default;
  int format(int value) const { return formats[static_cast<std::size_t>(value)]; }
};

// What is made available of a tensor, and who demands of it.
struct Hub {
  int variable = -1;
  FormatSet tracked = 0;          // formats that it speaks of
  std::vector<FormatSet> sets;    // per value
  std::vector<PortView> members;  // consumers for which no inner hub stands
  std::vector<int> inner;         // hubs whose demands it has, too
};

struct Model {
  struct LayerTable {
    std::vector<int> variables;
    std::vector<int> candidates;  // row-major over the variables; -1: no such candidate
  };
  std::vector<Variable> variables;
  std::vector<Factor> factors;
  Cost constant = 0;  // infinite: no path exists
  std::vector<LayerTable> layers;
  std::vector<Hub> hubs;
  int most_consumers = 0;  // of the tensors that need a hub or an exact factor

  // The candidate per layer that the variables' values mean.
  std::vector<int> choice(const std::vector<int>& values) const;
};

Model build_model(const Net& net, const Weights& weights, const Encoding& encoding);

}  // namespace softneuro::dprs
