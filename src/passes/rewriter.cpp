#include "passes/rewriter.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "passes/layer_context.h"

namespace softneuro {

bool same_levels(const Quantization& a, const Quantization& b) {
  return a.is_signed == b.is_signed && a.axis == b.axis && a.scales == b.scales &&
         a.zero_points == b.zero_points;
}

// --- uses ----------------------------------------------------------------------------------------

UseLists::UseLists(Graph& graph)
    : graph_(graph), first_(graph.tensor_count(), -1), blocks_(graph.layers().size()) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) link(static_cast<int>(i));
}

void UseLists::link(int layer, std::size_t index) {
  const TensorId id = inputs(layer)[index];
  if (id == kNoTensor) return;
  const std::size_t use = blocks_[static_cast<std::size_t>(layer)].begin + index;
  int& first = first_[id];
  uses_[use] = {layer, static_cast<std::uint32_t>(index), -1, first};
  if (first >= 0) uses_[static_cast<std::size_t>(first)].before = static_cast<int>(use);
  first = static_cast<int>(use);
}

void UseLists::unlink(int layer, std::size_t index) {
  const TensorId id = inputs(layer)[index];
  if (id == kNoTensor) return;
  const Use& use = uses_[blocks_[static_cast<std::size_t>(layer)].begin + index];
  if (use.next >= 0) uses_[static_cast<std::size_t>(use.next)].before = use.before;
  (use.before < 0 ? first_[id] : uses_[static_cast<std::size_t>(use.before)].next) = use.next;
}

void UseLists::link(int layer) {
  const std::size_t count = inputs(layer).size();
  if (static_cast<std::size_t>(layer) == blocks_.size()) blocks_.emplace_back();
  Block& block = blocks_[static_cast<std::size_t>(layer)];
  if (count > block.capacity) {
    // Layers that grow do so one input after another.
    block = {uses_.size(), std::max(count, 2 * block.capacity)};
    uses_.resize(uses_.size() + block.capacity);
  }
  for (std::size_t k = 0; k < count; ++k) link(layer, k);
}

void UseLists::unlink(int layer) {
  for (std::size_t k = 0; k < inputs(layer).size(); ++k) unlink(layer, k);
}

void UseLists::append(int layer, TensorId id) {
  const std::size_t index = inputs(layer).size();
  const bool fits = index < blocks_[static_cast<std::size_t>(layer)].capacity;
  if (!fits) unlink(layer);
  inputs(layer).push_back(id);
  if (fits)
    link(layer, index);
  else
    link(layer);
}

// --- changes -------------------------------------------------------------------------------------

Rewriter::Rewriter(Graph& graph, PassContext& context)
    : graph_(graph),
      context_(context),
      dead_(graph.layers().size()),
      producers_(graph.producers()),
      is_output_(graph.tensor_count()),
      uses_(graph) {
  for (const TensorId id : graph.outputs) is_output_[id] = true;
}

namespace {

// Certainly the same dimensions. A view has as many elements as its input, so that one dimension
// that it leaves open follows from the others, unless one of these is 0.
bool same_result(const DynamicShape& made, const DynamicShape& wanted, bool is_view) {
  if (!made.ranked() || !wanted.ranked() || made.rank() != wanted.rank()) return false;
  int open = 0;
  bool has_zero = false;
  for (int i = 0; i < made.rank(); ++i) {
    open += made[i] == wanted[i] ? 0 : 1;
    if (!(made[i] == wanted[i]) && made[i].known() && wanted[i].known()) return false;
    has_zero |= made[i].known() && made[i].value == 0;
  }
  return open == 0 || (is_view && open == 1 && !has_zero);
}

}  // namespace

bool Rewriter::keeps_output(TensorId output, const LayerType& type,
                            const std::vector<TensorId>& inputs, const Params& params) const {
  Layer made;
  made.type = &type;
  made.params = params;
  made.inputs = inputs;
  made.layer_inputs = static_cast<std::uint32_t>(inputs.size());
  made.outputs = {output};
  if (!type.check_params(made.params).ok()) return false;
  LayerContext context(graph_, made);
  if (!context.infer()) return false;
  const InferContext::Output& result = context.infer_context().output(0);
  return result.type == tensor(output).type &&
         same_result(result.shape, tensor(output).shape, type.is_view);
}

bool Rewriter::replace(std::span<const int> matched, int root, const LayerType& type,
                       std::vector<TensorId> inputs, Params params) {
  if (!keeps_output(layer(root).outputs[0], type, inputs, params)) return false;
  replace_unchecked(matched, root, type, std::move(inputs), std::move(params));
  return true;
}

void Rewriter::replace_unchecked(std::span<const int> matched, int root, const LayerType& type,
                                 std::vector<TensorId> inputs, Params params) {
  std::set<int> others(matched.begin(), matched.end());
  others.erase(root);
  for (const int i : others) {
    add_sources(root, i);
    remove(i);
  }
  uses_.unlink(root);
  layer(root).layer_inputs = static_cast<std::uint32_t>(inputs.size());
  layer(root).inputs = std::move(inputs);
  uses_.link(root);
  retype(*this, root, type, std::move(params));
}

void Rewriter::remove(int i) {
  uses_.unlink(i);
  for (const TensorId id : layer(i).outputs)
    if (producer(id) == i) producers_[id] = -1;
  dead_[static_cast<std::size_t>(i)] = true;
}

int Rewriter::add(const LayerType& type, std::string_view name, std::vector<TensorId> inputs,
                  std::vector<TensorId> outputs, Params params) {
  for (const TensorId id : outputs)
    if (id != kNoTensor) producers_[id] = count();
  graph_.add_layer(type, graph_.unique_layer_name(name), std::move(inputs), std::move(outputs),
                   std::move(params));
  dead_.push_back(false);
  uses_.link(count() - 1);
  return count() - 1;
}

void Rewriter::set_input(int i, std::size_t index, TensorId id) {
  std::vector<TensorId>& inputs = layer(i).inputs;
  if (index >= inputs.size()) layer(i).layer_inputs = static_cast<std::uint32_t>(index + 1);
  while (index >= inputs.size()) uses_.append(i, kNoTensor);
  uses_.unlink(i, index);
  inputs[index] = id;
  uses_.link(i, index);
}

std::uint32_t Rewriter::append_post_op_input(int i, TensorId id) {
  uses_.append(i, id);
  return static_cast<std::uint32_t>(layer(i).inputs.size() - 1);
}

void Rewriter::set_output(int i, std::size_t index, TensorId id) {
  TensorId& output = layer(i).outputs[index];
  if (producer(output) == i) producers_[output] = -1;
  output = id;
  if (id != kNoTensor) producers_[id] = i;
}

void Rewriter::redirect(TensorId from, TensorId to) {
  if (from == to) return;
  while (const UseLists::Use* use = uses_.first(from)) set_input(use->layer, use->index, to);
}

TensorId Rewriter::add_constant(std::string_view name, Tensor value) {
  return added(graph_.add_constant(std::string(name), std::move(value)));
}

TensorId Rewriter::add_tensor(TensorDef def) {
  return added(graph_.add_tensor(std::move(def)));
}

TensorId Rewriter::added(TensorId id) {
  producers_.push_back(-1);
  is_output_.push_back(false);
  uses_.add_tensor();
  return id;
}

void retype(Rewriter& rewriter, int i, const LayerType& type, Params params) {
  Layer& layer = rewriter.layer(i);
  layer.type = &type;
  layer.params = std::move(params);
  (void)type.check_params(layer.params);  // infer_shapes() reports what is wrong
  ++rewriter.context().changes;
}

void absorb(Rewriter& rewriter, int into, int from) {
  const TensorId output = rewriter.layer(from).outputs[0];
  const std::vector<PostOp> post_ops = rewriter.layer(from).post_ops;
  for (PostOp op : post_ops) {
    if (op.kind == PostOp::Kind::binary)
      op.input = rewriter.append_post_op_input(into, rewriter.layer(from).inputs[op.input]);
    rewriter.layer(into).post_ops.push_back(op);
  }
  rewriter.add_sources(into, from);
  rewriter.remove(from);
  rewriter.set_output(into, 0, output);
  ++rewriter.context().changes;
}

void absorb_before(Rewriter& rewriter, int into, std::size_t index, int from, TensorId source) {
  rewriter.add_sources(into, from);
  rewriter.remove(from);
  rewriter.set_input(into, index, source);
  ++rewriter.context().changes;
}

bool bypass(Rewriter& rewriter, int i, TensorId source) {
  const TensorId result = rewriter.layer(i).outputs[0];
  TensorDef& kept = rewriter.tensor(source);
  TensorDef& gone = rewriter.tensor(result);
  if (kept.quantization && gone.quantization &&
      !same_levels(*kept.quantization, *gone.quantization))
    return false;
  const int maker = rewriter.producer(source);
  const bool is_output = rewriter.is_output(result);
  // The value must keep the output's name: its maker makes the output directly.
  if (is_output && (maker < 0 || rewriter.is_output(source) || kept.is_constant())) return false;
  if (maker >= 0) rewriter.add_sources(maker, i);
  rewriter.remove(i);
  if (is_output) {
    const std::vector<TensorId>& outputs = rewriter.layer(maker).outputs;
    const auto index = std::find(outputs.begin(), outputs.end(), source) - outputs.begin();
    if (!gone.quantization) gone.quantization = kept.quantization;
    rewriter.redirect(source, result);
    rewriter.set_output(maker, static_cast<std::size_t>(index), result);
  } else {
    if (!kept.quantization) kept.quantization = gone.quantization;
    rewriter.redirect(result, source);
  }
  ++rewriter.context().changes;
  return true;
}

// --- the end ---------------------------------------------------------------------------------

namespace {

// Each list: a layer's own sources, then those of the layers that it took over, each once.
std::unordered_map<int, std::vector<std::string>> joint_sources(
    const Rewriter& rewriter, const std::unordered_map<int, std::vector<int>>& taken_over) {
  std::vector<int> seen_by(static_cast<std::size_t>(rewriter.count()), -1);
  std::vector<int> open;
  std::unordered_map<int, std::vector<std::string>> lists;
  for (const auto& [root, unused] : taken_over) {
    if (!rewriter.alive(root)) continue;
    std::vector<std::string>& list = lists[root];
    std::unordered_set<std::string_view> known;
    open.assign(1, root);
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      if (std::exchange(seen_by[static_cast<std::size_t>(i)], root) == root) continue;
      for (const std::string& source : rewriter.layer(i).sources)
        if (known.insert(source).second) list.push_back(source);
      if (const auto found = taken_over.find(i); found != taken_over.end())
        open.insert(open.end(), found->second.rbegin(), found->second.rend());
    }
  }
  return lists;
}

}  // namespace

Status Rewriter::finish() {
  for (auto& [root, sources] : joint_sources(*this, taken_over_))
    layer(root).sources = std::move(sources);
  if (context_.changes == 0) return {};
  graph_.remove_layers(dead_);
  SN_RETURN_IF_ERROR(graph_.sort());
  graph_.compact_tensors();
  return graph_.infer_shapes(/*name_unknown=*/true);
}

}  // namespace softneuro
