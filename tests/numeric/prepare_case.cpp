// From the description of a case to a problem and its inputs.
#include <cmath>
#include <random>

#include "core/base/element.h"
#include "core/routine/evaluate.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

TensorView writable(Tensor& tensor) {
  return {tensor.data_type(), tensor.layout(), tensor.shape(), tensor.mutable_data()};
}

double special(std::mt19937_64& random) {
  constexpr double kSpecials[] = {0.0,    -0.0,  NAN, INFINITY, -INFINITY, 1e-41,
                                  -1e-41, 1e-20, 3e4, -3e4,     1e30,      -1e30,
                                  0.5,    -0.5,  1.5, 2.5,      -2.5,      1.0};
  return kSpecials[random() % std::size(kSpecials)];
}

// Not the standard library's distributions: theirs differ between implementations.
double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

double gauss(std::mt19937_64& random) {
  const double u = 1 - unit(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * unit(random));
}

double next_value(const Fill& fill, std::size_t index, std::mt19937_64& random) {
  switch (fill.kind) {
    case Fill::Kind::integers:
      return fill.low + std::floor(unit(random) * (fill.high - fill.low + 1));
    case Fill::Kind::uniform:
      return fill.low + unit(random) * (fill.high - fill.low);
    case Fill::Kind::normal:
      return fill.sigma * gauss(random);
    case Fill::Kind::specials:
      return random() % 3 == 0 ? special(random) : fill.sigma * gauss(random);
    case Fill::Kind::explicit_values:
      return fill.values.empty() ? 0 : fill.values[index % fill.values.size()];
  }
  return 0;
}

Result<Tensor> make_input(const CaseInput& input, std::mt19937_64& random) {
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(input.type, input.shape));
  const TensorView view = writable(tensor);
  const std::int64_t count = tensor.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = next_value(input.fill, static_cast<std::size_t>(i), random);
    if (is_float(input.type) || input.fill.kind != Fill::Kind::explicit_values)
      store(view, i, value);
    else  // large int64 values stay exact where double holds them
      store_integer(view, i, value >= 0x1p63 ? INT64_MAX : static_cast<std::int64_t>(value));
  }
  return tensor;
}

TensorSpec spec_of(const CaseInput& input, const Tensor& tensor, bool value_input) {
  TensorSpec spec;
  spec.type = input.type;
  spec.shape = input.shape;
  spec.constant = input.constant;
  spec.quantization = input.quantization;
  if (input.constant || value_input) spec.value = tensor;
  return spec;
}

// FNV-1a, so that a case's inputs do not depend on the cases before it.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = 14695981039346656037ull ^ seed;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

// Where element `index` (row-major in the logical order) is in memory.
std::int64_t place(std::int64_t index, const Shape& shape, Layout layout) {
  if (layout == Layout::plain || shape.rank() < 2) return index;
  const std::int64_t inner = shape.elements(2, shape.rank());
  const std::int64_t channels = shape[1];
  const std::int64_t s = index % inner, c = index / inner % channels, n = index / inner / channels;
  if (layout == Layout::channels_last) return (n * inner + s) * channels + c;
  const std::int64_t block = block_of(layout);
  const std::int64_t blocks = (channels + block - 1) / block;
  return ((n * blocks + c / block) * inner + s) * block + c % block;
}

}  // namespace

Result<PreparedCase> prepare(const Registry& registry, const Case& description,
                             std::uint64_t seed) {
  Layer layer;
  layer.type = registry.layer_types().find(description.layer_type);
  if (layer.type == nullptr)
    return Status(StatusCode::not_found, "no layer type " + description.layer_type);
  layer.name = "tested";
  layer.params = description.params;
  layer.post_ops = description.post_ops;
  layer.layer_inputs = static_cast<std::uint32_t>(description.inputs.size());
  for (PostOp& op : layer.post_ops)
    if (op.kind == PostOp::Kind::binary) op.input += layer.layer_inputs;
  for (std::size_t i = 0; i < description.outputs.size(); ++i)
    layer.outputs.push_back(description.outputs[i] ? static_cast<TensorId>(i) : kNoTensor);

  std::vector<CaseInput> inputs = description.inputs;
  inputs.insert(inputs.end(), description.operands.begin(), description.operands.end());
  std::string text = description.layer_type + description.params.str();
  for (const CaseInput& input : inputs) text += input.shape.str();
  std::mt19937_64 random(hash(text, seed));
  PreparedCase prepared;
  prepared.registry = &registry;
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor tensor;
    if (inputs[i].type != DataType::undefined) {
      SN_ASSIGN_OR_RETURN(tensor, make_input(inputs[i], random));
    }
    const bool value_input = layer.type->needs_value(i);
    specs.push_back(spec_of(inputs[i], tensor, value_input));
    prepared.inputs.push_back(std::move(tensor));
  }
  SN_ASSIGN_OR_RETURN(prepared.problem, make_problem(layer, std::move(specs)));
  return prepared;
}

Result<Tensor> convert_format(const Tensor& tensor, DataType type, Layout layout) {
  SN_ASSIGN_OR_RETURN(Tensor to, Tensor::create(type, tensor.shape(), default_allocator(), layout));
  std::memset(to.mutable_data(), 0, to.bytes());
  const TensorView from = {tensor.data_type(), tensor.layout(), tensor.shape(),
                           const_cast<void*>(tensor.data())};
  const std::int64_t count = tensor.elements();
  for (std::int64_t i = 0; i < count; ++i)
    store(writable(to), place(i, tensor.shape(), layout),
          load(from, place(i, tensor.shape(), tensor.layout())));
  return to;
}

std::optional<PreparedCase> in_format(const PreparedCase& prepared, DataType type, Layout layout) {
  PreparedCase result = prepared;
  if (prepared.problem.outputs.empty()) return std::nullopt;
  bool laid_out = layout == Layout::plain;
  const auto adapt = [&](TensorSpec& spec, bool constant) {
    if (!spec.present()) return;
    if (spec.type == DataType::float32) spec.type = type;
    // As uniform_formats() has it: integers, and fewer dimensions, have no layout but the plain
    // one.
    if (layout == Layout::plain || constant || !is_real(spec.type) || spec.shape.rank() < 3) return;
    spec.layout = layout;
    laid_out = true;
  };
  for (std::size_t i = 0; i < result.inputs.size(); ++i) {
    TensorSpec& spec = result.problem.inputs[i];
    adapt(spec, spec.constant);
    if (!spec.present()) continue;
    Result<Tensor> converted = convert_format(result.inputs[i], spec.type, spec.layout);
    if (!converted.ok()) return std::nullopt;
    result.inputs[i] = *converted;
    if (!spec.value.empty()) spec.value = *converted;
  }
  for (TensorSpec& spec : result.problem.outputs) adapt(spec, false);
  if (!laid_out) return std::nullopt;
  return result;
}

}  // namespace softneuro::test
