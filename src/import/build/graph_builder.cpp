#include "import/build/graph_builder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "routines/builtin.h"

namespace softneuro::build {
namespace {

// What a layer type does with inputs of a narrow type.
struct NarrowUse {
  // The inputs that are of it, all of one type; none: such inputs are not supported.
  bool takes(std::size_t input) const {
    return takes_all || std::ranges::find(inputs, static_cast<int>(input)) != std::end(inputs);
  }
  int inputs[2] = {-1, -1};
  bool takes_all = false;
  bool is_kept = true;  // outputs are of the type, too
};

NarrowUse narrow_use(const LayerType& type) {
  if (type.name == "cast" || type.name == "shape" || type.name == "size")
    return {.inputs = {0, -1}, .is_kept = false};
  if (type.name == "dequantize") return {.inputs = {0, 2}, .is_kept = false};
  if (type.name == "quantize") return {.inputs = {2, -1}, .is_kept = false};  // see its handler
  if (type.name == "fill") return {.inputs = {1, -1}};
  if (type.name == "pad") return {.inputs = {0, 2}};
  if (type.moves_elements()) return {.inputs = {0, -1}};
  if (type.elements == ElementSource::all_inputs) return {.takes_all = true};
  return {};
}

}  // namespace

const TensorId* ValueScope::find(const std::string& value) const {
  for (const ValueScope* scope = this; scope != nullptr; scope = scope->parent) {
    const auto it = scope->values.find(value);
    if (it != scope->values.end()) return &it->second;
  }
  return nullptr;
}

std::string Names::take(const std::string& base, bool may_be_reserved) {
  std::string name = base;
  const auto try_name = [&] {
    return (may_be_reserved || !reserved.contains(name)) && taken.insert(name).second;
  };
  if (try_name()) return name;
  int& next = next_suffix[base];
  do name = fmt::format("{}_{}", base, ++next);
  while (!try_name());
  return name;
}

TensorId GraphBuilder::add(std::string name, const Tensor& constant) {
  return constant.empty() ? graph_.add_tensor({.name = std::move(name)})
                          : graph_.add_constant(std::move(name), constant);
}

TensorId GraphBuilder::add_value(ValueScope& scope, const std::string& name,
                                 const Tensor& constant) {
  const bool in_main_graph = scope.depth == 0;
  const TensorId id = add(tensor_names_.take(scope.prefix + name, in_main_graph), constant);
  scope.values.emplace(name, id);
  return id;
}

TensorId GraphBuilder::add_temporary(const std::string& name, const Tensor& constant) {
  return add(tensor_names_.take(name), constant);
}

Result<TensorId> GraphBuilder::add_copy(TensorId id, const std::string& name) {
  if (graph_.tensor(id).name == name) graph_.rename_tensor(id, tensor_names_.take(name + "/value"));
  const TensorId copy = add(name, {});
  SN_RETURN_IF_ERROR(add_layer("identity", name + "/output", {id}, {copy}));
  return copy;
}

Status GraphBuilder::add_layer(std::string_view type, const std::string& name,
                               std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                               Params params, std::vector<std::string> sources) {
  while (!inputs.empty() && inputs.back() == kNoTensor) inputs.pop_back();
  const LayerType* found = builtin_layer_types().find(type);
  if (found == nullptr) return unsupported("the layer type '{}' is not part of this build", type);
  const auto count = static_cast<int>(inputs.size());
  if (!found->inputs.allows(count)) return invalid_model("{} inputs are not possible here", count);
  SN_RETURN_IF_ERROR(found->check_params(params));
  Layer& layer = graph_.add_layer(*found, layer_names_.take(name), std::move(inputs),
                                  std::move(outputs), std::move(params));
  layer.sources = std::move(sources);
  SN_RETURN_IF_ERROR(infer(layer));
  return pass_on_narrow(layer);
}

std::optional<NarrowType> GraphBuilder::narrow(TensorId id) const {
  const auto known = narrow_.find(id);
  return known == narrow_.end() ? std::nullopt : std::optional(known->second);
}

Status GraphBuilder::pass_on_narrow(const Layer& layer) {
  std::optional<NarrowType> type;
  for (const TensorId id : layer.inputs)
    if (!type) type = narrow(id);
  if (!type) return {};
  const NarrowUse use = narrow_use(*layer.type);
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const TensorId id = layer.inputs[i];
    if (id != kNoTensor && narrow(id) != (use.takes(i) ? type : std::nullopt))
      return unsupported(
          "a tensor of {} may be moved, cast, quantised to and dequantised; this is not supported",
          type->name);
  }
  for (const TensorId id : layer.outputs)
    if (use.is_kept && id != kNoTensor && graph_.tensor(id).type == type->type)
      set_narrow(id, *type);
  return {};
}

const Tensor* GraphBuilder::value(TensorId id) {
  if (const Tensor* known = shape_values_.tensor(id); known != nullptr) return known;
  const auto it = folded_.find(id);
  return it == folded_.end() ? nullptr : &it->second;
}

Status GraphBuilder::infer(const Layer& layer) {
  std::vector<InferContext::Input> inputs;
  for (const TensorId id : layer.inputs) {
    InferContext::Input input;
    if (id != kNoTensor) {
      const TensorDef& def = graph_.tensor(id);
      if (def.type == DataType::undefined) return {};  // comes from a node that was given up
      input.type = def.type;
      input.shape = def.shape;
      input.value = value(id);
    }
    inputs.push_back(std::move(input));
  }
  std::vector<InferContext::Output> outputs(layer.outputs.size());
  InferContext context(layer.params, inputs, outputs);
  SN_RETURN_IF_ERROR(layer.type->infer(context));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (layer.outputs[i] == kNoTensor) continue;
    TensorDef& def = graph_.tensor(layer.outputs[i]);
    def.type = outputs[i].type;
    def.shape = std::move(outputs[i].shape);
  }
  shape_values_.visit(layer);
  fold(layer);
  return {};
}

// What exporters compute from constants to get at sizes, paddings and conditions is small; large
// constants are the passes' business.
void GraphBuilder::fold(const Layer& layer) {
  constexpr std::size_t max_input_bytes = 16384;
  constexpr std::int64_t max_output_bytes = 2048;
  // As much as any one of the above takes, whose work is by elements: a product over many axes of
  // small constants is none of them.
  constexpr double max_steps = 1e6;
  if (layer.type->data_dependent_output || layer.inputs.empty()) return;
  bool all_known = true;
  for (const TensorId id : layer.outputs) {
    if (id == kNoTensor) continue;
    const TensorDef& def = graph_.tensor(id);
    if (!def.shape.is_static()) return;
    const std::int64_t bytes = storage_bytes(def.type, def.shape.to_shape(), Layout::plain);
    if (bytes < 0 || bytes > max_output_bytes) return;
    all_known = all_known && value(id) != nullptr;
  }
  if (all_known) return;
  std::vector<Tensor> inputs;
  std::size_t input_bytes = 0;
  for (const TensorId id : layer.inputs) {
    inputs.emplace_back();
    if (id == kNoTensor) continue;
    const Tensor* known = value(id);
    if (known == nullptr) return;
    inputs.back() = *known;
    input_bytes += known->bytes();
  }
  if (input_bytes > max_input_bytes) return;
  if (!registry_) {
    Result<Registry> made = make_builtin_registry();
    if (!made.ok()) return;
    registry_.emplace(*std::move(made));
  }
  Result<std::vector<Tensor>> values =
      evaluate(*registry_, layer, inputs, default_allocator(), {max_output_bytes, max_steps});
  if (!values.ok()) return;  // ignored: the error is reported when the layer runs
  for (std::size_t i = 0; i < values->size() && i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor) folded_[layer.outputs[i]] = (*values)[i];
}

}  // namespace softneuro::build
