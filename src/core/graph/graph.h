// Graph: a net of abstract layers (the paper's section II). Says what, never how.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/elementwise.h"
#include "core/graph/params.h"
#include "softneuro/tensor.h"

namespace softneuro {

struct LayerType;
class LayerTypes;

using TensorId = std::uint32_t;
using LayerId = std::uint32_t;
inline constexpr TensorId kNoTensor = 0xffffffffu;  // a left-out optional input or output

// A tensor of the graph: what is known of it, and its bytes if it is constant.
struct TensorDef {
  std::string name;  // unique and not empty within one graph; see Graph::rename_tensor
  DataType type = DataType::undefined;
  DynamicShape shape;
  Tensor constant;  // non-empty: a constant (weights and the like), plain layout
  std::optional<Quantization> quantization;
  // A constant whose bytes are not known: weights (LayerType::weights) of a file that holds only
  // what kernels have packed of them. Its bytes read as zeros; PackedCache sees to it that nobody
  // reads them.
  bool left_out = false;
  // Of an input or output: where the caller has it. Of a plan's graph only, not saved.
  DeviceId device;

  bool is_constant() const { return !constant.empty(); }
};

// What a fused layer does to its first output after its own work, in order.
// All post-ops work element by element on output 0.
struct PostOp {
  enum class Kind : std::uint8_t { unary, binary };
  Kind kind = Kind::unary;
  UnaryOp unary = UnaryOp::relu;
  float alpha = 0, beta = 0;  // of the unary function
  BinaryOp binary = BinaryOp::add;
  // binary: y = f(y, x), or f(x, y) if `swapped`; x = layer.inputs[input], which broadcasts to
  // y's shape (never the other way). Such inputs stand behind the layer inputs.
  std::uint32_t input = 0;
  bool swapped = false;

  bool operator==(const PostOp&) const = default;
  SN_INTREE std::string str() const;  // "relu", "add(in3)", "clip(0,6)"
};

class Graph;

struct Layer {
  LayerId id = 0;  // stable: survives passes, saving and loading
  const LayerType* type = nullptr;
  std::string name;              // unique within one graph
  std::vector<TensorId> inputs;  // layer inputs in the layer type's order, then those of post-ops
  std::vector<TensorId> outputs;
  std::uint32_t layer_inputs = 0;  // how many of `inputs` are not post-op inputs
  Params params;
  std::vector<PostOp> post_ops;
  std::vector<std::string> sources;  // nodes of the imported model that this layer stands for
  std::vector<std::shared_ptr<const Graph>> subgraphs;  // control flow; captures are inputs
};

// Value semantics (layers and definitions are copied, constant bytes are shared). It has more than
// 20 methods, since they are the common tools of all that builds, checks and rewrites graphs.
class SN_INTREE Graph {
 public:
  std::string name;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<std::string> applied_passes;  // in order, with their versions

  // --- tensors -----------------------------------------------------------------------------
  // Adds a definition; a name already taken gets a suffix.
  TensorId add_tensor(TensorDef def);
  // A constant; its definition takes type and shape from `value`.
  TensorId add_constant(std::string name, Tensor value);
  std::size_t tensor_count() const { return tensors_.size(); }
  TensorDef& tensor(TensorId id) { return tensors_[id]; }
  const TensorDef& tensor(TensorId id) const { return tensors_[id]; }
  // False for kNoTensor.
  bool is_constant(TensorId id) const { return id != kNoTensor && tensor(id).is_constant(); }
  // kNoTensor if there is none of that name.
  TensorId find_tensor(std::string_view name) const;
  bool has_left_out() const;  // TensorDef::left_out
  // A name that no tensor carries yet: `base`, or `base` with a suffix.
  std::string unique_tensor_name(std::string_view base) const;
  // The only way to change a name once the tensor is added (names are indexed). A name already
  // taken by another tensor gets a suffix.
  void rename_tensor(TensorId id, std::string_view name);

  // --- layers (any order; sort() makes it topological) -----------------------------------------
  // Appends a layer with a fresh id, layer_inputs = inputs.size(), and the default values of
  // left-out parameters filled in. Wrong parameters and a name taken already are found by verify().
  Layer& add_layer(const LayerType& type, std::string name, std::vector<TensorId> inputs,
                   std::vector<TensorId> outputs, Params params = {});
  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }
  // Null if there is none of that name.
  const Layer* find_layer(std::string_view name) const;
  // A name that no layer carries yet: `base`, or `base` with a suffix. Linear in the layers.
  std::string unique_layer_name(std::string_view base) const;
  LayerId next_layer_id() const { return next_layer_id_; }
  void set_next_layer_id(LayerId id) { next_layer_id_ = id; }

  // --- structure -------------------------------------------------------------------------------
  // Index into layers() of each tensor's producer; −1 for inputs and constants.
  std::vector<std::int32_t> producers() const;
  // Indices into layers() of each tensor's consumers (a layer appears once per use).
  std::vector<std::vector<std::int32_t>> consumers() const;
  bool is_output(TensorId id) const;
  bool is_input(TensorId id) const;
  // Indices into layers() in a topological, stable order: of all layers that may come next, the
  // one that stands first. invalid_model if there is a cycle (names a layer on it).
  Result<std::vector<std::int32_t>> topological_order() const;
  // Brings layers() into that order.
  Status sort();
  // Removes the layers for which remove[i] holds, keeping the order of the others.
  void remove_layers(const std::vector<bool>& remove);
  // Drops tensor definitions that nothing refers to and renumbers the rest.
  void compact_tensors();
  // Everything that must hold of a graph before it is planned: ids in range, one producer per
  // tensor, acyclic, arity, parameters, names unique, constants with as many bytes as their shape
  // says. invalid_model says what and where. Sub-graphs included (nesting at most 8).
  Status verify(const LayerTypes& types) const;
  // Recomputes types and shapes of all tensors from those of inputs and constants
  // (LayerType::infer), and fills in left-out layer parameters. Small integer tensors that are
  // known without running any routine (shape, and slices, gathers, concats, sums… of such) serve
  // as known values on the way. Needs a topological order. The message of an error names the layer.
  // With `name_unknown`, dimensions without value and symbol, those of the inputs included, get the
  // symbol "tensor.axis", so that equal ones can be told from others.
  Status infer_shapes(bool name_unknown = false);

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::vector<TensorDef> tensors_;
  std::unordered_map<std::string, TensorId, NameHash, std::equal_to<>> tensor_names_;
  std::vector<Layer> layers_;
  LayerId next_layer_id_ = 1;
};

}  // namespace softneuro
