// A convolution as oneDNN is asked for it, whatever the data types: which implementations there
// are, how its weights lie, the kernel.
#pragma once

#include <memory>

#include "core/routine.h"
#include "plugins/onednn/conv_pieces.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/piece_kernel.h"

namespace softneuro::onednn {

// The data types and numbers of one problem.
struct ConvTask {
  ConvShape shape;
  dnnl::memory::data_type x = dnnl::memory::data_type::f32;
  dnnl::memory::data_type weights = dnnl::memory::data_type::f32;
  dnnl::memory::data_type y = dnnl::memory::data_type::f32;
  bool bias = false;          // float32
  std::vector<float> scales;  // what sums are multiplied by, per output channel; empty: 1
  std::int32_t x_zero_point = 0;
};

// One way to compute it: a point of the routine's parameter space.
struct ConvChoice {
  std::string impl;
  std::int64_t split = 1;
  std::size_t fused = 0;  // post-ops that the library does itself
};

// `ways`: what to fuse, best first. All that the library has, each implementation with the first
// of `ways` for which it exists. A split that cannot be made of it is left out.
std::vector<ConvChoice> conv_choices(const ConvTask& task, std::span<const FusedOps> ways,
                                     int threads);

// `impl` and `split`; what conv_choices() found is all that is allowed.
ParamSpace conv_param_space(const std::vector<ConvChoice>& choices);
RoutineParams conv_params(const ConvChoice& choice);
// Null if params name none of `choices`.
const ConvChoice* find_choice(const std::vector<ConvChoice>& choices, const RoutineParams& params);

// The primitives of a choice, one per piece, and where the weights of each lie in packed bytes.
class ConvWork {
 public:
  // `ops`: those of the choice.
  static Result<ConvWork> make(const ConvTask& task, const ConvChoice& choice, const FusedOps& ops);

  // Differs where the packed weights do.
  std::string pack_key() const;
  std::size_t packed_bytes() const { return packed_bytes_; }
  // Reorders weights [M, C/group, K…], plain and of the task's type, to `packed`.
  Status pack(const void* weights, std::byte* packed) const;

  struct Constants {
    Tensor packed;            // begins with what pack() wrote
    Tensor bias;              // float32 per output channel, if the task has one …
    std::size_t bias_at = 0;  // … from this byte on
  };
  Result<std::unique_ptr<Kernel>> kernel(Constants constants, const FusedOps& ops,
                                         PostOpProgram tail) const;

 private:
  struct Part {
    ConvPiece piece;
    dnnl::primitive_desc_base desc;
    dnnl::memory::desc weights;
    std::size_t weights_at = 0;  // in the packed bytes
  };

  dnnl::memory::desc plain_weights(const ConvPiece& piece) const;
  Argument operand(const FusedStep& step, int position, const ConvPiece& piece) const;

  ConvTask task_;
  std::vector<Part> parts_;
  std::size_t packed_bytes_ = 0;
};

}  // namespace softneuro::onednn
