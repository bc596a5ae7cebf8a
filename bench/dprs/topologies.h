// The graphs of well-known nets as problems for the solver: the real connections and sizes, with
// times that a formula makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dprs/dprs.h"

namespace softneuro::dprs {

// How many candidates a layer has, and what they cost.
struct Richness {
  // machine: formats are layouts × data types × devices, routines are bound by arithmetic or by
  // memory and up to 40 % better or worse than that, adapts cost what their bytes do, and no
  // routine crosses devices. random: 50 to 150 for a convolution, a tenth for other layers, 7 to 23
  // for an adapt, whatever the formats are.
  enum class Costs { machine, random };
  Costs costs = Costs::machine;
  int formats = 8;
  // Share of the (input format, output format) pairs with different formats that have a candidate;
  // those with the same always have one.
  double crossing = 0.3;
  // Share of the combinations of different formats per input that have one, for two or three
  // inputs.
  double mixed = 0;
};

// resnet50, inception_v3, vit_b_16, bert_base, densenet121, unet, unetpp, chain1000, and windowN
// for any N: 300 layers that each read one to three of the last N tensors. Empty for another name.
Problem make_topology(const std::string& name, const Richness& richness, std::uint64_t seed);
std::vector<std::string> topology_names();

}  // namespace softneuro::dprs
