#include "core/dnn/decoder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file_mapping.h"
#include "core/dnn/file_header.h"

namespace softneuro {
namespace {

static_assert(static_cast<int>(schema::DataType::MAX) == kDataTypeCount - 1);
static_assert(static_cast<int>(schema::DataType::Float64) == static_cast<int>(DataType::float64));
static_assert(static_cast<int>(schema::DataType::UInt64) == static_cast<int>(DataType::uint64));
static_assert(static_cast<int>(schema::DataType::QInt8) == static_cast<int>(DataType::qint8));
static_assert(static_cast<int>(schema::ParamKind::Text) == static_cast<int>(ParamKind::text));
static_assert(static_cast<int>(schema::ParamKind::Texts) == static_cast<int>(ParamKind::texts));

template <class T>
using Rows = flatbuffers::Vector<flatbuffers::Offset<T>>;

// Copies fields out of the graph part, of which it reads no more than there are bytes: a file that
// refers to one piece many times would need far more memory than its size. The writer never does
// that.
class FieldReader {
 public:
  explicit FieldReader(std::uint64_t graph_bytes) : budget_(graph_bytes) {}

  // A table of the vector takes the four bytes of its offset and at least four of its own.
  template <class T>
  Status count(const Rows<T>* source) {
    return charge(source == nullptr ? 0 : 4 + std::uint64_t{source->size()} * 8);
  }

  Result<std::string> text(const flatbuffers::String* source) {
    if (source == nullptr) return std::string();
    SN_RETURN_IF_ERROR(charge(std::uint64_t{source->size()} + 5));
    return source->str();
  }

  // What read(row) makes of each row, in order; none where the vector is absent.
  template <class T, class Read,
            class V = typename std::invoke_result_t<Read, const T&>::value_type>
  Result<std::vector<V>> each(const Rows<T>* source, Read&& read) {
    std::vector<V> result;
    SN_RETURN_IF_ERROR(count(source));
    if (source == nullptr) return result;
    result.reserve(source->size());
    for (const T* row : *source) {
      SN_ASSIGN_OR_RETURN(result.emplace_back(), read(*row));
    }
    return result;
  }

  Result<std::vector<std::string>> texts(const Rows<schema::Text>* source) {
    return each(source, [&](const schema::Text& row) { return text(row.value()); });
  }

  template <class T>
  Result<std::vector<T>> numbers(const flatbuffers::Vector<T>* source) {
    if (source == nullptr) return std::vector<T>();
    SN_RETURN_IF_ERROR(charge(4 + std::uint64_t{source->size()} * sizeof(T)));
    return std::vector<T>(source->begin(), source->end());
  }

  Status params(const Rows<schema::Param>* source, Params& params) {
    SN_RETURN_IF_ERROR(count(source));
    if (source == nullptr) return {};
    for (const schema::Param* row : *source) {
      SN_ASSIGN_OR_RETURN(const std::string name, text(row->name()));
      if (params.has(name)) return invalid_model("parameter '{}' is given twice", name);
      Result<ParamValue> value = param_value(*row);
      if (!value.ok())
        return Status(value.status()).with_context(fmt::format("parameter '{}'", name));
      params.set(name, *std::move(value));
    }
    return {};
  }

  Result<ParamValue> param_value(const schema::Param& source) {
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

 private:
  Status charge(std::uint64_t bytes) {
    if (bytes > budget_) return invalid_model("several entries of the file share the same bytes");
    budget_ -= bytes;
    return {};
  }

  std::uint64_t budget_;  // bytes that were not read yet
};

Result<Tensor> left_out(DataType type, const DynamicShape& shape) {
  if (!shape.is_static() || type == DataType::undefined)
    return invalid_model("left out of the file, but its shape or data type is not known");
  const std::int64_t bytes = storage_bytes(type, shape.to_shape(), Layout::plain);
  if (bytes < 0) return invalid_model("shape {} has too many elements", shape.str());
  const auto size = static_cast<std::size_t>(bytes);
  SN_ASSIGN_OR_RETURN(std::shared_ptr<const void> zeros, map_zeros(size));
  const void* const data = zeros.get();
  return Tensor::share(type, shape.to_shape(), data, size, std::move(zeros));
}

// What is decoded must have passed the FlatBuffers verifier.
class Decoder : private FieldReader {
 public:
  // `segments` and `types` must outlive this object; constants of the result keep `owner`.
  // `graph_bytes` is the size of the graph part.
  Decoder(const LayerTypes& types, std::span<const std::span<const std::byte>> segments,
          std::shared_ptr<const void> owner, std::uint64_t graph_bytes)
      : FieldReader(graph_bytes), types_(types), segments_(segments), owner_(std::move(owner)) {}

  Result<DnnContents> file(const schema::File& source) {
    DnnContents contents;
    SN_ASSIGN_OR_RETURN(contents.graph, graph(*source.graph(), 0));
    SN_RETURN_IF_ERROR(contents.graph.verify(types_));
    SN_RETURN_IF_ERROR(paths(source, contents));
    SN_ASSIGN_OR_RETURN(contents.packed, packed(source));
    return contents;
  }

 private:
  Result<Graph> graph(const schema::Graph& source, int nesting) {
    if (nesting > kDnnMaxNesting)
      return invalid_model("subgraphs are nested more than {} deep", kDnnMaxNesting);
    Graph graph;
    SN_ASSIGN_OR_RETURN(graph.name, text(source.name()));
    SN_ASSIGN_OR_RETURN(graph.inputs, numbers(source.inputs()));
    SN_ASSIGN_OR_RETURN(graph.outputs, numbers(source.outputs()));
    SN_ASSIGN_OR_RETURN(graph.applied_passes, texts(source.applied_passes()));
    SN_RETURN_IF_ERROR(tensors(source, graph));
    SN_RETURN_IF_ERROR(count(source.layers()));
    graph.layers().reserve(source.layers()->size());
    for (const schema::Layer* row : *source.layers())
      SN_RETURN_IF_ERROR(layer(*row, nesting, graph.layers().emplace_back())
                             .with_context(fmt::format("layer '{}'", row->name()->string_view())));
    graph.set_next_layer_id(source.next_layer_id());
    return graph;
  }

  Status tensors(const schema::Graph& source, Graph& graph) {
    SN_RETURN_IF_ERROR(count(source.tensors()));
    for (const schema::Tensor* row : *source.tensors()) {
      Result<TensorDef> def = tensor(*row);
      if (!def.ok())
        return Status(def.status())
            .with_context(fmt::format("tensor '{}'", row->name()->string_view()));
      // Graph would make up another name.
      if (def->name.empty()) return invalid_model("tensor {} has no name", graph.tensor_count());
      if (graph.find_tensor(def->name) != kNoTensor)
        return invalid_model("two tensors are called '{}'", def->name);
      graph.add_tensor(*std::move(def));
    }
    return {};
  }

  Result<TensorDef> tensor(const schema::Tensor& source) {
    TensorDef def;
    SN_ASSIGN_OR_RETURN(def.name, text(source.name()));
    if (source.type() > schema::DataType::MAX)
      return invalid_model("unknown data type {}", static_cast<int>(source.type()));
    def.type = static_cast<DataType>(source.type());
    SN_ASSIGN_OR_RETURN(def.shape, shape(source));
    if (source.segment()) {
      SN_ASSIGN_OR_RETURN(def.constant, constant(*source.segment(), def.type, def.shape));
    } else if (source.left_out()) {
      SN_ASSIGN_OR_RETURN(def.constant, left_out(def.type, def.shape));
      def.left_out = true;
    }
    if (source.quantization() != nullptr) {
      SN_ASSIGN_OR_RETURN(def.quantization, quantization(*source.quantization()));
    }
    return def;
  }

  Result<DynamicShape> shape(const schema::Tensor& source) {
    if (source.dims() == nullptr) {
      if (source.symbols() != nullptr) return invalid_model("symbols without dimensions");
      return DynamicShape();
    }
    if (!Shape::fits(source.dims()->size()))
      return invalid_model("{} dimensions; at most {} are possible", source.dims()->size(),
                           kMaxRank);
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

  Result<Tensor> constant(std::uint32_t segment, DataType type, const DynamicShape& shape) {
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

  Result<Quantization> quantization(const schema::Quantization& source) {
    Quantization result;
    result.is_signed = source.is_signed();
    result.axis = source.axis();
    SN_ASSIGN_OR_RETURN(result.scales, numbers(source.scales()));
    SN_ASSIGN_OR_RETURN(result.zero_points, numbers(source.zero_points()));
    SN_ASSIGN_OR_RETURN(result.channel_means, numbers(source.channel_means()));
    result.calibrated = source.calibrated();
    return result;
  }

  Status layer(const schema::Layer& source, int nesting, Layer& layer) {
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
    layer.layer_inputs = source.layer_inputs();
    SN_RETURN_IF_ERROR(params(source.params(), layer.params));
    SN_RETURN_IF_ERROR(layer.type->check_params(layer.params));
    SN_ASSIGN_OR_RETURN(layer.sources, texts(source.sources()));
    SN_ASSIGN_OR_RETURN(layer.post_ops, each(source.post_ops(), [&](const schema::PostOp& row) {
                          return post_op(row);
                        }));
    SN_ASSIGN_OR_RETURN(layer.subgraphs, each(source.subgraphs(), [&](const schema::Graph& row) {
                          return graph(row, nesting + 1).transform([](Graph&& subgraph) {
                            return std::make_shared<const Graph>(std::move(subgraph));
                          });
                        }));
    return {};
  }

  Result<PostOp> post_op(const schema::PostOp& source) {
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

  // --- tuned paths ------------------------------------------------------------------------------

  Status paths(const schema::File& source, DnnContents& contents) {
    SN_RETURN_IF_ERROR(count(source.paths()));
    if (source.paths() == nullptr) return {};
    for (const schema::TunedPath* row : *source.paths()) {
      RoutinePath path;
      // One that speaks of what this library does not know (another device, another type) concerns
      // machines that do.
      if (const Status status = this->path(*row, contents.graph, path); status.ok())
        contents.paths.push_back(std::move(path));
      else
        contents.unread_paths.push_back(
            fmt::format("tuned path {} is left out, since this version cannot read it: {}",
                        contents.paths.size() + contents.unread_paths.size(), status.message()));
    }
    return {};
  }

  Result<PackedByKey> packed(const schema::File& source) {
    PackedByKey packed;
    SN_RETURN_IF_ERROR(count(source.packed()));
    if (source.packed() == nullptr) return packed;
    for (const schema::PackedWeights* row : *source.packed()) {
      SN_ASSIGN_OR_RETURN(std::string key, text(row->key()));
      if (row->segment() >= segments_.size())
        return invalid_model("segment {} of {} holds packed weights", row->segment(),
                             segments_.size());
      const DynamicShape shape(Shape{static_cast<std::int64_t>(segments_[row->segment()].size())});
      SN_ASSIGN_OR_RETURN(Tensor bytes, constant(row->segment(), DataType::uint8, shape));
      packed.emplace(std::move(key), std::move(bytes));
    }
    return packed;
  }

  Status path(const schema::TunedPath& source, const Graph& graph, RoutinePath& path) {
    SN_ASSIGN_OR_RETURN(path.machine, text(source.machine()));
    path.threads = static_cast<int>(std::min(source.threads(), 1u << 20));
    SN_ASSIGN_OR_RETURN(path.schemas, texts(source.schemas()));
    path.time_us = source.time_us();
    path.untuned_us = source.untuned_us();
    path.error = source.error();
    SN_RETURN_IF_ERROR(path_shapes(source, path));
    std::unordered_map<LayerId, const Layer*> layers;
    for (const Layer& layer : graph.layers()) layers.emplace(layer.id, &layer);
    SN_RETURN_IF_ERROR(count(source.layers()));
    for (const schema::TunedLayer* row : *source.layers()) {
      const auto found = layers.find(row->layer());
      if (found == layers.end()) return invalid_model("there is no layer {}", row->layer());
      SN_ASSIGN_OR_RETURN(Choice choice, this->choice(*row, *found->second));
      if (!path.layers.emplace(row->layer(), std::move(choice)).second)
        return invalid_model("the path has two choices for layer {}", row->layer());
    }
    SN_ASSIGN_OR_RETURN(path.adapts, each(source.adapts(), [&](const schema::TunedAdapt& row) {
                          return adapt(row, graph);
                        }));
    return {};
  }

  Status path_shapes(const schema::TunedPath& source, RoutinePath& path) {
    SN_RETURN_IF_ERROR(count(source.shapes()));
    for (const schema::InputShape* row : *source.shapes()) {
      SN_ASSIGN_OR_RETURN(std::string name, text(row->name()));
      SN_ASSIGN_OR_RETURN(const std::vector<std::int64_t> dims, numbers(row->dims()));
      if (!Shape::fits(dims.size()))
        return invalid_model("input '{}' has {} dimensions", name, dims.size());
      Shape shape;
      for (const std::int64_t dim : dims) {
        if (dim < 0) return invalid_model("input '{}' has the dimension {}", name, dim);
        shape.push_back(dim);
      }
      path.shapes.emplace(std::move(name), shape);
    }
    return {};
  }

  Result<Choice> choice(const schema::TunedLayer& source, const Layer& layer) {
    Choice choice;
    SN_ASSIGN_OR_RETURN(choice.routine, text(source.routine()));
    SN_RETURN_IF_ERROR(params(source.params(), choice.params));
    SN_ASSIGN_OR_RETURN(const std::string formats, text(source.formats()));
    SN_ASSIGN_OR_RETURN(choice.formats, FormatTuple::parse(formats));
    if (choice.formats.inputs.size() != layer.inputs.size() ||
        choice.formats.outputs.size() != layer.outputs.size())
      return invalid_model("layer '{}' has {} inputs and {} outputs, its formats are '{}'",
                           layer.name, layer.inputs.size(), layer.outputs.size(), formats);
    choice.time_us = source.time_us();
    return choice;
  }

  Result<AdaptChoice> adapt(const schema::TunedAdapt& source, const Graph& graph) {
    AdaptChoice adapt;
    if (source.tensor() >= graph.tensor_count())
      return invalid_model("there is no tensor {}", source.tensor());
    adapt.tensor = source.tensor();
    SN_ASSIGN_OR_RETURN(const std::string from, text(source.from()));
    SN_ASSIGN_OR_RETURN(const std::string to, text(source.to()));
    SN_ASSIGN_OR_RETURN(adapt.from, Format::parse(from));
    SN_ASSIGN_OR_RETURN(adapt.to, Format::parse(to));
    SN_ASSIGN_OR_RETURN(adapt.routine, text(source.routine()));
    SN_RETURN_IF_ERROR(params(source.params(), adapt.params));
    adapt.time_us = source.time_us();
    return adapt;
  }

  const LayerTypes& types_;
  std::span<const std::span<const std::byte>> segments_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

Result<DnnContents> decode_dnn(const schema::File& file, const LayerTypes& types,
                               std::span<const std::span<const std::byte>> segments,
                               std::shared_ptr<const void> owner, std::uint64_t graph_bytes) {
  return Decoder(types, segments, std::move(owner), graph_bytes).file(file);
}

}  // namespace softneuro
