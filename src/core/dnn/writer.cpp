// Graph → .dnn: collects the constants, encodes the graph, then writes header, graph and segments.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/tensor_view.h"
#include "core/dnn/file.h"
#include "core/dnn/file_header.h"
#include "schemas/softneuro_generated.h"

namespace softneuro {
namespace {

template <class T>
using Offset = flatbuffers::Offset<T>;
template <class T>
using VectorOffset = Offset<flatbuffers::Vector<T>>;
using TextsOffset = VectorOffset<Offset<schema::Text>>;

struct SegmentBytes {
  std::span<const std::byte> bytes;
  std::uint64_t checksum;
  std::uint64_t offset;  // from the start of the first segment
};

// The distinct constants of a graph, in order of first use.
class Segments {
 public:
  // Index of the segment that holds the constant's bytes.
  std::uint32_t add(const Tensor& constant) {
    const std::span bytes(static_cast<const std::byte*>(constant.data()), constant.bytes());
    const auto padding = static_cast<std::size_t>(dnn_padding(bytes.size()));
    const std::uint64_t sum = checksum(bytes.data(), bytes.size(), padding);
    const auto [first, last] = by_checksum_.equal_range(sum);
    for (auto it = first; it != last; ++it) {
      const auto known = segments_[it->second].bytes;
      if (known.size() == bytes.size() &&
          (bytes.empty() || std::memcmp(known.data(), bytes.data(), bytes.size()) == 0))
        return it->second;
    }
    const auto index = static_cast<std::uint32_t>(segments_.size());
    segments_.push_back({bytes, sum, end_});
    by_checksum_.emplace(sum, index);
    end_ += bytes.size() + padding;
    return index;
  }
  const std::vector<SegmentBytes>& list() const { return segments_; }
  std::uint64_t bytes() const { return end_; }

 private:
  std::vector<SegmentBytes> segments_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_checksum_;
  std::uint64_t end_ = 0;
};

bool same_bits(const ParamValue& a, const ParamValue& b) {
  if (a.index() != b.index()) return false;
  // 0.0 == −0.0, but they are not the same parameter.
  if (const double* x = std::get_if<double>(&a))
    return std::bit_cast<std::uint64_t>(*x) ==
           std::bit_cast<std::uint64_t>(*std::get_if<double>(&b));
  if (std::holds_alternative<std::vector<double>>(a)) return false;
  return a == b;
}

bool is_default(const LayerType& type, const Params::Entry& entry) {
  for (const ParamSpec& spec : type.params)
    if (spec.name == entry.name)
      return !spec.required && same_bits(spec.default_value, entry.value);
  return false;
}

// Graph → FlatBuffer. FlatBuffers aborts beyond 2 GiB; room() stops long before that.
class Encoder {
 public:
  explicit Encoder(Segments& segments) : segments_(segments) {}

  Result<Offset<schema::Graph>> graph(const Graph& graph, int nesting) {
    if (nesting > kDnnMaxNesting)
      return invalid_argument("subgraphs are nested more than {} deep", kDnnMaxNesting);
    std::vector<Offset<schema::Tensor>> tensors;
    for (TensorId i = 0; i < graph.tensor_count(); ++i) {
      SN_ASSIGN_OR_RETURN(const auto tensor, this->tensor(graph.tensor(i)));
      tensors.push_back(tensor);
    }
    SN_ASSIGN_OR_RETURN(const auto layers, each(graph.layers(), [&](const Layer& layer) {
                          return this->layer(layer, nesting);
                        }));
    SN_RETURN_IF_ERROR(room(graph.name.size() + 4 * (graph.inputs.size() + graph.outputs.size() +
                                                     tensors.size() + layers.size())));
    SN_ASSIGN_OR_RETURN(const auto passes, strings(graph.applied_passes));
    const auto name = builder_.CreateString(graph.name);
    const auto inputs = builder_.CreateVector(graph.inputs);
    const auto outputs = builder_.CreateVector(graph.outputs);
    // One after the other: the order of arguments' evaluation, and so of bytes, is the compiler's.
    const auto tensors_offset = builder_.CreateVector(tensors);
    const auto layers_offset = builder_.CreateVector(layers);
    return schema::CreateGraph(builder_, name, tensors_offset, layers_offset, inputs, outputs,
                               passes, graph.next_layer_id());
  }

  Result<VectorOffset<Offset<schema::TunedPath>>> paths(std::span<const RoutinePath> paths) {
    SN_ASSIGN_OR_RETURN(const auto rows,
                        each(paths, [&](const RoutinePath& path) { return this->path(path); }));
    return rows.empty() ? VectorOffset<Offset<schema::TunedPath>>() : builder_.CreateVector(rows);
  }

  Result<VectorOffset<Offset<schema::PackedWeights>>> packed(const PackedByKey& packed) {
    std::vector<Offset<schema::PackedWeights>> rows;
    for (const auto& [key, bytes] : packed) {
      SN_RETURN_IF_ERROR(room(key.size() + 32));
      const auto key_offset = builder_.CreateString(key);
      rows.push_back(schema::CreatePackedWeights(builder_, key_offset, segments_.add(bytes)));
    }
    return rows.empty() ? VectorOffset<Offset<schema::PackedWeights>>()
                        : builder_.CreateVector(rows);
  }

  // Closes the buffer and gives its bytes, which live as long as this object.
  Result<std::span<const std::byte>> finish(Offset<schema::Graph> graph,
                                            VectorOffset<Offset<schema::TunedPath>> paths,
                                            VectorOffset<Offset<schema::PackedWeights>> packed) {
    SN_RETURN_IF_ERROR(room(32 * segments_.list().size()));
    std::vector<Offset<schema::Segment>> rows;
    for (const SegmentBytes& segment : segments_.list())
      rows.push_back(
          schema::CreateSegment(builder_, segment.offset, segment.bytes.size(), segment.checksum));
    const auto rows_offset = builder_.CreateVector(rows);
    builder_.Finish(schema::CreateFile(builder_, graph, rows_offset, paths, packed),
                    schema::FileIdentifier());
    return std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
  }

 private:
  // What encode() makes of each row, in order.
  template <class Rows, class Encode>
  static auto each(const Rows& rows, Encode&& encode)
      -> Result<std::vector<std::decay_t<decltype(*encode(*rows.begin()))>>> {
    std::vector<std::decay_t<decltype(*encode(*rows.begin()))>> encoded;
    for (const auto& row : rows) {
      SN_ASSIGN_OR_RETURN(encoded.emplace_back(), encode(row));
    }
    return encoded;
  }

  Status room(std::size_t bytes) const {
    // Twice, and a little more, for tables, offsets and alignment.
    if (builder_.GetSize() + 2 * std::uint64_t{bytes} + 4096 <= kDnnMaxGraphBytes) return {};
    return unsupported("names, shapes and parameters of the net take more than {} MiB",
                       kDnnMaxGraphBytes >> 20);
  }

  Result<TextsOffset> strings(const std::vector<std::string>& texts) {
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size() + 16;
    SN_RETURN_IF_ERROR(room(bytes));
    std::vector<Offset<schema::Text>> rows;
    rows.reserve(texts.size());
    for (const std::string& text : texts)
      rows.push_back(schema::CreateText(builder_, builder_.CreateString(text)));
    return builder_.CreateVector(rows);
  }

  Result<Offset<schema::Tensor>> tensor(const TensorDef& def) {
    SN_RETURN_IF_ERROR(check(def));
    const DynamicShape shape = def.is_constant() ? def.constant.shape() : def.shape;
    const DataType type = def.is_constant() ? def.constant.data_type() : def.type;
    std::vector<std::int64_t> dims;
    std::vector<std::string> symbols;
    bool named = false;
    for (const Dim& dim : shape.dims()) {
      dims.push_back(dim.known() ? dim.value : -1);
      symbols.push_back(dim.symbol);
      named = named || !dim.symbol.empty();
    }
    SN_RETURN_IF_ERROR(room(def.name.size() + 8 * dims.size()));
    const auto name = builder_.CreateString(def.name);
    VectorOffset<std::int64_t> dims_offset;
    if (shape.ranked()) dims_offset = builder_.CreateVector(dims);
    TextsOffset symbols_offset;
    if (named) {
      SN_ASSIGN_OR_RETURN(symbols_offset, strings(symbols));
    }
    Offset<schema::Quantization> quantization_offset;
    if (def.quantization) {
      SN_ASSIGN_OR_RETURN(quantization_offset, quantization(*def.quantization));
    }
    schema::TensorBuilder table(builder_);
    table.add_name(name);
    table.add_type(static_cast<schema::DataType>(type));
    table.add_dims(dims_offset);
    table.add_symbols(symbols_offset);
    table.add_quantization(quantization_offset);
    if (def.is_constant() && !def.left_out) table.add_segment(segments_.add(def.constant));
    table.add_left_out(def.left_out);
    return table.Finish();
  }

  // What the file cannot say, or would say wrongly.
  static Status check(const TensorDef& def) {
    if (!def.is_constant()) return {};
    const Tensor& value = def.constant;
    if (value.layout() != Layout::plain)
      return invalid_argument("constant '{}' is in the layout {}; only plain ones can be saved",
                              def.name, to_string(value.layout()));
    const bool same_shape =
        !def.shape.ranked() || !def.shape.is_static() || def.shape.to_shape() == value.shape();
    if (!same_shape || (def.type != DataType::undefined && def.type != value.data_type()))
      return invalid_argument("constant '{}' is declared as {}[{}], but is {}[{}]", def.name,
                              to_string(def.type), def.shape.str(), to_string(value.data_type()),
                              value.shape().str());
    return {};
  }

  Result<Offset<schema::Quantization>> quantization(const Quantization& q) {
    SN_RETURN_IF_ERROR(room(4 * (q.scales.size() + q.zero_points.size() + q.channel_means.size())));
    const auto scales = builder_.CreateVector(q.scales);
    const auto zero_points = builder_.CreateVector(q.zero_points);
    VectorOffset<float> means;
    if (!q.channel_means.empty()) means = builder_.CreateVector(q.channel_means);
    return schema::CreateQuantization(builder_, q.is_signed, q.axis, scales, zero_points, means,
                                      q.calibrated);
  }

  Result<Offset<schema::Param>> param(const Params::Entry& entry) {
    const ParamValue& value = entry.value;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::vector<std::string> texts;
    const ParamKind kind = kind_of(value);
    if (const auto* x = std::get_if<std::int64_t>(&value)) integers = {*x};
    if (const auto* x = std::get_if<double>(&value)) reals = {*x};
    if (const auto* x = std::get_if<std::string>(&value)) texts = {*x};
    if (const auto* x = std::get_if<std::vector<std::int64_t>>(&value)) integers = *x;
    if (const auto* x = std::get_if<std::vector<double>>(&value)) reals = *x;
    if (const auto* x = std::get_if<std::vector<std::string>>(&value)) texts = *x;

    SN_RETURN_IF_ERROR(room(entry.name.size() + 8 * (integers.size() + reals.size())));
    const auto name = builder_.CreateString(entry.name);
    VectorOffset<std::int64_t> integers_offset;
    VectorOffset<double> reals_offset;
    TextsOffset texts_offset;
    if (kind == ParamKind::integer || kind == ParamKind::integers)
      integers_offset = builder_.CreateVector(integers);
    else if (kind == ParamKind::real || kind == ParamKind::reals)
      reals_offset = builder_.CreateVector(reals);
    else {
      SN_ASSIGN_OR_RETURN(texts_offset, strings(texts));
    }
    return schema::CreateParam(builder_, name, static_cast<schema::ParamKind>(kind),
                               integers_offset, reals_offset, texts_offset);
  }

  Result<Offset<schema::PostOp>> post_op(const PostOp& op) {
    SN_RETURN_IF_ERROR(room(64));
    const bool unary = op.kind == PostOp::Kind::unary;
    const auto name = builder_.CreateString(unary ? to_string(op.unary) : to_string(op.binary));
    schema::PostOpBuilder table(builder_);
    table.add_op(name);
    table.add_kind(unary ? schema::PostOpKind::Unary : schema::PostOpKind::Binary);
    if (unary) {
      table.add_alpha(op.alpha);
      table.add_beta(op.beta);
    } else {
      table.add_input(op.input);
      table.add_swapped(op.swapped);
    }
    return table.Finish();
  }

  Result<Offset<schema::Layer>> layer(const Layer& layer, int nesting) {
    if (layer.type == nullptr) return internal_error("layer '{}' has no type", layer.name);
    std::vector<Offset<schema::Param>> params;
    for (const Params::Entry& entry : layer.params.entries()) {
      if (is_default(*layer.type, entry)) continue;
      SN_ASSIGN_OR_RETURN(const auto encoded, param(entry));
      params.push_back(encoded);
    }
    SN_ASSIGN_OR_RETURN(const auto post_ops,
                        each(layer.post_ops, [&](const PostOp& op) { return post_op(op); }));
    SN_ASSIGN_OR_RETURN(const auto subgraphs, each(layer.subgraphs, [&](const auto& subgraph) {
                          return graph(*subgraph, nesting + 1);
                        }));
    SN_RETURN_IF_ERROR(room(layer.name.size() + layer.type->name.size() +
                            4 * (layer.inputs.size() + layer.outputs.size() + params.size())));
    SN_ASSIGN_OR_RETURN(const auto sources, strings(layer.sources));
    const auto type = builder_.CreateString(layer.type->name);
    const auto name = builder_.CreateString(layer.name);
    const auto inputs = builder_.CreateVector(layer.inputs);
    const auto outputs = builder_.CreateVector(layer.outputs);
    const auto params_offset = builder_.CreateVector(params);
    const auto post_ops_offset = builder_.CreateVector(post_ops);
    const auto subgraphs_offset = builder_.CreateVector(subgraphs);
    return schema::CreateLayer(builder_, layer.id, type, name, inputs, outputs, layer.layer_inputs,
                               params_offset, post_ops_offset, sources, subgraphs_offset);
  }

  // --- tuned paths ------------------------------------------------------------------------------

  using ParamsOffset = VectorOffset<Offset<schema::Param>>;

  Result<ParamsOffset> params(const Params& params) {
    SN_ASSIGN_OR_RETURN(const auto rows, each(params.entries(), [&](const Params::Entry& entry) {
                          return param(entry);
                        }));
    return rows.empty() ? ParamsOffset() : builder_.CreateVector(rows);
  }

  Result<Offset<schema::TunedPath>> path(const RoutinePath& path) {
    // In the order of ids: equal nets give equal bytes.
    std::vector<LayerId> ids;
    for (const auto& [id, choice] : path.layers) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    std::vector<Offset<schema::TunedLayer>> layers;
    for (const LayerId id : ids) {
      const Choice& choice = path.layers.at(id);
      const std::string formats = choice.formats.str();
      SN_RETURN_IF_ERROR(room(choice.routine.size() + formats.size() + 64));
      const auto routine = builder_.CreateString(choice.routine);
      SN_ASSIGN_OR_RETURN(const auto params, this->params(choice.params));
      const auto formats_offset = builder_.CreateString(formats);
      layers.push_back(
          schema::CreateTunedLayer(builder_, id, routine, params, formats_offset, choice.time_us));
    }
    std::vector<Offset<schema::TunedAdapt>> adapts;
    for (const AdaptChoice& adapt : path.adapts) {
      SN_RETURN_IF_ERROR(room(adapt.routine.size() + 128));
      const auto from = builder_.CreateString(adapt.from.str());
      const auto to = builder_.CreateString(adapt.to.str());
      const auto routine = builder_.CreateString(adapt.routine);
      SN_ASSIGN_OR_RETURN(const auto params, this->params(adapt.params));
      adapts.push_back(schema::CreateTunedAdapt(builder_, adapt.tensor, from, to, routine, params,
                                                adapt.time_us));
    }
    std::vector<Offset<schema::InputShape>> shapes;
    for (const auto& [name, shape] : path.shapes) {
      SN_RETURN_IF_ERROR(room(name.size() + 128));
      const auto name_offset = builder_.CreateString(name);
      const auto dims_offset = builder_.CreateVector(shape.dims().data(), shape.dims().size());
      shapes.push_back(schema::CreateInputShape(builder_, name_offset, dims_offset));
    }
    SN_RETURN_IF_ERROR(room(path.machine.size() + 8 * (layers.size() + adapts.size())));
    const auto machine = builder_.CreateString(path.machine);
    const auto shapes_offset = builder_.CreateVector(shapes);
    SN_ASSIGN_OR_RETURN(const auto schemas, strings(path.schemas));
    const auto layers_offset = builder_.CreateVector(layers);
    const auto adapts_offset = builder_.CreateVector(adapts);
    return schema::CreateTunedPath(builder_, machine, static_cast<std::uint32_t>(path.threads),
                                   shapes_offset, schemas, layers_offset, adapts_offset,
                                   path.time_us, path.untuned_us, path.error);
  }

  flatbuffers::FlatBufferBuilder builder_;
  Segments& segments_;
};

// A file ready to be written: everything but the bytes of the constants, which it refers to.
class Image {
 public:
  Status build(const Graph& graph, std::span<const RoutinePath> tuned,
               const PackedByKey& packed_weights = {}) {
    SN_ASSIGN_OR_RETURN(const auto root, encoder_.graph(graph, 0));
    SN_ASSIGN_OR_RETURN(const auto paths, encoder_.paths(tuned));
    SN_ASSIGN_OR_RETURN(const auto packed, encoder_.packed(packed_weights));
    SN_ASSIGN_OR_RETURN(graph_, encoder_.finish(root, paths, packed));
    const std::uint64_t padding = dnn_padding(graph_.size());
    std::memcpy(header_.magic, kDnnMagic, sizeof(kDnnMagic));
    header_.format = kDnnFormat;
    header_.header_bytes = sizeof(DnnHeader);
    header_.graph_offset = sizeof(DnnHeader);
    header_.graph_bytes = graph_.size();
    header_.graph_checksum =
        checksum(graph_.data(), graph_.size(), static_cast<std::size_t>(padding));
    header_.segments_offset = sizeof(DnnHeader) + graph_.size() + padding;
    header_.file_bytes = header_.segments_offset + segments_.bytes();
    header_.header_checksum = checksum(&header_, offsetof(DnnHeader, header_checksum));
    return {};
  }

  std::uint64_t bytes() const { return header_.file_bytes; }

  // Calls write(bytes) for one piece after the other: it puts them into a file or into memory.
  template <class Write>
  Status write_to(Write&& write) const {
    const auto write_padded = [&](std::span<const std::byte> bytes) -> Status {
      static constexpr std::byte kZeros[kDnnAlignment] = {};
      SN_RETURN_IF_ERROR(write(bytes));
      return write(std::span(kZeros).first(static_cast<std::size_t>(dnn_padding(bytes.size()))));
    };
    SN_RETURN_IF_ERROR(write(std::as_bytes(std::span(&header_, 1))));
    SN_RETURN_IF_ERROR(write_padded(graph_));
    for (const SegmentBytes& segment : segments_.list())
      SN_RETURN_IF_ERROR(write_padded(segment.bytes));
    return {};
  }

 private:
  Segments segments_;
  Encoder encoder_{segments_};
  std::span<const std::byte> graph_;
  DnnHeader header_{};
};

}  // namespace

Status save_dnn(const Graph& graph, const std::string& path, std::span<const RoutinePath> paths,
                const PackedByKey& packed) {
  return guarded([&]() -> Status {
    Image image;
    SN_RETURN_IF_ERROR(image.build(graph, paths, packed).with_context(path));
    SN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
    SN_RETURN_IF_ERROR(image.write_to(
        [&](std::span<const std::byte> bytes) { return file.write(bytes.data(), bytes.size()); }));
    return file.commit();
  });
}

Result<Tensor> serialize_dnn(const Graph& graph, Allocator& allocator,
                             std::span<const RoutinePath> paths) {
  return guarded([&]() -> Result<Tensor> {
    Image image;
    SN_RETURN_IF_ERROR(image.build(graph, paths));
    SN_ASSIGN_OR_RETURN(Tensor memory, allocate_bytes(image.bytes(), allocator));
    std::span left(static_cast<std::byte*>(memory.mutable_data()), memory.bytes());
    SN_RETURN_IF_ERROR(image.write_to([&](std::span<const std::byte> bytes) -> Status {
      if (bytes.size() > left.size())
        return internal_error("a .dnn file is longer than its header says");
      std::ranges::copy(bytes, left.begin());
      left = left.subspan(bytes.size());
      return {};
    }));
    return memory;
  });
}

}  // namespace softneuro
