#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "core/base/error.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

// How many of alpha and beta a function reads: what is worth printing.
int parameter_count(UnaryOp op) {
  switch (op) {
    case UnaryOp::leaky_relu:
    case UnaryOp::elu:
    case UnaryOp::celu:
    case UnaryOp::thresholded_relu:
    case UnaryOp::silu:
      return 1;
    case UnaryOp::selu:
    case UnaryOp::hard_sigmoid:
    case UnaryOp::hard_swish:
    case UnaryOp::clip:
    case UnaryOp::shrink:
    case UnaryOp::linear:
    case UnaryOp::fake_quantize:
    case UnaryOp::is_inf:
      return 2;
    default:
      return 0;
  }
}

// `base` if free, else `base` with the first free suffix. After a few tries the suffix jumps past
// all that `count` names can have taken, so that many equal names cost no quadratic search.
template <class Taken>
std::string first_free_name(std::string_view base, std::size_t count, Taken taken) {
  std::string name(base);
  for (std::size_t n = 1; name.empty() || taken(name); ++n)
    name = fmt::format("{}_{}", base.empty() ? "tensor" : base, n <= 8 ? n : count + n);
  return name;
}

// A layer on a cycle, for the message. Precondition: every layer that is not done has a producer
// that is not done.
std::int32_t layer_on_cycle(const Graph& graph, const std::vector<std::int32_t>& producers,
                            const std::vector<bool>& done) {
  std::vector<bool> visited(graph.layers().size());
  std::int32_t at = 0;
  while (done[static_cast<std::size_t>(at)]) ++at;
  while (!visited[static_cast<std::size_t>(at)]) {
    visited[static_cast<std::size_t>(at)] = true;
    for (const TensorId id : graph.layers()[static_cast<std::size_t>(at)].inputs) {
      const std::int32_t producer = id < producers.size() ? producers[id] : -1;
      if (producer < 0 || done[static_cast<std::size_t>(producer)]) continue;
      at = producer;
      break;
    }
  }
  return at;
}

}  // namespace

std::string PostOp::str() const {
  if (kind == Kind::binary)
    return fmt::format("{}(in{}{})", to_string(binary), input, swapped ? ",swapped" : "");
  switch (parameter_count(unary)) {
    case 0:
      return to_string(unary);
    case 1:
      return fmt::format("{}({})", to_string(unary), alpha);
    default:
      return fmt::format("{}({},{})", to_string(unary), alpha, beta);
  }
}

// --- tensors -----------------------------------------------------------------------------------

TensorId Graph::add_tensor(TensorDef def) {
  def.name = unique_tensor_name(def.name);
  const auto id = static_cast<TensorId>(tensors_.size());
  tensor_names_.emplace(def.name, id);
  tensors_.push_back(std::move(def));
  return id;
}

TensorId Graph::add_constant(std::string constant_name, Tensor value) {
  TensorDef def;
  def.name = std::move(constant_name);
  def.type = value.data_type();
  def.shape = value.shape();
  def.constant = std::move(value);
  return add_tensor(std::move(def));
}

TensorId Graph::find_tensor(std::string_view tensor_name) const {
  const auto it = tensor_names_.find(tensor_name);
  return it == tensor_names_.end() ? kNoTensor : it->second;
}

bool Graph::has_left_out() const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [](const TensorDef& def) { return def.left_out; });
}

std::string Graph::unique_tensor_name(std::string_view base) const {
  return first_free_name(base, tensors_.size(), [this](const std::string& candidate) {
    return find_tensor(candidate) != kNoTensor;
  });
}

void Graph::rename_tensor(TensorId id, std::string_view new_name) {
  if (id >= tensors_.size() || tensors_[id].name == new_name) return;
  const auto it = tensor_names_.find(tensors_[id].name);
  if (it != tensor_names_.end() && it->second == id) tensor_names_.erase(it);
  tensors_[id].name = unique_tensor_name(new_name);
  tensor_names_.emplace(tensors_[id].name, id);
}

// --- layers ------------------------------------------------------------------------------------

Layer& Graph::add_layer(const LayerType& type, std::string layer_name,
                        std::vector<TensorId> layer_inputs, std::vector<TensorId> layer_outputs,
                        Params params) {
  Layer& layer = layers_.emplace_back();
  layer.id = next_layer_id_++;
  layer.type = &type;
  layer.name = std::move(layer_name);
  layer.layer_inputs = static_cast<std::uint32_t>(layer_inputs.size());
  layer.inputs = std::move(layer_inputs);
  layer.outputs = std::move(layer_outputs);
  layer.params = std::move(params);
  (void)type.check_params(layer.params);  // verify() reports what is wrong
  return layer;
}

const Layer* Graph::find_layer(std::string_view layer_name) const {
  for (const Layer& layer : layers_)
    if (layer.name == layer_name) return &layer;
  return nullptr;
}

std::string Graph::unique_layer_name(std::string_view base) const {
  return first_free_name(
      base.empty() ? "layer" : base, layers_.size(),
      [this](const std::string& candidate) { return find_layer(candidate) != nullptr; });
}

// --- structure -----------------------------------------------------------------------------------
// Ids out of range are skipped here, so that verify() may use these functions on anything.

std::vector<std::int32_t> Graph::producers() const {
  std::vector<std::int32_t> producers(tensors_.size(), -1);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (const TensorId id : layers_[i].outputs)
      if (id < producers.size()) producers[id] = static_cast<std::int32_t>(i);
  return producers;
}

std::vector<std::vector<std::int32_t>> Graph::consumers() const {
  std::vector<std::vector<std::int32_t>> consumers(tensors_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (const TensorId id : layers_[i].inputs)
      if (id < consumers.size()) consumers[id].push_back(static_cast<std::int32_t>(i));
  return consumers;
}

bool Graph::is_output(TensorId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

bool Graph::is_input(TensorId id) const {
  return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
}

Result<std::vector<std::int32_t>> Graph::topological_order() const {
  const std::vector<std::int32_t> producer = producers();
  const std::size_t count = layers_.size();
  std::vector<std::int32_t> waits_for(count, 0);
  std::vector<std::vector<std::int32_t>> successors(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const TensorId id : layers_[i].inputs)
      if (id < producer.size() && producer[id] >= 0) {
        successors[static_cast<std::size_t>(producer[id])].push_back(static_cast<std::int32_t>(i));
        ++waits_for[i];
      }

  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits_for[i] == 0) ready.push(static_cast<std::int32_t>(i));
  std::vector<std::int32_t> order;
  order.reserve(count);
  std::vector<bool> done(count);
  while (!ready.empty()) {
    const auto next = static_cast<std::size_t>(ready.top());
    ready.pop();
    order.push_back(static_cast<std::int32_t>(next));
    done[next] = true;
    for (const std::int32_t s : successors[next])
      if (--waits_for[static_cast<std::size_t>(s)] == 0) ready.push(s);
  }
  if (order.size() == count) return order;
  const auto on_cycle = static_cast<std::size_t>(layer_on_cycle(*this, producer, done));
  return invalid_model("graph '{}' has a cycle through layer '{}'", name, layers_[on_cycle].name);
}

Status Graph::sort() {
  SN_ASSIGN_OR_RETURN(const std::vector<std::int32_t> order, topological_order());
  if (std::is_sorted(order.begin(), order.end())) return {};
  std::vector<Layer> sorted;
  sorted.reserve(layers_.size());
  for (const std::int32_t i : order)
    sorted.push_back(std::move(layers_[static_cast<std::size_t>(i)]));
  layers_ = std::move(sorted);
  return {};
}

void Graph::remove_layers(const std::vector<bool>& remove) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i < remove.size() && remove[i]) continue;
    if (kept != i) layers_[kept] = std::move(layers_[i]);
    ++kept;
  }
  layers_.erase(layers_.begin() + static_cast<std::ptrdiff_t>(kept), layers_.end());
}

void Graph::compact_tensors() {
  std::vector<bool> used(tensors_.size());
  const auto for_each_reference = [this](auto&& f) {
    for (TensorId& id : inputs) f(id);
    for (TensorId& id : outputs) f(id);
    for (Layer& layer : layers_) {
      for (TensorId& id : layer.inputs) f(id);
      for (TensorId& id : layer.outputs) f(id);
    }
  };
  for_each_reference([&](TensorId& id) {
    if (id < used.size()) used[id] = true;
  });

  std::vector<TensorId> new_id(tensors_.size(), kNoTensor);
  std::vector<TensorDef> kept;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!used[i]) continue;
    new_id[i] = static_cast<TensorId>(kept.size());
    kept.push_back(std::move(tensors_[i]));
  }
  tensors_ = std::move(kept);
  tensor_names_.clear();
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    tensor_names_.emplace(tensors_[i].name, static_cast<TensorId>(i));
  for_each_reference([&](TensorId& id) {
    if (id < new_id.size()) id = new_id[id];
  });
}

}  // namespace softneuro
