#include "core/dnn_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "core/dnn_format.h"
#include "core/error.h"

namespace softneuro {
namespace {

static_assert(static_cast<int>(schema::DataType::MAX) == kDataTypeCount - 1);
static_assert(static_cast<int>(schema::DataType::Float64) == static_cast<int>(DataType::float64));
static_assert(static_cast<int>(schema::DataType::UInt64) == static_cast<int>(DataType::uint64));
static_assert(static_cast<int>(schema::DataType::QInt8) == static_cast<int>(DataType::qint8));
static_assert(static_cast<int>(schema::ParamKind::Text) == static_cast<int>(ParamKind::text));
static_assert(static_cast<int>(schema::ParamKind::Texts) == static_cast<int>(ParamKind::texts));

}  // namespace

Status DnnDecoder::charge(std::uint64_t bytes) {
  if (bytes > budget_) return invalid_model("several entries of the file share the same bytes");
  budget_ -= bytes;
  return {};
}

// A table of the vector takes the four bytes of its offset and at least four of its own.
template <class T>
Status DnnDecoder::count(const flatbuffers::Vector<T>* source) {
  return charge(source == nullptr ? 0 : 4 + std::uint64_t{source->size()} * (sizeof(T) + 4));
}

Result<std::string> DnnDecoder::text(const flatbuffers::String* source) {
  if (source == nullptr) return std::string();
  SN_RETURN_IF_ERROR(charge(std::uint64_t{source->size()} + 5));
  return source->str();
}

Result<std::vector<std::string>> DnnDecoder::texts(const Strings* source) {
  std::vector<std::string> result;
  if (source == nullptr) return result;
  SN_RETURN_IF_ERROR(charge(4 + 4 * std::uint64_t{source->size()}));
  result.reserve(source->size());
  for (const flatbuffers::String* entry : *source) {
    SN_ASSIGN_OR_RETURN(std::string value, text(entry));
    result.push_back(std::move(value));
  }
  return result;
}

template <class T>
Result<std::vector<T>> DnnDecoder::numbers(const flatbuffers::Vector<T>* source) {
  if (source == nullptr) return std::vector<T>();
  SN_RETURN_IF_ERROR(charge(4 + std::uint64_t{source->size()} * sizeof(T)));
  return std::vector<T>(source->begin(), source->end());
}

Result<Graph> DnnDecoder::graph(const schema::Graph& source, int nesting) {
  if (nesting > kDnnMaxNesting)
    return invalid_model("subgraphs are nested more than {} deep", kDnnMaxNesting);
  Graph graph;
  SN_ASSIGN_OR_RETURN(graph.name, text(source.name()));
  SN_ASSIGN_OR_RETURN(graph.inputs, numbers(source.inputs()));
  SN_ASSIGN_OR_RETURN(graph.outputs, numbers(source.outputs()));
  SN_ASSIGN_OR_RETURN(graph.applied_passes, texts(source.applied_passes()));
  SN_ASSIGN_OR_RETURN(std::vector<TensorDef> definitions, tensors(source));
  graph.set_tensors(std::move(definitions));

  SN_RETURN_IF_ERROR(count(source.layers()));
  std::unordered_set<LayerId> ids;
  graph.layers().reserve(source.layers()->size());
  for (const schema::Layer* row : *source.layers()) {
    SN_ASSIGN_OR_RETURN(Layer decoded, layer(*row, nesting));
    if (decoded.id >= source.next_layer_id() || !ids.insert(decoded.id).second)
      return invalid_model("layer '{}' has the id {}, which is taken or not below {}", decoded.name,
                           decoded.id, source.next_layer_id());
    graph.layers().push_back(std::move(decoded));
  }
  graph.set_next_layer_id(source.next_layer_id());
  return graph;
}

Result<std::vector<TensorDef>> DnnDecoder::tensors(const schema::Graph& source) {
  SN_RETURN_IF_ERROR(count(source.tensors()));
  std::vector<TensorDef> result;
  result.reserve(source.tensors()->size());  // names below point into the elements
  std::unordered_set<std::string_view> names;
  for (const schema::Tensor* row : *source.tensors()) {
    Result<TensorDef> decoded = tensor(*row);
    if (!decoded.ok())
      return Status(decoded.status())
          .with_context(fmt::format("tensor '{}'", row->name()->string_view()));
    result.push_back(*std::move(decoded));
    if (result.back().name.empty()) return invalid_model("tensor {} has no name", names.size());
    if (!names.insert(result.back().name).second)
      return invalid_model("two tensors have the name '{}'", result.back().name);
  }
  return result;
}

Result<TensorDef> DnnDecoder::tensor(const schema::Tensor& source) {
  TensorDef def;
  SN_ASSIGN_OR_RETURN(def.name, text(source.name()));
  if (source.type() > schema::DataType::MAX)
    return invalid_model("unknown data type {}", static_cast<int>(source.type()));
  def.type = static_cast<DataType>(source.type());
  SN_ASSIGN_OR_RETURN(def.shape, shape(source));
  if (source.segment()) {
    SN_ASSIGN_OR_RETURN(def.constant, constant(*source.segment(), def.type, def.shape));
  }
  if (source.quantization() != nullptr) {
    SN_ASSIGN_OR_RETURN(def.quantization, quantization(*source.quantization(), def.shape));
  }
  return def;
}

Result<DynamicShape> DnnDecoder::shape(const schema::Tensor& source) {
  if (source.dims() == nullptr) {
    if (source.symbols() != nullptr) return invalid_model("symbols without dimensions");
    return DynamicShape();
  }
  if (!Shape::fits(source.dims()->size()))
    return invalid_model("{} dimensions; at most {} are possible", source.dims()->size(), kMaxRank);
  SN_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values, numbers(source.dims()));
  SN_ASSIGN_OR_RETURN(std::vector<std::string> symbols, texts(source.symbols()));
  if (source.symbols() != nullptr && symbols.size() != values.size())
    return invalid_model("{} dimensions, but {} symbols", values.size(), symbols.size());
  std::vector<Dim> dims(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < -1) return invalid_model("dimension {} is {}", i, values[i]);
    dims[i].value = values[i];
    if (!symbols.empty()) dims[i].symbol = std::move(symbols[i]);
  }
  return DynamicShape(std::move(dims));
}

Result<Tensor> DnnDecoder::constant(std::uint32_t segment, DataType type,
                                    const DynamicShape& shape) {
  if (!shape.is_static() || type == DataType::undefined)
    return invalid_model("a constant of unknown shape or data type");
  if (segment >= segments_.size())
    return invalid_model("segment {} of {} holds its bytes", segment, segments_.size());
  const std::span<const std::byte> bytes = segments_[segment];
  const std::int64_t needed = storage_bytes(type, shape.to_shape(), Layout::plain);
  if (needed < 0 || static_cast<std::uint64_t>(needed) != bytes.size())
    return invalid_model("{}[{}] takes {} bytes, but segment {} has {}", to_string(type),
                         shape.str(), needed < 0 ? "too many" : std::to_string(needed), segment,
                         bytes.size());
  // A C++ bool that is neither 0 nor 1 is undefined behaviour wherever it is read.
  if (type == DataType::boolean &&
      std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    return invalid_model("a boolean that is neither 0 nor 1");
  if (owner_ == nullptr)
    return Tensor::borrow_const(type, shape.to_shape(), bytes.data(), bytes.size());
  return Tensor::share(type, shape.to_shape(), bytes.data(), bytes.size(), owner_);
}

Result<Quantization> DnnDecoder::quantization(const schema::Quantization& source,
                                              const DynamicShape& shape) {
  Quantization result;
  result.is_signed = source.is_signed();
  result.axis = source.axis();
  SN_ASSIGN_OR_RETURN(result.scales, numbers(source.scales()));
  SN_ASSIGN_OR_RETURN(result.zero_points, numbers(source.zero_points()));
  if (result.scales.size() != result.zero_points.size() || result.scales.empty())
    return invalid_model("quantisation with {} scales and {} zero points", result.scales.size(),
                         result.zero_points.size());
  for (const float scale : result.scales)
    if (!(scale > 0) || !std::isfinite(scale)) return invalid_model("quantisation scale {}", scale);
  if (result.axis == -1) {
    if (result.scales.size() == 1) return result;
    return invalid_model("{} quantisation scales, but no axis", result.scales.size());
  }
  if (result.axis < 0 || result.axis >= kMaxRank || (shape.ranked() && result.axis >= shape.rank()))
    return invalid_model("quantisation axis {} of a tensor of shape {}", result.axis, shape.str());
  if (!shape.ranked()) return result;
  const Dim& dim = shape[result.axis];
  if (dim.known() && static_cast<std::uint64_t>(dim.value) != result.scales.size())
    return invalid_model("{} quantisation scales along axis {} of size {}", result.scales.size(),
                         result.axis, dim.value);
  return result;
}

Result<Layer> DnnDecoder::layer(const schema::Layer& source, int nesting) {
  Layer result;
  Status status = layer_contents(source, nesting, result);
  if (!status.ok())
    return std::move(status).with_context(fmt::format("layer '{}'", source.name()->string_view()));
  return result;
}

Status DnnDecoder::layer_contents(const schema::Layer& source, int nesting, Layer& layer) {
  SN_ASSIGN_OR_RETURN(layer.name, text(source.name()));
  SN_ASSIGN_OR_RETURN(const std::string type, text(source.type()));
  layer.type = types_.find(type);
  if (layer.type == nullptr)
    return unsupported(
        "this library does not know the layer type '{}'; a newer one, or one that "
        "was built with more layer types, may",
        type);
  layer.id = source.id();
  SN_ASSIGN_OR_RETURN(layer.inputs, numbers(source.inputs()));
  SN_ASSIGN_OR_RETURN(layer.outputs, numbers(source.outputs()));
  layer.own_inputs = source.own_inputs();
  if (layer.own_inputs > layer.inputs.size())
    return invalid_model("{} inputs of its own, but {} in all", layer.own_inputs,
                         layer.inputs.size());
  SN_RETURN_IF_ERROR(params(source, layer.params));
  SN_RETURN_IF_ERROR(layer.type->check_params(layer.params));
  SN_ASSIGN_OR_RETURN(layer.sources, texts(source.sources()));

  SN_RETURN_IF_ERROR(count(source.post_ops()));
  if (source.post_ops() != nullptr)
    for (const schema::PostOp* row : *source.post_ops()) {
      SN_ASSIGN_OR_RETURN(const PostOp op, post_op(*row));
      if (op.kind == PostOp::Kind::binary &&
          (op.input < layer.own_inputs || op.input >= layer.inputs.size()))
        return invalid_model("post-op '{}' reads input {}; post-ops' inputs are {} to {}",
                             to_string(op.binary), op.input, layer.own_inputs, layer.inputs.size());
      layer.post_ops.push_back(op);
    }

  SN_RETURN_IF_ERROR(count(source.subgraphs()));
  if (source.subgraphs() != nullptr)
    for (const schema::Graph* row : *source.subgraphs()) {
      SN_ASSIGN_OR_RETURN(Graph subgraph, graph(*row, nesting + 1));
      layer.subgraphs.push_back(std::make_shared<const Graph>(std::move(subgraph)));
    }
  return {};
}

Status DnnDecoder::params(const schema::Layer& source, Params& params) {
  SN_RETURN_IF_ERROR(count(source.params()));
  if (source.params() == nullptr) return {};
  for (const schema::Param* row : *source.params()) {
    SN_ASSIGN_OR_RETURN(const std::string name, text(row->name()));
    if (params.has(name)) return invalid_model("parameter '{}' is given twice", name);
    Result<ParamValue> value = param_value(*row);
    if (!value.ok())
      return Status(value.status()).with_context(fmt::format("parameter '{}'", name));
    params.set(name, *std::move(value));
  }
  return {};
}

Result<ParamValue> DnnDecoder::param_value(const schema::Param& source) {
  SN_ASSIGN_OR_RETURN(std::vector<std::int64_t> integers, numbers(source.integers()));
  SN_ASSIGN_OR_RETURN(std::vector<double> reals, numbers(source.reals()));
  SN_ASSIGN_OR_RETURN(std::vector<std::string> texts, this->texts(source.texts()));
  switch (source.kind()) {
    case schema::ParamKind::Integer:
      if (integers.size() == 1) return ParamValue(integers[0]);
      break;
    case schema::ParamKind::Real:
      if (reals.size() == 1) return ParamValue(reals[0]);
      break;
    case schema::ParamKind::Text:
      if (texts.size() == 1) return ParamValue(std::move(texts[0]));
      break;
    case schema::ParamKind::Integers:
      return ParamValue(std::move(integers));
    case schema::ParamKind::Reals:
      return ParamValue(std::move(reals));
    case schema::ParamKind::Texts:
      return ParamValue(std::move(texts));
  }
  return invalid_model("unknown kind {}, or not exactly one value",
                       static_cast<int>(source.kind()));
}

Result<PostOp> DnnDecoder::post_op(const schema::PostOp& source) {
  SN_ASSIGN_OR_RETURN(const std::string name, text(source.op()));
  PostOp op;
  bool known = false;
  if (source.kind() == schema::PostOpKind::Unary) {
    op.kind = PostOp::Kind::unary;
    known = parse(name, op.unary);
    op.alpha = source.alpha().value_or(0);
    op.beta = source.beta().value_or(0);
  } else if (source.kind() == schema::PostOpKind::Binary) {
    op.kind = PostOp::Kind::binary;
    known = parse(name, op.binary);
    op.input = source.input();
    op.swapped = source.swapped();
  }
  if (!known) return unsupported("this library does not know the post-op '{}'", name);
  return op;
}

}  // namespace softneuro
