#include "passes/rewriter.h"

#include <algorithm>

namespace softneuro {

Rewriter::Rewriter(Graph& graph, PassContext& context)
    : graph_(graph),
      context_(context),
      alive_(graph.layers().size(), true),
      producers_(graph.tensor_count(), -1),
      consumers_(graph.tensor_count()),
      is_output_(graph.tensor_count()) {
  for (int i = 0; i < count(); ++i) link(i);
  for (const TensorId id : graph.outputs) is_output_[id] = true;
}

void Rewriter::link(int i) {
  for (const TensorId id : layer(i).inputs)
    if (id != kNoTensor) consumers_[id].push_back(i);
  for (const TensorId id : layer(i).outputs)
    if (id != kNoTensor) producers_[id] = i;
}

void Rewriter::unlink(int i) {
  for (const TensorId id : layer(i).inputs) {
    if (id == kNoTensor) continue;
    std::vector<int>& users = consumers_[id];
    users.erase(std::find(users.begin(), users.end(), i));
  }
  for (const TensorId id : layer(i).outputs)
    if (id != kNoTensor && producers_[id] == i) producers_[id] = -1;
}

int Rewriter::producer(TensorId id) const {
  return id == kNoTensor ? -1 : producers_[id];
}

std::span<const int> Rewriter::consumers(TensorId id) const {
  return consumers_[id];
}

bool Rewriter::has_single_use(TensorId id) const {
  return consumers_[id].size() == 1 && !is_output_[id];
}

int Rewriter::producer_of_type(TensorId id, std::string_view type) const {
  const int i = producer(id);
  if (i < 0) return -1;
  const Layer& maker = layer(i);
  return maker.type->name == type && maker.post_ops.empty() && maker.outputs[0] == id ? i : -1;
}

bool Rewriter::is_closed(std::span<const int> matched, TensorId result) const {
  const auto inside = [&](int i) {
    return std::find(matched.begin(), matched.end(), i) != matched.end();
  };
  for (const int i : matched)
    for (const TensorId id : layer(i).outputs) {
      if (id == kNoTensor || id == result) continue;
      if (is_output_[id] || !std::all_of(consumers_[id].begin(), consumers_[id].end(), inside))
        return false;
    }
  return true;
}

void Rewriter::replace(std::span<const int> matched, int root, const LayerType& type,
                       std::vector<TensorId> inputs, Params params) {
  std::vector<int> others(matched.begin(), matched.end());
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  std::erase(others, root);
  for (const int i : others) {
    add_sources(root, i);
    remove(i);
  }
  unlink(root);
  layer(root).own_inputs = static_cast<std::uint32_t>(inputs.size());
  layer(root).inputs = std::move(inputs);
  link(root);
  retype(root, type, std::move(params));
}

void Rewriter::retype(int i, const LayerType& type, Params params) {
  layer(i).type = &type;
  layer(i).params = std::move(params);
  (void)type.check_params(layer(i).params);  // infer_shapes() reports what is wrong
  count_change();
}

void Rewriter::absorb(int into, int from) {
  const TensorId output = layer(from).outputs[0];
  const std::vector<PostOp> post_ops = layer(from).post_ops;
  for (PostOp op : post_ops) {
    if (op.kind == PostOp::Kind::binary)
      op.input =
          static_cast<std::uint32_t>(append_post_op_input(into, layer(from).inputs[op.input]));
    layer(into).post_ops.push_back(op);
  }
  add_sources(into, from);
  remove(from);
  set_output(into, 0, output);
}

void Rewriter::remove(int i) {
  unlink(i);
  alive_[static_cast<std::size_t>(i)] = false;
}

int Rewriter::add(const LayerType& type, std::string_view name, std::vector<TensorId> inputs,
                  std::vector<TensorId> outputs, Params params) {
  graph_.add_layer(type, graph_.unique_layer_name(name), std::move(inputs), std::move(outputs),
                   std::move(params));
  alive_.push_back(true);
  link(count() - 1);
  return count() - 1;
}

void Rewriter::add_sources(int to, int from) {
  std::vector<std::string>& sources = layer(to).sources;
  for (const std::string& source : layer(from).sources)
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
}

void Rewriter::set_input(int i, std::size_t index, TensorId id) {
  unlink(i);
  layer(i).inputs[index] = id;
  link(i);
}

void Rewriter::set_own_input(int i, std::size_t index, TensorId id) {
  unlink(i);
  Layer& changed = layer(i);
  if (changed.inputs.size() <= index) changed.inputs.resize(index + 1, kNoTensor);
  changed.inputs[index] = id;
  changed.own_inputs = static_cast<std::uint32_t>(changed.inputs.size());
  link(i);
}

int Rewriter::append_post_op_input(int i, TensorId id) {
  layer(i).inputs.push_back(id);
  consumers_[id].push_back(i);
  return static_cast<int>(layer(i).inputs.size()) - 1;
}

void Rewriter::set_output(int i, std::size_t index, TensorId id) {
  unlink(i);
  layer(i).outputs[index] = id;
  link(i);
}

void Rewriter::redirect(TensorId from, TensorId to) {
  for (const int i : consumers_[from])
    std::replace(layer(i).inputs.begin(), layer(i).inputs.end(), from, to);
  std::vector<int> users = std::move(consumers_[from]);
  consumers_[from].clear();
  consumers_[to].insert(consumers_[to].end(), users.begin(), users.end());
}

bool Rewriter::bypass(int i, TensorId source) {
  const TensorId result = layer(i).outputs[0];
  TensorDef& kept = graph_.tensor(source);
  TensorDef& gone = graph_.tensor(result);
  const auto differ = [](const Quantization& a, const Quantization& b) {
    return a.is_signed != b.is_signed || a.axis != b.axis || a.scales != b.scales ||
           a.zero_points != b.zero_points;
  };
  if (kept.quantization && gone.quantization && differ(*kept.quantization, *gone.quantization))
    return false;
  const int maker = producer(source);
  if (is_output_[result]) {
    // The value must keep the output's name: its maker makes the output directly.
    if (maker < 0 || is_output_[source] || kept.is_constant()) return false;
    const auto index = static_cast<std::size_t>(
        std::find(layer(maker).outputs.begin(), layer(maker).outputs.end(), source) -
        layer(maker).outputs.begin());
    if (!gone.quantization) gone.quantization = kept.quantization;
    add_sources(maker, i);
    remove(i);
    redirect(source, result);
    set_output(maker, index, result);
  } else {
    if (!kept.quantization) kept.quantization = gone.quantization;
    if (maker >= 0) add_sources(maker, i);
    remove(i);
    redirect(result, source);
  }
  count_change();
  return true;
}

TensorId Rewriter::add_constant(std::string_view name, Tensor value) {
  const TensorId id = graph_.add_constant(std::string(name), std::move(value));
  producers_.push_back(-1);
  consumers_.emplace_back();
  is_output_.push_back(false);
  return id;
}

TensorId Rewriter::add_tensor_like(std::string_view name, TensorId like) {
  TensorDef def;
  def.name = name;
  def.type = tensor(like).type;
  def.shape = tensor(like).shape;
  const TensorId id = graph_.add_tensor(std::move(def));
  producers_.push_back(-1);
  consumers_.emplace_back();
  is_output_.push_back(false);
  return id;
}

Status Rewriter::finish() {
  if (changes_ == 0) return {};
  context_.changes += changes_;
  std::vector<bool> dead(alive_.size());
  for (std::size_t i = 0; i < alive_.size(); ++i) dead[i] = !alive_[i];
  graph_.remove_layers(dead);
  SN_RETURN_IF_ERROR(graph_.sort());
  graph_.compact_tensors();
  return graph_.infer_shapes(/*name_unknown=*/true);
}

}  // namespace softneuro
