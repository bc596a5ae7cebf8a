// LayerType: the meaning of a kind of layer – inputs, parameters, and shape inference.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace softneuro {

// One declared parameter of a layer type.
struct ParamSpec {
  std::string name;
  ParamKind kind;
  ParamValue fallback;    // taken where a layer leaves it out
  std::string doc;        // meaning, unit, allowed values
  bool required = false;  // no fallback: a layer without it is invalid
};

// An element of an integer tensor, as far as it is known: its value, or a symbol for it (that of
// a dimension; equal symbols mean equal values), or nothing.
struct KnownInteger {
  std::optional<std::int64_t> value;
  std::string symbol;

  // As a dimension; unknown if it is negative.
  Dim dim() const { return value ? Dim(*value) : Dim(symbol); }
};

// What LayerType::infer sees and fills in. The same function serves before shapes are known
// (dimensions and values may be missing) and at planning time (all is known but data-dependent
// values). Missing knowledge gives unknown dimensions, never an error; contradictions are errors.
class SN_INTREE InferContext {
 public:
  struct Input {
    DataType type = DataType::undefined;  // undefined: the optional input is left out
    DynamicShape shape;
    const Tensor* value = nullptr;  // known value (a constant), or null
    // What is known of the elements, in order, where not all are; or null.
    const std::vector<KnownInteger>* elements = nullptr;
  };
  struct Output {
    DataType type = DataType::undefined;
    DynamicShape shape;
  };

  InferContext(const Params& params, std::span<const Input> inputs, std::span<Output> outputs)
      : params_(params), inputs_(inputs), outputs_(outputs) {}

  const Params& params() const { return params_; }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  // Input i is given (in range and not left out).
  bool has_input(std::size_t i) const {
    return i < inputs_.size() && inputs_[i].type != DataType::undefined;
  }
  const Input& input(std::size_t i) const { return inputs_[i]; }
  const DynamicShape& shape(std::size_t i) const { return inputs_[i].shape; }
  DataType type(std::size_t i) const { return inputs_[i].type; }
  // The integers of input i (int32 or int64 tensor of any rank), if its value is known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;
  // The same where only some of them are known, or stand for dimensions known by name (a shape
  // put together from another tensor's); all their places are there.
  std::optional<std::vector<KnownInteger>> known_integers(std::size_t i) const;
  void set_output(std::size_t i, DataType type, DynamicShape shape) {
    if (i < outputs_.size()) outputs_[i] = {type, std::move(shape)};
  }

  // --- checks that most layer types share; each error names the input ---------------------------
  Status expect_rank(std::size_t i, int rank) const;  // unknown rank passes
  Status expect_min_rank(std::size_t i, int rank) const;
  Status expect_type(std::size_t i, std::span<const DataType> allowed) const;
  Status expect_same_type(std::size_t i, std::size_t j) const;

 private:
  const Params& params_;
  std::span<const Input> inputs_;
  std::span<Output> outputs_;
};

// Axis in [−rank, rank) → [0, rank); an error otherwise.
SN_INTREE Result<int> normalize_axis(std::int64_t axis, int rank);
// Numpy broadcasting of two shapes, unknown dimensions included.
SN_INTREE Result<DynamicShape> broadcast(const DynamicShape& a, const DynamicShape& b);
SN_INTREE Result<Shape> broadcast(const Shape& a, const Shape& b);
// The integers of an int32 or int64 tensor (any rank); nothing for other types.
SN_INTREE std::optional<std::vector<std::int64_t>> integers_of(const Tensor& tensor);

struct LayerType {
  std::string name;  // "conv2"
  std::string doc;   // one paragraph: meaning, inputs, outputs, shapes
  std::vector<ParamSpec> params;
  int min_inputs = 1;
  int max_inputs = 1;  // −1: any number
  int min_outputs = 1;
  int max_outputs = 1;  // −1: any number
  // Bit i: shape inference and kernels need the *value* of input i (reshape's shape, slice's
  // starts…). Kernels find it in Problem::inputs[i].value; where it is known only at run time the
  // plan makes the kernel then. Inputs from 31 on cannot be value inputs.
  std::uint32_t value_inputs = 0;
  // The output is the input's bytes under another shape (reshape, identity…): planned as a view.
  bool is_view = false;
  // Outputs depend on the shapes of the inputs only (shape, size): folded while planning.
  bool reads_shape_only = false;
  // Output shapes depend on input data even beyond value inputs (nonzero, unique…): the kernel
  // asks the context for memory of the right size at run time.
  bool data_dependent_output = false;
  // Output 0 has the shape of input 0 (or their broadcast) and each element depends on the same
  // element of the inputs only: may run in place, may be fused as a post-op.
  bool elementwise = false;
  // Rounding to the output's data type is what the layer is for (cast): a real output of 16 bits
  // keeps its type in every schema.
  bool rounds_to_type = false;
  // A run that is cancelled need not end the layer: kernels leave out tasks (parallel_for). No task
  // may take an index or a size from what another one wrote. For types that work on each byte for
  // long: sums of products, windows.
  bool cancellable = false;
  // Fills outputs from inputs, or says which input contradicts the layer.
  Status (*infer)(InferContext& context) = nullptr;

  // Fills in the fallbacks and checks names and kinds; value limits are infer's business.
  SN_INTREE Status check_params(Params& params) const;
};

// The known layer types. A value; built once by builtin_layer_types().
class SN_INTREE LayerTypes {
 public:
  // A duplicate name, or a declaration without infer or doc, is an error.
  Status add(LayerType type);
  // Null if unknown. Pointers stay valid for the life of this object.
  const LayerType* find(std::string_view name) const;
  std::vector<const LayerType*> all() const;  // sorted by name

 private:
  std::vector<std::unique_ptr<LayerType>> types_;
};

}  // namespace softneuro
