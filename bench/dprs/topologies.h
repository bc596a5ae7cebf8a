// The graphs of well-known nets as problems for the solver: the real connections, random times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dprs/dprs.h"

namespace softneuro::dprs {

// How many candidates a layer has.
struct Richness {
  int formats = 8;
  // Share of the (input format, output format) pairs with different formats that have a candidate;
  // those with the same always have one.
  double crossing = 0.3;
  // Share of the combinations of different formats per input that have one, for two or three
  // inputs.
  double mixed = 0;
};

struct Topology {
  std::string name;
  Problem problem;
};

// resnet50, inception_v3, vit_b_16, bert_base, densenet121, unet, unetpp, chain1000, and windowN
// for any N: 300 layers that each read one to three of the last N tensors. Empty for another name.
Problem make_topology(const std::string& name, const Richness& richness, std::uint64_t seed);
std::vector<std::string> topology_names();

}  // namespace softneuro::dprs
