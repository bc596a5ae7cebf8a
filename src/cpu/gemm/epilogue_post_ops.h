// Bias and post-ops of products that are computed tile by tile: what micro-kernels do while the
// tile is in registers, and the rest, done while it is in the cache.
#pragma once

#include <limits>

#include "cpu/gemm/micro_kernels.h"
#include "cpu/post_ops/post_ops.h"

namespace softneuro {

// The post-ops of one problem. An addition of a tensor of the output's own shape and format
// begins the sums; a clip or relu that follows (or comes first) ends them.
class EpiloguePostOps {
 public:
  EpiloguePostOps() = default;
  // takes_addend = false: for kernels that have no place for it; `type`: what it must be of.
  // Precondition: PostOpProgram::supports(problem), or supports_in_float32(problem).
  static Result<EpiloguePostOps> create(const Problem& problem, bool takes_addend = true,
                                        DataType type = DataType::float32);

  // For the tile that begins at element `offset` of the output's memory: where the addition comes
  // from (null: there is none).
  // T: the type given to create().
  template <class T = float>
  const T* addend(std::span<const TensorView> inputs, std::int64_t offset) const noexcept {
    return addend_ < 0 ? nullptr : inputs[static_cast<std::size_t>(addend_)].as<T>() + offset;
  }
  // The addition's input if the output may take its memory: every element is read before it is
  // written, and no other input can be the same tensor. −1: none.
  int in_place_input() const noexcept { return in_place_ ? addend_ : -1; }
  bool clamps() const noexcept { return clamp_; }
  // Infinite where nothing clamps.
  float low() const noexcept { return low_; }
  float high() const noexcept { return high_; }
  // What is left to do on memory.
  const PostOpProgram& rest() const noexcept { return rest_; }

 private:
  int addend_ = -1;  // input
  bool in_place_ = false;
  bool clamp_ = false;
  float low_ = -std::numeric_limits<float>::infinity();
  float high_ = std::numeric_limits<float>::infinity();
  PostOpProgram rest_;
};

// The bias of `matrices` products, `columns` each, padded with zeros so that tiles can read whole
// panels.
class EpilogueBias {
 public:
  EpilogueBias() = default;  // none
  // Input `input` of the problem: a constant is copied now, else prepare() does it at run time.
  static Result<EpilogueBias> create(const Problem& problem, std::size_t input,
                                     std::int64_t matrices, std::int64_t columns);

  // Floats of workspace that prepare() needs.
  std::int64_t workspace_floats() const noexcept { return at_run_time_ ? floats() : 0; }
  // The padded bias (null: none), valid as long as `workspace` and this object.
  const float* prepare(const Context& context, float* workspace) const noexcept;
  // From one product's bias to the next.
  std::int64_t stride() const noexcept {
    return (columns_ + kTilePanel - 1) / kTilePanel * kTilePanel;
  }

 private:
  std::int64_t floats() const noexcept { return matrices_ * stride(); }
  void pad(const float* from, float* to) const noexcept;

  std::size_t input_ = 0;
  std::int64_t matrices_ = 0, columns_ = 0;
  bool at_run_time_ = false;
  Tensor constant_;
};

}  // namespace softneuro
