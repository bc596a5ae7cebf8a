// LayerType: the meaning of a kind of layer – inputs, parameters, and shape inference.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
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
  ParamValue default_value;  // of layers that leave it out; its kind is the parameter's
  std::string doc;           // meaning, unit, allowed values
  bool required = false;     // the default value only says the kind: a layer without it is invalid

  ParamKind kind() const { return kind_of(default_value); }
};

// An element of an integer tensor, as far as it is known: its value, or a symbol for it (that of
// a dimension; equal symbols mean equal values), or neither.
struct KnownInteger {
  std::optional<std::int64_t> value;
  std::string symbol;

  // As a dimension; unknown if it is negative.
  Dim dim() const { return value ? Dim(*value) : Dim(symbol); }
};

// Certainly the same dimensions, whatever the unknown ones turn out to be.
SN_INTREE bool same_shape(const DynamicShape& a, const DynamicShape& b);

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
  // Output 0: input 0's type and this shape. The last step of most infer functions.
  Status set_shape(DynamicShape shape) {
    set_output(0, type(0), std::move(shape));
    return {};
  }
  // What was set; where the context is handed to others than infer, what was inferred.
  const Output& output(std::size_t i) const { return outputs_[i]; }
  // Input i and output 0 certainly have the same dimensions, whatever the unknown ones are.
  bool keeps_shape(std::size_t i) const { return same_shape(shape(i), output(0).shape); }
  // Input i is left out, or a constant whose elements all are `value`.
  bool all_equal(std::size_t i, double value) const;

  // --- checks that most layer types share; each error names the input ---------------------------
  Status expect_rank(std::size_t i, int rank) const;  // unknown rank passes
  Status expect_min_rank(std::size_t i, int rank) const;
  Status expect_type(std::size_t i, std::span<const DataType> allowed) const;
  Status expect_same_type(std::size_t i, std::size_t j) const;
  // Unknown shapes pass. `meaning` is for the message: "the depth".
  Status expect_one_element(std::size_t i, const char* meaning) const;

 private:
  const Params& params_;
  std::span<const Input> inputs_;
  std::span<Output> outputs_;
};

// Axis in [−rank, rank) → [0, rank); an error otherwise.
SN_INTREE Result<int> normalize_axis(std::int64_t axis, int rank);
// The same for each of a list, or the first `if_none` axes where it is empty. invalid_model if an
// axis is named twice; `names` is for the message.
Result<std::vector<int>> distinct_axes(std::span<const std::int64_t> axes, int rank, int if_none,
                                       const char* names = "axes name");
// Numpy broadcasting of two shapes, unknown dimensions included.
SN_INTREE Result<DynamicShape> broadcast(const DynamicShape& a, const DynamicShape& b);
SN_INTREE Result<Shape> broadcast(const Shape& a, const Shape& b);
// The integers of an int32 or int64 tensor (any rank); std::nullopt for other types.
SN_INTREE std::optional<std::vector<std::int64_t>> integers_of(const Tensor& tensor);

// What the numbers of a value input mean. In brackets: numbers that are valid for any tensor, where
// some have to be made up.
enum class ValueKind : std::uint8_t {
  size,    // sizes, counts, steps, factors (1)
  limit,   // the end of a range, the number of classes (4)
  offset,  // a position, or how many elements to add (0)
  end,     // a position up to which (behind every end)
  axes,    // 0, 1, 2…
  shape,   // a whole shape, of which one dimension may be left open (−1, 1, 1…)
};
struct ValueInput {
  std::size_t input = 0;
  ValueKind kind = ValueKind::size;
};

// Whose elements the outputs hold, unchanged. Types and quantisation pass through such layers.
enum class ElementSource : std::uint8_t {
  computed,    // new numbers
  input_0,     // those of input 0: moved, repeated, left out, or picked (the largest of a window)
  all_inputs,  // those of all inputs (concat)
};

// Which element-wise layers behind a layer are fused into it.
enum class FusedPostOps : std::uint8_t {
  none,
  unary,  // functions of one number
  all,    // also functions of two: with a tensor of the output's shape, or a constant
};

// In which formats the tensors of one problem may be, against the schema of the routine.
enum class FormatRule : std::uint8_t {
  uniform,       // real tensors of rank 3 and more have the routine's layout
  mixed_layout,  // some may be plain beside it: the layer may change the layout on its way
  any,           // the layer is an adapt: it is there to change formats
};

// What a layer is to people: colours of drawings.
enum class LayerCategory : std::uint8_t {
  other,
  product,
  reduction,  // pools too
  activation,
  normalization,
  recurrent,
  quantization,
};

// Weights: input 0 is multiplied by them, channel by channel, and a bias is added to the sums. Of
// rank 2 and more; axes 0 and 1 are output and input channels in either order, the others places of
// a window. Axis 0 counts channels of all groups (parameter "group"; 1 without it), axis 1 those of
// one group.
struct LayerWeights {
  std::size_t input = 1;
  std::size_t bias = 2;  // optional; 1-D, one per output channel
  // Axis of the output channels, 0 or 1.
  int (*output_axis)(const Params& params) = nullptr;
  // Each output element sums over all weights of its channel, and none of them meets padding.
  // nullptr: never.
  bool (*sums_all)(const Params& params) = nullptr;
  // Axis of the channels in input 0 and output 0; −1: the last.
  int channel_axis = 1;

  int channel_axis_of(int rank) const {
    return channel_axis < 0 ? rank + channel_axis : channel_axis;
  }
  std::int64_t groups(const Params& params) const { return params.integer("group", 1); }
};

// How many inputs, or outputs, a layer may have.
struct Arity {
  int min = 1;
  int max = 1;  // −1: any number

  bool allows(std::int64_t count) const { return count >= min && (max == -1 || count <= max); }
};

// The sizes of a layer of which all is known, for LayerType::macs and steps.
struct LayerSizes {
  const Params& params;
  std::vector<const Shape*> inputs;   // those of the layer, then those of post-ops; null: left out
  std::vector<const Shape*> outputs;  // null: left out or dependent on data
  std::size_t layer_inputs = 0;

  // Doubles: exact up to 2^53, and no size overflows them. 0 where the tensor is left out.
  SN_INTREE static double elements(const Shape* shape);
  SN_INTREE double input_elements() const;   // of all inputs
  SN_INTREE double output_elements() const;  // of all outputs
};

class KnownInputs;       // core/graph/shape_values.h
struct ShapeValue;       // ditto
struct AxisPermutation;  // core/graph/axis_permutation.h

// What a kind of layer is. It has more than 12 fields, since generic code (passes, planning,
// tuning) names no layer type: all that it needs to know of one stands here.
struct LayerType {
  std::string name;  // "conv2"
  std::string doc;   // one paragraph: meaning, inputs, outputs, shapes
  LayerCategory category = LayerCategory::other;
  std::vector<ParamSpec> params;
  Arity inputs;
  Arity outputs;
  // Shape inference and kernels need the *value* of these inputs (reshape's shape, slice's
  // starts…). Kernels find it in Problem::inputs[i].value; where it is known only at run time the
  // plan makes the kernel then.
  std::vector<ValueInput> value_inputs;
  // Input that holds positions on axis `axis` (the parameter; 0 without one) of input 0, as
  // gather's indices; −1: none.
  int index_input = -1;
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
  // Only for outputs with the same data type as the input. is_view implies input_0.
  ElementSource elements = ElementSource::computed;
  FusedPostOps fused_post_ops = FusedPostOps::none;
  FormatRule formats = FormatRule::uniform;
  std::optional<LayerWeights> weights;
  // All layer inputs have the axes of output 0 (after broadcasting), else input 0 alone and the
  // others are values. For permute_axes.
  bool inputs_share_axes = false;

  // Fills outputs from inputs, or says which input contradicts the layer.
  Status (*infer)(InferContext& context) = nullptr;
  // Multiply-accumulates of the definition: places in padding count, algorithms that save
  // multiplications (Winograd) do not. nullptr: the layer is no sum of products.
  double (*macs)(const LayerSizes& sizes) = nullptr;
  // Steps of the definition where they are more than the multiply-accumulates and the elements read
  // and written: places under the windows of a pool, pairs of boxes. nullptr: they are not more.
  double (*steps)(const LayerSizes& sizes) = nullptr;
  // What is known of the elements of output 0, an integer or boolean tensor of rank 0 or 1, without
  // a kernel; std::nullopt: nothing. Set for layers of shape computations in exported models.
  std::optional<ShapeValue> (*known_values)(const KnownInputs& inputs) = nullptr;
  // The layer input that output 0 always equals (a cast to the same type, a pad by nothing); −1 if
  // there is none. All shapes and types of the context are filled in, as far as they are known;
  // post-ops do not count. nullptr: never.
  int (*equal_input)(const InferContext& context) = nullptr;
  // Rewrites parameters and axes for inputs whose axes are in another order; false if the layer
  // cannot be written so. nullptr: never.
  bool (*permute_axes)(AxisPermutation& permutation) = nullptr;

  bool is_adapt() const { return formats == FormatRule::any; }
  bool moves_elements() const { return is_view || elements == ElementSource::input_0; }
  // nullptr if input i is not among value_inputs.
  SN_INTREE const ValueInput* value_input(std::size_t i) const;
  bool needs_value(std::size_t i) const { return value_input(i) != nullptr; }
  // Fills in the default values and checks names and kinds; infer checks limits of values.
  SN_INTREE Status check_params(Params& params) const;
};

// LayerType::infer where output 0 is like input 0; the last step of others.
Status infer_like_input(InferContext& context);
// LayerType::equal_input where elements keep their order: the same shape means the same tensor.
int input_of_same_shape(const InferContext& context);

// The known layer types. A value; built once by builtin_layer_types().
class SN_INTREE LayerTypes {
 public:
  // A duplicate name, or a declaration without infer or doc, is an error.
  Status add(LayerType type);
  // One after the other, up to the first error.
  Status add_all(std::initializer_list<LayerType> types);
  // nullptr if unknown. Pointers stay valid for the life of this object.
  const LayerType* find(std::string_view name) const;
  std::vector<const LayerType*> all() const;  // sorted by name

 private:
  std::vector<std::unique_ptr<LayerType>> types_;
};

}  // namespace softneuro
