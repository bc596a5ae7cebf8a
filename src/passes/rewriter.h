// Rewriter: the bookkeeping that all passes share while they change a graph.
#pragma once

#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/pass.h"

namespace softneuro {

// The same real number for each integer.
bool same_levels(const Quantization& a, const Quantization& b);

// Works on indices into graph.layers(), which stay valid until finish(); references to layers do
// not survive add(). Keeps producers and consumers up to date. Layers that are removed stay in
// place, not alive, until finish().
//
// A change takes time by the inputs of the layers that it names, whatever the size of the graph and
// however many layers read their tensors: nets have 100,000 layers that share a constant.
class Rewriter {
  // Input `index` of a layer, in the list of all uses of one tensor.
  struct Use {
    int layer = 0;
    std::uint32_t index = 0;
    int before = -1, next = -1;  // in that list
  };

 public:
  // The layers that read a tensor, once per use.
  class Consumers {
   public:
    class Iterator {
     public:
      using iterator_category = std::forward_iterator_tag;
      using value_type = int;
      using difference_type = std::ptrdiff_t;
      using pointer = const int*;
      using reference = const int&;
      Iterator(const Use* uses, int at) : uses_(uses), at_(at) {}
      const int& operator*() const { return uses_[at_].layer; }
      Iterator& operator++() {
        at_ = uses_[at_].next;
        return *this;
      }
      bool operator==(const Iterator& other) const { return at_ == other.at_; }

     private:
      const Use* uses_;
      int at_;
    };
    Consumers(const Use* uses, int first, int count) : uses_(uses), first_(first), count_(count) {}
    Iterator begin() const { return {uses_, first_}; }
    Iterator end() const { return {uses_, -1}; }
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return static_cast<std::size_t>(count_); }
    int operator[](std::size_t i) const { return *std::next(begin(), static_cast<int>(i)); }

   private:
    const Use* uses_;
    int first_, count_;
  };

  Rewriter(Graph& graph, PassContext& context);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  PassContext& context() { return context_; }
  const PassContext& context() const { return context_; }
  const TensorDef& tensor(TensorId id) const { return graph_.tensor(id); }
  int count() const { return static_cast<int>(graph_.layers().size()); }
  bool alive(int layer) const { return alive_[static_cast<std::size_t>(layer)]; }
  const Layer& layer(int i) const { return graph_.layers()[static_cast<std::size_t>(i)]; }
  // For parameters, sources and post-ops; inputs and outputs change by the functions below only.
  Layer& layer(int i) { return graph_.layers()[static_cast<std::size_t>(i)]; }

  // The layer that makes a tensor; −1 for inputs, constants and kNoTensor.
  int producer(TensorId id) const;
  // Valid until the next change.
  Consumers consumers(TensorId id) const;
  bool is_output(TensorId id) const { return is_output_[id]; }
  // Read by exactly one layer, once, and not an output of the graph.
  bool has_single_use(TensorId id) const;
  // The producer of `id` if that is a layer of this type without post-ops and `id` is its first
  // output; else −1.
  int producer_of_type(TensorId id, std::string_view type) const;

  // The layers of `matched` may be replaced by one that makes `result`: nothing else that they
  // make is read outside of `matched` or is an output of the graph.
  bool is_closed(std::span<const int> matched, TensorId result) const;

  // Turns the layer `root` into one of another type that stands for all of `matched` (`root` is
  // among them); the others are removed. It keeps name, id and its only output, and takes over
  // their sources. Precondition: no post-ops.
  void replace(std::span<const int> matched, int root, const LayerType& type,
               std::vector<TensorId> inputs, Params params);
  // Another type with the same inputs and outputs; post-ops stay.
  void retype(int layer, const LayerType& type, Params params);
  // Lets `into` make what `from` makes now as its first output; `from` is removed, its post-ops
  // and sources are taken over. For fusing a layer into its producer.
  void absorb(int into, int from);
  // Lets `into` read `source` as input `index`, which was what `from` makes; `from`, which nothing
  // else reads, is removed, its sources are taken over. For fusing a layer into its consumer.
  void absorb_before(int into, std::size_t index, int from, TensorId source);
  void remove(int layer);
  // A new layer that stands for nothing of the model yet; see add_sources().
  int add(const LayerType& type, std::string_view name, std::vector<TensorId> inputs,
          std::vector<TensorId> outputs, Params params);
  // `layer` stands for what `from` stands for, too.
  void add_sources(int layer, int from);
  void set_input(int layer, std::size_t index, TensorId id);
  // The same where the layer may have left out this input. Precondition: no post-op inputs.
  void set_own_input(int layer, std::size_t index, TensorId id);
  int append_post_op_input(int layer, TensorId id);  // gives its index
  void set_output(int layer, std::size_t index, TensorId id);
  // Every use of `from` by a layer becomes one of `to`.
  void redirect(TensorId from, TensorId to);
  // Takes out a layer whose first output always equals the tensor `source`. False, and nothing is
  // changed, where that would lose the name of a graph output or contradicting quantisations.
  bool bypass(int layer, TensorId source);

  TensorId add_constant(std::string_view name, Tensor value);
  // A tensor with the data type and shape of `like`.
  TensorId add_tensor_like(std::string_view name, TensorId like);
  void count_change() { ++changes_; }
  std::int64_t changes() const { return changes_; }

  // Removes what is dead, sorts, compacts, infers shapes again, and counts the changes in the
  // context. Nothing to do if nothing changed.
  Status finish();

 private:
  // The uses of one tensor, as a list through uses_.
  struct UseList {
    int first = -1, last = -1, count = 0;
  };
  // Where the uses of one layer lie in uses_, in the order of its inputs; may have room to spare.
  struct UseBlock {
    int begin = 0, capacity = 0;
  };

  void link(int layer);
  void unlink(int layer);
  void link_input(int layer, std::size_t index);
  void unlink_input(int layer, std::size_t index);
  void make_room(int layer, std::size_t inputs);  // for more inputs than it has
  int& link_after(TensorId id, int before);
  int& link_before(TensorId id, int next);
  void note_tensor();
  void write_sources();

  Graph& graph_;
  PassContext& context_;
  std::vector<bool> alive_;
  std::vector<int> producers_;        // per tensor
  std::vector<bool> is_output_;       // per tensor
  std::vector<UseList> use_lists_;    // per tensor
  std::vector<UseBlock> use_blocks_;  // per layer
  std::vector<Use> uses_;
  // The layers whose sources a layer has taken over, in order. Lists of sources are written once,
  // by finish(): along a chain that merges they would be copied again and again.
  std::unordered_map<int, std::vector<int>> taken_over_;
  std::int64_t changes_ = 0;
};

}  // namespace softneuro
