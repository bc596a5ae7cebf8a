// Rewriter: the bookkeeping that all passes share while they change a graph.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/pass.h"

namespace softneuro {

// The same real number for each integer.
bool same_levels(const Quantization& a, const Quantization& b);

// Which layers read each tensor: a list per tensor, in no particular order, that an input joins and
// leaves in constant time.
class UseLists {
 public:
  // Input `index` of a layer, in the list of all uses of one tensor.
  struct Use {
    int layer = 0;
    std::uint32_t index = 0;
    int before = -1, next = -1;  // in that list
  };

  explicit UseLists(Graph& graph);

  // Null if no layer reads the tensor. Valid until the next change.
  const Use* first(TensorId id) const { return at(first_[id]); }
  bool has_one(TensorId id) const { return first(id) != nullptr && first(id)->next < 0; }
  // Whether `holds` is true for every layer that reads the tensor.
  template <class F>
  bool all_of(TensorId id, F&& holds) const {
    for (const Use* use = first(id); use != nullptr; use = at(use->next))
      if (!holds(use->layer)) return false;
    return true;
  }

  void add_tensor() { first_.push_back(-1); }
  // All inputs of a layer, or one of them.
  void link(int layer);
  void unlink(int layer);
  void link(int layer, std::size_t index);
  void unlink(int layer, std::size_t index);
  // Gives the layer one more input.
  void append(int layer, TensorId id);

 private:
  // Where the uses of one layer are in uses_, in the order of its inputs; may have room to spare.
  struct Block {
    std::size_t begin = 0, capacity = 0;
  };

  const Use* at(int use) const { return use < 0 ? nullptr : &uses_[static_cast<std::size_t>(use)]; }
  std::vector<TensorId>& inputs(int layer) {
    return graph_.layers()[static_cast<std::size_t>(layer)].inputs;
  }

  Graph& graph_;
  std::vector<int> first_;     // per tensor
  std::vector<Block> blocks_;  // per layer
  std::vector<Use> uses_;
};

// Works on indices into graph.layers(), which stay valid until finish(); references to layers do
// not survive add(). Keeps producers and consumers up to date. Layers that are removed stay in
// place, not alive, until finish(). It has more than 20 methods, since passes change a graph
// through it alone and in many ways.
//
// A change takes time by the inputs of the layers that it names, whatever the size of the graph and
// however many layers read their tensors: nets have 100,000 layers that share a constant.
class Rewriter {
 public:
  Rewriter(Graph& graph, PassContext& context);

  const Graph& graph() const { return graph_; }
  PassContext& context() const { return context_; }
  TensorDef& tensor(TensorId id) { return graph_.tensor(id); }
  const TensorDef& tensor(TensorId id) const { return graph_.tensor(id); }
  int count() const { return static_cast<int>(graph_.layers().size()); }
  bool alive(int layer) const { return !dead_[static_cast<std::size_t>(layer)]; }
  const Layer& layer(int i) const { return graph_.layers()[static_cast<std::size_t>(i)]; }
  // For parameters, sources and post-ops; inputs and outputs change by the functions below only.
  Layer& layer(int i) { return graph_.layers()[static_cast<std::size_t>(i)]; }

  // The layer that makes a tensor; −1 for inputs, constants and kNoTensor.
  int producer(TensorId id) const { return id == kNoTensor ? -1 : producers_[id]; }
  const UseLists& uses() const { return uses_; }
  bool is_output(TensorId id) const { return is_output_[id]; }
  // Read by exactly one layer, once, and not an output of the graph.
  bool has_single_use(TensorId id) const { return uses_.has_one(id) && !is_output(id); }

  // Turns the layer `root` into one of another type that stands for all of `matched`, too; these
  // are removed, but for `root`. It keeps name, id and its only output, and takes over their
  // sources. False, and nothing is changed, where the new output is not certainly of the old one's
  // type and shape (a constant of more dimensions may have lent them). Precondition: no post-ops.
  bool replace(std::span<const int> matched, int root, const LayerType& type,
               std::vector<TensorId> inputs, Params params);
  // The same for callers that know the shape to stay, of inputs whose shapes are not known.
  void replace_unchecked(std::span<const int> matched, int root, const LayerType& type,
                         std::vector<TensorId> inputs, Params params);
  void remove(int layer);
  // A new layer that stands for nothing of the model yet; see add_sources().
  int add(const LayerType& type, std::string_view name, std::vector<TensorId> inputs,
          std::vector<TensorId> outputs, Params params);
  // `layer` stands for what `from` stands for, too.
  void add_sources(int layer, int from) { taken_over_[layer].push_back(from); }
  // The layer may have left out this input, if it has no post-op inputs.
  void set_input(int layer, std::size_t index, TensorId id);
  std::uint32_t append_post_op_input(int layer, TensorId id);  // gives its index
  void set_output(int layer, std::size_t index, TensorId id);
  // Every use of `from` by a layer becomes one of `to`.
  void redirect(TensorId from, TensorId to);

  TensorId add_constant(std::string_view name, Tensor value);
  TensorId add_tensor(TensorDef def);

  // Removes what is dead, sorts, compacts, and infers shapes again. Nothing to do if
  // context().changes is 0.
  Status finish();

 private:
  TensorId added(TensorId id);
  bool keeps_output(TensorId output, const LayerType& type, const std::vector<TensorId>& inputs,
                    const Params& params) const;

  Graph& graph_;
  PassContext& context_;
  std::vector<bool> dead_;       // per layer
  std::vector<int> producers_;   // per tensor
  std::vector<bool> is_output_;  // per tensor
  UseLists uses_;
  // The layers whose sources a layer has taken over, in order. Lists of sources are written once,
  // by finish(): along a chain that merges they would be copied again and again.
  std::unordered_map<int, std::vector<int>> taken_over_;
};

// Each of these counts one change in the context.

// Another type with the same inputs and outputs; post-ops stay.
void retype(Rewriter& rewriter, int layer, const LayerType& type, Params params);
// Lets `into` make what `from` makes now as its first output; `from` is removed, its post-ops
// and sources are taken over. For fusing a layer into its producer. Precondition: the two outputs
// have one type and shape.
void absorb(Rewriter& rewriter, int into, int from);
// Lets `into` read `source` as input `index`, which was what `from` makes; `from`, which nothing
// else reads, is removed, its sources are taken over. For fusing a layer into its consumer.
void absorb_before(Rewriter& rewriter, int into, std::size_t index, int from, TensorId source);
// Takes out a layer whose first output always equals the tensor `source`. False, and nothing is
// changed, where that would lose the name of a graph output or contradicting quantisations.
bool bypass(Rewriter& rewriter, int layer, TensorId source);

}  // namespace softneuro
