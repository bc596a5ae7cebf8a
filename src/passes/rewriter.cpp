#include "passes/rewriter.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace softneuro {

bool same_levels(const Quantization& a, const Quantization& b) {
  return a.is_signed == b.is_signed && a.axis == b.axis && a.scales == b.scales &&
         a.zero_points == b.zero_points;
}

Rewriter::Rewriter(Graph& graph, PassContext& context)
    : graph_(graph),
      context_(context),
      alive_(graph.layers().size(), true),
      producers_(graph.tensor_count(), -1),
      is_output_(graph.tensor_count()),
      use_lists_(graph.tensor_count()),
      use_blocks_(graph.layers().size()) {
  for (int i = 0; i < count(); ++i) link(i);
  for (const TensorId id : graph.outputs) is_output_[id] = true;
}

// --- uses ----------------------------------------------------------------------------------------

void Rewriter::make_room(int i, std::size_t inputs) {
  UseBlock& block = use_blocks_[static_cast<std::size_t>(i)];
  const UseBlock old = block;
  if (inputs <= static_cast<std::size_t>(old.capacity)) return;
  // Layers that grow do so one input after another.
  block.capacity = std::max(static_cast<int>(inputs), 2 * old.capacity);
  block.begin = static_cast<int>(uses_.size());
  uses_.resize(uses_.size() + static_cast<std::size_t>(block.capacity));
  for (std::size_t k = 0; k < layer(i).inputs.size(); ++k) {
    const TensorId id = layer(i).inputs[k];
    if (id == kNoTensor) continue;
    const int at = block.begin + static_cast<int>(k);
    const Use use = uses_[static_cast<std::size_t>(old.begin) + k];
    uses_[static_cast<std::size_t>(at)] = use;
    link_before(id, use.next) = link_after(id, use.before) = at;
  }
}

// What points to the use behind `before` in the list of a tensor; behind −1 is the first.
int& Rewriter::link_after(TensorId id, int before) {
  return before < 0 ? use_lists_[id].first : uses_[static_cast<std::size_t>(before)].next;
}

int& Rewriter::link_before(TensorId id, int next) {
  return next < 0 ? use_lists_[id].last : uses_[static_cast<std::size_t>(next)].before;
}

void Rewriter::link_input(int i, std::size_t index) {
  const TensorId id = layer(i).inputs[index];
  if (id == kNoTensor) return;
  const int at = use_blocks_[static_cast<std::size_t>(i)].begin + static_cast<int>(index);
  const int last = use_lists_[id].last;
  uses_[static_cast<std::size_t>(at)] = {i, static_cast<std::uint32_t>(index), last, -1};
  link_after(id, last) = link_before(id, -1) = at;
  ++use_lists_[id].count;
}

void Rewriter::unlink_input(int i, std::size_t index) {
  const TensorId id = layer(i).inputs[index];
  if (id == kNoTensor) return;
  const int at = use_blocks_[static_cast<std::size_t>(i)].begin + static_cast<int>(index);
  const Use use = uses_[static_cast<std::size_t>(at)];
  link_after(id, use.before) = use.next;
  link_before(id, use.next) = use.before;
  --use_lists_[id].count;
}

void Rewriter::link(int i) {
  const std::size_t inputs = layer(i).inputs.size();
  UseBlock& block = use_blocks_[static_cast<std::size_t>(i)];
  if (inputs > static_cast<std::size_t>(block.capacity)) {
    block = {static_cast<int>(uses_.size()), static_cast<int>(inputs)};
    uses_.resize(uses_.size() + inputs);
  }
  for (std::size_t k = 0; k < inputs; ++k) link_input(i, k);
  for (const TensorId id : layer(i).outputs)
    if (id != kNoTensor) producers_[id] = i;
}

void Rewriter::unlink(int i) {
  for (std::size_t k = 0; k < layer(i).inputs.size(); ++k) unlink_input(i, k);
  for (const TensorId id : layer(i).outputs)
    if (id != kNoTensor && producers_[id] == i) producers_[id] = -1;
}

int Rewriter::producer(TensorId id) const {
  return id == kNoTensor ? -1 : producers_[id];
}

Rewriter::Consumers Rewriter::consumers(TensorId id) const {
  return {uses_.data(), use_lists_[id].first, use_lists_[id].count};
}

bool Rewriter::has_single_use(TensorId id) const {
  return use_lists_[id].count == 1 && !is_output_[id];
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
      const Consumers readers = consumers(id);
      if (is_output_[id] || !std::all_of(readers.begin(), readers.end(), inside)) return false;
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
  count_change();
}

void Rewriter::absorb_before(int into, std::size_t index, int from, TensorId source) {
  add_sources(into, from);
  remove(from);
  set_input(into, index, source);
  count_change();
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
  use_blocks_.emplace_back();
  link(count() - 1);
  return count() - 1;
}

void Rewriter::add_sources(int to, int from) {
  taken_over_[to].push_back(from);
}

void Rewriter::set_input(int i, std::size_t index, TensorId id) {
  unlink_input(i, index);
  layer(i).inputs[index] = id;
  link_input(i, index);
}

void Rewriter::set_own_input(int i, std::size_t index, TensorId id) {
  Layer& changed = layer(i);
  if (changed.inputs.size() <= index) {
    make_room(i, index + 1);
    changed.inputs.resize(index + 1, kNoTensor);
  }
  set_input(i, index, id);
  changed.own_inputs = static_cast<std::uint32_t>(changed.inputs.size());
}

int Rewriter::append_post_op_input(int i, TensorId id) {
  const std::size_t index = layer(i).inputs.size();
  make_room(i, index + 1);
  layer(i).inputs.push_back(id);
  link_input(i, index);
  return static_cast<int>(index);
}

void Rewriter::set_output(int i, std::size_t index, TensorId id) {
  TensorId& output = layer(i).outputs[index];
  if (output != kNoTensor && producers_[output] == i) producers_[output] = -1;
  output = id;
  if (id != kNoTensor) producers_[id] = i;
}

void Rewriter::redirect(TensorId from, TensorId to) {
  UseList& gone = use_lists_[from];
  UseList& kept = use_lists_[to];
  if (from == to || gone.count == 0) return;
  for (int at = gone.first; at >= 0; at = uses_[static_cast<std::size_t>(at)].next) {
    const Use& use = uses_[static_cast<std::size_t>(at)];
    layer(use.layer).inputs[use.index] = to;
  }
  uses_[static_cast<std::size_t>(gone.first)].before = kept.last;
  link_after(to, kept.last) = gone.first;
  kept.last = gone.last;
  kept.count += gone.count;
  gone = {};
}

bool Rewriter::bypass(int i, TensorId source) {
  const TensorId result = layer(i).outputs[0];
  TensorDef& kept = graph_.tensor(source);
  TensorDef& gone = graph_.tensor(result);
  if (kept.quantization && gone.quantization &&
      !same_levels(*kept.quantization, *gone.quantization))
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
  note_tensor();
  return id;
}

TensorId Rewriter::add_tensor_like(std::string_view name, TensorId like) {
  TensorDef def;
  def.name = name;
  def.type = tensor(like).type;
  def.shape = tensor(like).shape;
  const TensorId id = graph_.add_tensor(std::move(def));
  note_tensor();
  return id;
}

void Rewriter::note_tensor() {
  producers_.push_back(-1);
  is_output_.push_back(false);
  use_lists_.emplace_back();
}

// --- the end ---------------------------------------------------------------------------------

// Each list: a layer's own sources, then those that it took over, each once.
void Rewriter::write_sources() {
  std::vector<int> seen_by(alive_.size(), -1);
  std::vector<int> open;
  std::unordered_map<int, std::vector<std::string>> lists;
  for (const auto& [root, unused] : taken_over_) {
    if (!alive(root)) continue;
    std::vector<std::string>& list = lists[root];
    std::unordered_set<std::string_view> known;
    open.assign(1, root);
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      if (std::exchange(seen_by[static_cast<std::size_t>(i)], root) == root) continue;
      for (const std::string& source : layer(i).sources)
        if (known.insert(source).second) list.push_back(source);
      if (const auto found = taken_over_.find(i); found != taken_over_.end())
        open.insert(open.end(), found->second.rbegin(), found->second.rend());
    }
  }
  for (auto& [root, list] : lists) layer(root).sources = std::move(list);
  taken_over_.clear();
}

Status Rewriter::finish() {
  write_sources();
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
