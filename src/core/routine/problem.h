// Problem: everything that a routine may look at before it says whether it applies.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"

namespace softneuro {

// One input or output of a problem. Shapes are concrete.
struct TensorSpec {
  DataType type = DataType::undefined;  // undefined: left out
  Layout layout = Layout::plain;
  Shape shape;
  bool constant = false;  // weights: the value never changes
  Tensor value;           // given for constants and for value inputs, else empty
  std::optional<Quantization> quantization;
  DeviceId device;  // constants are on the host: routines of other devices take them in pack()

  bool present() const { return type != DataType::undefined; }
};

struct Problem {
  const LayerType* type = nullptr;
  std::string layer_name;  // for messages only; not part of the key
  Params params;           // complete: LayerType::check_params has run
  std::vector<PostOp> post_ops;
  std::vector<TensorSpec> inputs;   // layer inputs, then those of post-ops
  std::vector<TensorSpec> outputs;  // data-dependent outputs: shape of rank 0, see LayerType
  std::uint32_t layer_inputs = 0;
  bool has_input(std::size_t i) const { return i < layer_inputs && inputs[i].present(); }
  // The integers of a value input; empty if left out. Precondition: input i is a value input.
  SN_INTREE std::vector<std::int64_t> integers(std::size_t i) const;

  // "conv2{group=1,…;post=relu} float32[1x3x224x224] float32*[64x3x3x3] -> float32[1x64x…]"
  // (* marks constants). Log line, key of the profile cache and name of the test.
  SN_INTREE std::string str() const;
};
using ProblemPtr = std::shared_ptr<const Problem>;

// `problem` without its post-ops and their inputs.
SN_INTREE Problem without_post_ops(const Problem& problem);

// For keys of measurements and packings: the quantisations of the problem's qint8 tensors, in
// order, which str() leaves out; packed weights and errors depend on them. Empty if there are none.
std::string quantization_key(const Problem& problem);

}  // namespace softneuro
