#include "support/dnn_samples.h"

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <random>

#include "core/base/checksum.h"
#include "core/dnn/file_header.h"
#include "schemas/softneuro_generated.h"

namespace softneuro::test {
namespace {

Status infer_nothing(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set_output(i, DataType::float32, DynamicShape());
  return {};
}

LayerTypes make_sample_types() {
  LayerTypes types;
  LayerType mix;
  mix.name = "mix";
  mix.doc = "Anything.";
  mix.params = {
      {"count", 7, "a count"},
      {"epsilon", 0.0, "a real number"},
      {"mode", "plain", "a word"},
      {"strides", std::vector<std::int64_t>{}, "integers"},
      {"scales", std::vector<double>{}, "reals"},
      {"names", std::vector<std::string>{"a"}, "words"},
  };
  mix.inputs = {0, 9};
  mix.outputs = {1, 3};
  mix.infer = infer_nothing;
  LayerType loop = mix;
  loop.name = "loop";
  static_cast<void>(types.add(std::move(mix)));
  static_cast<void>(types.add(std::move(loop)));
  return types;
}

class Generator {
 public:
  Generator(std::uint32_t seed, int nesting) : random_(seed), nesting_(nesting) {}

  Graph graph() {
    Graph g;
    g.name = word();
    for (int i = below(3); i >= 0; --i) g.inputs.push_back(available_.emplace_back(input(g)));
    for (int i = below(6); i > 0; --i) available_.push_back(constant(g));
    for (int i = below(12); i >= 0; --i) add_layer(g);
    for (const Layer& layer : g.layers()) g.outputs.push_back(layer.outputs[0]);
    for (int i = below(3); i > 0; --i) g.applied_passes.push_back(word() + "/1");
    g.set_next_layer_id(g.next_layer_id() + static_cast<LayerId>(below(5)));
    return g;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool maybe() { return below(2) == 0; }
  std::string word() {
    static const char* const words[] = {"", "x", "conv", "größe", "a/b:0", "very_long_name_of_it"};
    return words[below(6)];
  }
  double number() { return (below(2001) - 1000) / 8.0; }

  TensorDef definition() {
    TensorDef def;
    def.name = "t" + std::to_string(names_++) + word();
    def.type = static_cast<DataType>(1 + below(kDataTypeCount - 1));
    if (maybe()) {
      std::vector<Dim> dims;
      for (int i = below(kMaxRank + 1); i > 0; --i)
        dims.push_back(below(3) == 0 ? Dim() : maybe() ? Dim(below(5)) : Dim("n" + word()));
      def.shape = DynamicShape(std::move(dims));
    }
    if (maybe()) {
      Quantization q;
      q.is_signed = maybe();
      q.scales = {0.5f};
      q.zero_points = {below(100)};
      for (int i = below(4); i > 0; --i) q.channel_means.push_back(static_cast<float>(number()));
      def.quantization = std::move(q);
    }
    return def;
  }
  TensorId input(Graph& g) { return g.add_tensor(definition()); }

  std::optional<Quantization> per_channel(const Shape& shape) {
    if (shape.rank() < 2 || shape[1] == 0) return {};
    Quantization q;
    q.axis = 1;
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      q.scales.push_back(static_cast<float>(below(100) + 1) / 16);
      q.zero_points.push_back(below(10) - 5);
    }
    return q;
  }

  TensorId constant(Graph& g) {
    Shape shape;
    for (int i = below(4); i > 0; --i) shape.push_back(below(7));
    const auto type = static_cast<DataType>(1 + below(kDataTypeCount - 1));
    Tensor value = Tensor::create(type, shape).value();
    auto* const bytes = static_cast<unsigned char*>(value.mutable_data());
    const int pattern = below(4);  // few different ones, so that some constants are equal
    for (std::size_t i = 0; i < value.bytes(); ++i)
      bytes[i] = type == DataType::boolean ? i % 2 : static_cast<unsigned char>(pattern * i);
    TensorDef def = definition();
    def.type = type;
    def.shape = shape;
    def.constant = value;
    def.quantization = per_channel(shape);
    return g.add_tensor(std::move(def));
  }

  Params params() {
    Params p;
    p.set("count", std::int64_t{maybe() ? 7 : INT64_MIN});
    p.set("epsilon", maybe() ? 0.0 : number());
    p.set("mode", maybe() ? std::string("plain") : word());
    p.set("strides", std::vector<std::int64_t>(static_cast<std::size_t>(below(3)), below(9) - 4));
    p.set("scales", std::vector<double>(static_cast<std::size_t>(below(3)), number()));
    p.set("names", std::vector<std::string>(static_cast<std::size_t>(below(3)), word()));
    return p;
  }

  void add_layer(Graph& g) {
    const bool loop = nesting_ > 0 && below(4) == 0;
    std::vector<TensorId> inputs, outputs;
    for (int i = below(4); i > 0; --i) inputs.push_back(maybe() ? any() : kNoTensor);
    for (int i = below(3); i >= 0; --i) {
      TensorDef def = definition();
      if (!outputs.empty()) def.type = DataType::undefined;
      outputs.push_back(outputs.empty() || maybe() ? g.add_tensor(std::move(def)) : kNoTensor);
    }
    g.set_next_layer_id(g.next_layer_id() + static_cast<LayerId>(below(3)));
    Layer& layer = g.add_layer(*sample_types().find(loop ? "loop" : "mix"),
                               "l" + std::to_string(names_++) + word(), inputs, outputs, params());
    for (int i = below(4); i > 0; --i) add_post_op(g, layer);
    for (int i = below(3); i > 0; --i) layer.sources.push_back(word());
    for (int i = loop ? below(3) : 0; i > 0; --i)
      layer.subgraphs.push_back(std::make_shared<const Graph>(
          Generator(static_cast<std::uint32_t>(random_()), nesting_ - 1).graph()));
    for (const TensorId id : outputs)
      if (id != kNoTensor) available_.push_back(id);
  }

  void add_post_op(Graph& g, Layer& layer) {
    PostOp op;
    if (maybe()) {
      op.unary = UnaryOp::clip;
      op.alpha = maybe() ? -0.0f : static_cast<float>(number());
      op.beta = static_cast<float>(number());
    } else {
      op.kind = PostOp::Kind::binary;
      op.binary = maybe() ? BinaryOp::sub : BinaryOp::add;
      op.swapped = maybe();
      op.input = static_cast<std::uint32_t>(layer.inputs.size());
      TensorDef def = definition();
      def.type = g.tensor(layer.outputs[0]).type;
      def.shape = Shape{1};
      def.quantization.reset();
      def.constant = Tensor::create(def.type, Shape{1}).value();
      std::memset(def.constant.mutable_data(), below(2), def.constant.bytes());
      layer.inputs.push_back(g.add_tensor(std::move(def)));
    }
    layer.post_ops.push_back(op);
  }

  TensorId any() { return available_[static_cast<std::size_t>(random_() % available_.size())]; }

  std::mt19937 random_;
  int nesting_;
  int names_ = 0;
  std::vector<TensorId> available_;
};

}  // namespace

const LayerTypes& sample_types() {
  static const LayerTypes types = make_sample_types();
  return types;
}

Graph random_graph(std::uint32_t seed, int nesting) {
  return Generator(seed, nesting).graph();
}

std::vector<std::byte> resealed(std::span<const std::byte> file) {
  std::vector<std::byte> bytes(file.begin(), file.end());
  DnnHeader header{};
  if (bytes.size() < sizeof(header)) return bytes;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.file_bytes = bytes.size();
  const bool whole = header.segments_offset <= bytes.size() &&
                     header.graph_bytes <= header.segments_offset - sizeof(header) &&
                     header.segments_offset >= sizeof(header);
  if (whole) {
    std::byte* const graph = bytes.data() + sizeof(header);
    auto* const data = reinterpret_cast<std::uint8_t*>(graph);
    flatbuffers::Verifier verifier(data, header.graph_bytes);
    if (schema::VerifyFileBuffer(verifier)) {
      const auto* const segments = schema::GetFile(data)->segments();
      // Written at last: in a damaged file a checksum may be where another segment's fields are.
      std::vector<std::pair<std::uint8_t*, std::uint64_t>> sums;
      for (flatbuffers::uoffset_t i = 0; segments != nullptr && i < segments->size(); ++i) {
        auto* const row = const_cast<schema::Segment*>(segments->Get(i));
        const std::uint64_t begin = header.segments_offset + row->offset();
        const std::uint64_t size = row->bytes() + dnn_padding(row->bytes());
        if (begin > bytes.size() || size > bytes.size() - begin) continue;
        const std::uint64_t sum = checksum(bytes.data() + begin, size);
        // Fields at their default have no place to be written to.
        if (auto* place = reinterpret_cast<flatbuffers::Table*>(row)->GetAddressOf(8))
          sums.emplace_back(place, sum);
      }
      for (const auto& [place, sum] : sums) std::memcpy(place, &sum, sizeof(sum));
    }
    header.graph_checksum = checksum(graph, header.segments_offset - sizeof(header));
  }
  header.header_checksum = checksum(&header, offsetof(DnnHeader, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace softneuro::test
