// What 8 bits do to each layer of a net: a report for people, and a proxy for the solver.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "softneuro/net.h"

namespace softneuro {

struct LayerNoise {
  LayerId layer = 0;
  std::string name;
  // Power of the error of the layer's output 0 in relation to the output's own power, if this layer
  // alone computes in 8 bits: inputs, weights and output rounded, sums exact. 0: no error at all.
  double noise = 0;

  // 10 · log10(1 / noise), in dB; infinite where there is no noise.
  double signal_to_noise() const;
};

// For every layer of `graph` whose output 0 and at least one real input have a quantisation per
// tensor, those with the most noise first. `graph` is the net's own, annotated. The samples run
// once each in floating point, then layer by layer on one thread. Noise of several layers adds up
// as long as it is small, but a layer's noise may be amplified or drowned on its way to the net's
// outputs: what counts in the end has to be measured there.
// invalid_argument if there is no sample.
Result<std::vector<LayerNoise>> measure_layer_noise(const Net& net, const Graph& graph,
                                                    const std::vector<NamedTensors>& samples);

}  // namespace softneuro
