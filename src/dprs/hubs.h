// The tensors of a model: adapt times as factors, shared adapts counted once.
#pragma once

#include <vector>

#include "dprs/model.h"

namespace softneuro::dprs {

struct TensorPorts {
  PortView maker;  // formats {-1}: not made by any layer
  std::vector<PortView> consumers;
};

// Adds to `model` the factors (and hub variables) of all tensors.
void add_tensors(const Problem& problem, const Weights& weights, const Encoding& encoding,
                 const std::vector<TensorPorts>& tensors, Model& model);

}  // namespace softneuro::dprs
