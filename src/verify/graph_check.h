// Whether a graph that passes made of a model computes what the model computes, layer by layer.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/region.h"

namespace softneuro {

struct GraphMismatch {
  std::string layer;                 // of the graph that passes made
  std::vector<std::string> sources;  // the model's nodes that it stands for
  std::string what;                  // one phrase
};

// What is compared: everything, or what arithmetic settles, integers, and where numbers end. What
// else rounds is judged by the size of a tensor's elements, which one element does not show.
enum class CheckedPart : std::uint8_t { all, settled };

// Each layer of `after` that differs from the model's runs on what the model computes at its
// inputs. Both graphs run side by side, one layer at a time, so that only tensors that are still
// needed take memory, and the model runs at most once, as far as it is needed. Tensors of the same
// name mean the same. Not thread-safe.
class GraphCheck {
 public:
  // All outlive it. Both graphs are verified and sorted; the graph's inputs are those of the model,
  // in order. `cancel` may be null.
  GraphCheck(Runtime& runtime, const Graph& model, const Graph& after,
             const std::atomic<bool>* cancel = nullptr);

  // Inputs are in the order of the graph's. What differs first; nothing: all agrees. Errors: what
  // the model gives on these inputs, out_of_memory where a run would take very long, and cancelled.
  Result<std::optional<GraphMismatch>> run(std::span<const Tensor> inputs,
                                           CheckedPart part = CheckedPart::all);
  // Of the last run: what it took, in multiply-adds.
  double steps() const { return steps_; }
  // Runs the model alone. Whether a tensor is infinite or NaN; the first error.
  Result<bool> overflows(std::span<const Tensor> inputs);

 private:
  struct Place {
    const Layer* layer = nullptr;  // of after_
    std::vector<TensorId> from;    // the model's tensors that it is computed from
    bool changed = false;
  };

  void match_tensors();
  bool is_like_the_model(const Layer& layer) const;
  void count_uses();
  void begin(std::span<const Tensor> inputs);
  Status run_next();
  Result<Tensor> pull(TensorId id);
  Result<Tensor> value(TensorId id);
  void release(TensorId id);
  Status check_layer(std::size_t index, std::optional<GraphMismatch>& mismatch);
  Status check_changed(const Place& place, std::optional<GraphMismatch>& mismatch);
  Status follow_drift(const Place& place, std::optional<GraphMismatch>& mismatch);
  std::string difference(const Place& place, TensorId model_id, const Tensor& expected,
                         const Tensor& actual, const std::optional<Region>& region);
  Status check_constants(const Layer& layer, std::optional<GraphMismatch>& mismatch);
  std::optional<GraphMismatch> mismatch_at(const Layer& layer, std::string what) const;

  Runtime& runtime_;
  const Graph& model_;
  const Graph& after_;
  const std::atomic<bool>* cancel_;
  std::vector<std::int32_t> model_producers_;
  std::vector<TensorId> model_ids_;  // by tensor of after_: the model's
  std::vector<Place> places_;        // by layer of after_
  std::vector<std::int32_t> uses_;   // by tensor of model_, when a run begins
  // Of the run.
  CheckedPart part_ = CheckedPart::all;
  std::vector<std::int32_t> left_;             // uses that are left
  std::vector<Tensor> values_;                 // of the model's tensors
  std::size_t next_ = 0;                       // layer of model_
  std::unordered_map<TensorId, Tensor> made_;  // of after_: what the model has not
  // Of after_: what it computes by itself, where bits differ from the model's though arithmetic
  // settles them.
  std::unordered_map<TensorId, Tensor> drifted_;
  double steps_ = 0;
};

}  // namespace softneuro
