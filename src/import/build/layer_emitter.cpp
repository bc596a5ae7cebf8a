#include "import/build/layer_emitter.h"

#include <algorithm>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"

namespace softneuro::build {

// --- inputs and outputs --------------------------------------------------------------------------

std::size_t LayerEmitter::output_count() const {
  std::size_t count = node_.output_names.size();
  while (count > 0 && node_.output_names[count - 1].empty()) --count;
  return count;
}

bool LayerEmitter::wants_output(std::size_t i) const {
  return i < output_count() && !node_.output_names[i].empty();
}

void LayerEmitter::expect_inputs(int min, int max) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(min); ++i)
    if (!has_input(i)) return refuse("input {} is missing", i);
  if (max >= 0 && inputs().size() > static_cast<std::size_t>(max))
    refuse("{} inputs where at most {} are possible", inputs().size(), max);
}

int LayerEmitter::need_rank(TensorId id) {
  const int known = rank(id);
  if (known < 0)
    fail(unsupported("the rank of '{}' is not known, and this operator needs it", tensor(id).name),
         true);
  return std::max(known, 0);
}

std::int64_t LayerEmitter::need_dim(TensorId id, int axis) {
  const std::int64_t known = dim(id, axis);
  if (known < 0)
    fail(unsupported("dimension {} of '{}' is not known, and this operator needs it", axis,
                     tensor(id).name),
         true);
  return std::max<std::int64_t>(known, 0);
}

// --- building ------------------------------------------------------------------------------------

TensorId LayerEmitter::constant(const Tensor& value, std::string_view suffix) {
  if (failed() || value.empty()) return kNoTensor;
  return builder_.add_temporary(fmt::format("{}/{}", node_.name, suffix), value);
}

void LayerEmitter::add_layer(std::string_view type, std::vector<TensorId> inputs,
                             const LayerParams& params, std::vector<TensorId> outputs,
                             const std::string& name) {
  fail(builder_.add_layer(type, name, std::move(inputs), std::move(outputs), params, {node_.name}));
}

TensorId LayerEmitter::emit(std::string_view type, std::vector<TensorId> inputs,
                            const LayerParams& params) {
  if (failed()) return kNoTensor;
  const std::string name = fmt::format("{}/{}", node_.name, type);
  const TensorId output = builder_.add_temporary(name);
  add_layer(type, std::move(inputs), params, {output}, name);
  return output;
}

void LayerEmitter::finish(std::string_view type, std::vector<TensorId> inputs,
                          const LayerParams& params) {
  if (failed()) return;
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < output_count(); ++i)
    outputs.push_back(wants_output(i) ? builder_.add_value(node_.scope, node_.output_names[i])
                                      : kNoTensor);
  if (outputs.empty()) return;  // all outputs are unused
  const LayerType* found = builtin_layer_types().find(type);
  if (found != nullptr && found->outputs.max >= 0 &&
      outputs.size() > static_cast<std::size_t>(found->outputs.max))
    return refuse("{} outputs where at most {} are possible", outputs.size(), found->outputs.max);
  // Output 0 always exists, even if it is unused.
  if (outputs[0] == kNoTensor) outputs[0] = builder_.add_temporary(node_.name + "/unused");
  add_layer(type, std::move(inputs), params, std::move(outputs), node_.name);
}

void LayerEmitter::finish_output(std::size_t i, std::string_view type, std::vector<TensorId> inputs,
                                 const LayerParams& params) {
  if (failed() || !wants_output(i)) return;
  const TensorId output = builder_.add_value(node_.scope, node_.output_names[i]);
  add_layer(type, std::move(inputs), params, {output},
            i == 0 ? node_.name : fmt::format("{}/output{}", node_.name, i));
}

void LayerEmitter::define(std::size_t i, TensorId id) {
  if (failed() || !wants_output(i)) return;
  if (is_constant(id))
    node_.scope.values[node_.output_names[i]] = id;
  else
    finish_output(i, "identity", {id});
}

void LayerEmitter::define_constant(std::size_t i, const Tensor& value) {
  if (failed() || !wants_output(i)) return;
  builder_.add_value(node_.scope, node_.output_names[i], value);
}

void LayerEmitter::set_narrow_output(const NarrowType& type) {
  if (!failed() && wants_output(0))
    builder_.set_narrow(node_.scope.values.at(node_.output_names[0]), type);
}

// --- parts of handlers ---------------------------------------------------------------------------

TensorId integers_constant(LayerEmitter& node, const std::vector<std::int64_t>& values) {
  return node.constant(node.take(Tensor::from(values, {static_cast<std::int64_t>(values.size())})));
}

TensorId integer_constant(LayerEmitter& node, std::int64_t value) {
  return node.constant(node.take(Tensor::from({value}, {})));
}

TensorId number_constant(LayerEmitter& node, double value, DataType type) {
  // Behind a node that was given up, the type is not known and does not matter.
  if (type == DataType::undefined) type = DataType::float32;
  const Tensor made = node.take(Tensor::create(type, {}));
  if (!made.empty()) store(view_of(made), 0, value);
  return node.constant(made);
}

TensorId cast(LayerEmitter& node, TensorId id, DataType type) {
  if (id == kNoTensor || node.type(id) == type) return id;
  return node.emit("cast", {id}, {{"to", to_string(type)}});
}

TensorId unsqueeze(LayerEmitter& node, TensorId id, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? id : node.emit("unsqueeze", {id, integers_constant(node, axes)});
}

TensorId binary(LayerEmitter& node, std::string_view op, TensorId a, TensorId b) {
  return node.emit("binary", {a, b}, {{"op", std::string(op)}});
}

TensorId unary(LayerEmitter& node, std::string_view op, TensorId x, double alpha, double beta) {
  return node.emit("unary", {x}, {{"op", std::string(op)}, {"alpha", alpha}, {"beta", beta}});
}

TensorId less_zero_point(LayerEmitter& node, TensorId x, TensorId zero_point,
                         const std::vector<std::int64_t>& axes) {
  const TensorId wide = cast(node, x, DataType::int32);
  if (zero_point == kNoTensor) return wide;
  const TensorId zero = cast(node, zero_point, DataType::int32);
  return binary(node, "sub", wide, unsqueeze(node, zero, axes));
}

std::vector<std::int64_t> axes_between(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> axes;
  for (; begin < end; ++begin) axes.push_back(begin);
  return axes;
}

}  // namespace softneuro::build
