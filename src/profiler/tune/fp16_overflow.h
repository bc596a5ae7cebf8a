// Which layers 16-bit types cannot hold: float16's largest number is 65504, and bfloat16's a little
// less than float32's, with which masks are filled.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/plan/runtime.h"
#include "profiler/select/candidates.h"

namespace softneuro {

// What runs with default choices have shown of a graph's tensors.
class Fp16Overflow {
 public:
  // `inputs`: sets of inputs in the order of the graph's inputs.
  static Result<Fp16Overflow> measure(const std::shared_ptr<Runtime>& runtime,
                                      const std::shared_ptr<const Graph>& graph,
                                      std::span<const Shape> shapes,
                                      std::span<const std::vector<Tensor>> inputs);

  // Takes out candidates that store a tensor in 16 bits whose values come near to the largest
  // number, and those that sum in float16 what may pass it on the way. Layers that then have none
  // get those of float32. Gives the number of layers that lost some, by data type.
  Result<std::map<DataType, std::size_t>> drop_candidates(
      const RoutineContext& context, const NetProblems& problems, const CandidateRules& rules,
      std::vector<LayerCandidates>& layers) const;

 private:
  bool fits(const LayerCandidates& layer, const Candidate& candidate) const;

  std::vector<double> largest_;  // |x|, per tensor; 0 where nothing is known
};

}  // namespace softneuro
