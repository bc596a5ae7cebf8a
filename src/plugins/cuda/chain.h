// Element-wise chains on the GPU.
#pragma once

#include <memory>

#include "core/routine/routine.h"
#include "plugins/cuda/chain_source.h"
#include "plugins/cuda/cuda_stream.h"
#include "plugins/cuda/packed_constants.h"

namespace softneuro::cuda {

// A chain over the elements of output 0 of one problem, compiled. Immutable.
class Chain {
 public:
  // Whether create() can be had: everything is float32 and plain.
  static Applicability supports(const Problem& problem, const std::vector<PostOp>& ops);
  // Its first operand is input `first`, or, for −1, output 0 itself. `ops`: their inputs are those
  // of the problem.
  static Result<Chain> create(Gpu& gpu, const Nvrtc& compiler, const Problem& problem, int first,
                              const std::vector<PostOp>& ops);

  // Puts the work into the context's stream. `constants` of the same problem.
  Status launch(Context& context, const PackedConstants& constants) const noexcept;

 private:
  explicit Chain(Gpu& gpu) : gpu_(&gpu) {}
  // The operand of the program that stands for input `input`; −1: output 0.
  Result<std::uint32_t> add_operand(const Problem& problem, int input);

  Gpu* gpu_;
  CUfunction kernel_ = nullptr;
  ChainProgram program_;
  std::vector<int> inputs_;       // by operand
  std::vector<ChainWalk> walks_;  // of the strided ones, in order
  std::int64_t count_ = 0;
};

}  // namespace softneuro::cuda
