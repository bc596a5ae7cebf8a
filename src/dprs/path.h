// What a choice of candidates means: the formats made and demanded, hence the adapts, and what the
// path costs. The one place where the solver's answers are priced.
#pragma once

#include <cstdint>
#include <vector>

#include "dprs/dprs.h"

namespace softneuro::dprs {

// A number of the problem as an index.
inline std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

using FormatSet = std::uint64_t;
inline FormatSet format_bit(int format) {
  return FormatSet{1} << format;
}

// The layers and ports that touch a tensor.
struct TensorUse {
  int maker = -1;       // layer, -1: given from outside
  int maker_port = -1;  // its output port
  struct Consumer {
    int layer = -1;
    int port = -1;
  };
  std::vector<Consumer> consumers;  // in the layers' order
};
std::vector<TensorUse> find_uses(const Problem& problem);

// The adapts that `choice` needs, ordered by tensor, to; `uses` are find_uses(problem).
std::vector<Adapt> adapts_of(const Problem& problem, const std::vector<TensorUse>& uses,
                             const std::vector<int>& choice);
// Time of an adapt to another format; `times` as Tensor::adapt.
inline Cost adapt_cost(const std::vector<Cost>& times, int formats, int from, int to) {
  return times.empty() ? kInfinity : times[at(from * formats + to)];
}

// The path without checks; `uses` are find_uses(problem).
Path price(const Problem& problem, const std::vector<TensorUse>& uses,
           const std::vector<int>& choice);

// Peak of the bytes alive while the layers run in order: a tensor's format lives from the layer
// that makes it, or the first layer that wants it adapted, to its last use; wanted ones live to the
// end; tensors given from outside are the caller's (their adapts count). Plus the workspace of the
// layer that runs, and what all candidates keep. No packing losses: a lower bound.
std::size_t peak_memory(const Problem& problem, const std::vector<TensorUse>& uses,
                        const std::vector<int>& choice);
// The same before the maximum: bytes per layer, and at last those that are wanted by the outside.
std::vector<std::size_t> memory_profile(const Problem& problem, const std::vector<TensorUse>& uses,
                                        const std::vector<int>& choice);

}  // namespace softneuro::dprs
