// .dnn files that are damaged, or that were made to do harm.
#include <flatbuffers/flatbuffers.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>

#include "core/base/checksum.h"
#include "core/dnn/file.h"
#include "core/dnn/file_header.h"
#include "schemas/softneuro_generated.h"
#include "support/dnn_samples.h"
#include "support/graph_compare.h"

using namespace softneuro;
using test::random_graph;
using test::resealed;
using test::sample_types;

namespace {

using Bytes = std::vector<std::byte>;

// Bytes at an address that is a multiple of 64, so that loading does not copy them.
class AlignedFile {
 public:
  explicit AlignedFile(std::size_t bytes)
      : memory_(
            Tensor::create(DataType::uint8, Shape{static_cast<std::int64_t>(bytes) + 1}).value()) {}
  std::byte* data() { return static_cast<std::byte*>(memory_.mutable_data()); }

 private:
  Tensor memory_;
};

Status load(const Bytes& bytes, Verify verify = Verify::full) {
  return load_dnn_contents_memory(bytes.data(), bytes.size(), nullptr, sample_types(), verify)
      .status();
}

Bytes small_file() {
  const Tensor file = serialize_dnn(random_graph(11, 1)).value();
  const auto* const data = static_cast<const std::byte*>(file.data());
  return {data, data + file.bytes()};
}

DnnHeader header_of(const Bytes& file) {
  DnnHeader header{};
  std::memcpy(&header, file.data(), sizeof(header));
  return header;
}

void set_header(Bytes& file, DnnHeader header) {
  header.header_checksum = checksum(&header, offsetof(DnnHeader, header_checksum));
  std::memcpy(file.data(), &header, sizeof(header));
}

// --- files written by hand
// ------------------------------------------------------------------------

// A graph part with one piece exchanged.
struct Recipe {
  using Builder = flatbuffers::FlatBufferBuilder;
  template <class T>
  using List = std::vector<flatbuffers::Offset<T>>;

  Builder builder;
  List<schema::Tensor> tensors;
  List<schema::Layer> layers;
  List<schema::Segment> segments;
  std::vector<std::uint32_t> outputs;
  std::uint64_t segment_end = 0;

  void tensor(const char* name, const std::vector<std::int64_t>& dims, int segment,
              schema::DataType type = schema::DataType::Float32) {
    const auto text = builder.CreateString(name);
    const auto dims_offset = builder.CreateVector(dims);
    schema::TensorBuilder table(builder);
    table.add_name(text);
    table.add_type(type);
    table.add_dims(dims_offset);
    if (segment >= 0) table.add_segment(static_cast<std::uint32_t>(segment));
    tensors.push_back(table.Finish());
  }
  void layer(std::uint32_t output, const std::vector<flatbuffers::Offset<schema::Param>>& params,
             const List<schema::PostOp>& post_ops = {}, const List<schema::Graph>& subgraphs = {}) {
    const auto type = builder.CreateString("mix");
    const auto name = builder.CreateString("layer");
    const auto inputs = builder.CreateVector(std::vector<std::uint32_t>{0});
    const auto outs = builder.CreateVector(std::vector<std::uint32_t>{output});
    const auto params_offset = builder.CreateVector(params);
    const auto post_ops_offset = builder.CreateVector(post_ops);
    const auto subgraphs_offset = builder.CreateVector(subgraphs);
    layers.push_back(schema::CreateLayer(builder, 1, type, name, inputs, outs, 1, params_offset,
                                         post_ops_offset, 0, subgraphs_offset));
  }
  void segment(std::uint64_t offset, std::uint64_t bytes) {
    const Bytes zeros(static_cast<std::size_t>(bytes < 4096 ? bytes + dnn_padding(bytes) : 0));
    segments.push_back(
        schema::CreateSegment(builder, offset, bytes, checksum(zeros.data(), zeros.size())));
    segment_end += zeros.size();
  }
  flatbuffers::Offset<schema::Graph> graph() {
    const auto name = builder.CreateString("g");
    const auto tensors_offset = builder.CreateVector(tensors);
    const auto layers_offset = builder.CreateVector(layers);
    const auto inputs_offset = builder.CreateVector(std::vector<std::uint32_t>());
    const auto outputs_offset = builder.CreateVector(outputs);
    return schema::CreateGraph(builder, name, tensors_offset, layers_offset, inputs_offset,
                               outputs_offset, 0, 2);
  }
  Bytes file() {
    const auto root = graph();
    const auto rows = builder.CreateVector(segments);
    builder.Finish(schema::CreateFile(builder, root, rows), schema::FileIdentifier());
    return wrapped(builder.GetBufferPointer(), builder.GetSize());
  }
  Bytes wrapped(const void* graph_part, std::size_t size) const {
    DnnHeader header{};
    std::memcpy(header.magic, kDnnMagic, sizeof(kDnnMagic));
    header.format = kDnnFormat;
    header.header_bytes = header.graph_offset = sizeof(header);
    header.graph_bytes = size;
    header.segments_offset = sizeof(header) + size + dnn_padding(size);
    header.file_bytes = header.segments_offset + segment_end;
    Bytes bytes(static_cast<std::size_t>(header.file_bytes));
    std::memcpy(bytes.data() + sizeof(header), graph_part, size);
    header.graph_checksum =
        checksum(bytes.data() + sizeof(header), header.segments_offset - sizeof(header));
    set_header(bytes, header);
    return bytes;
  }
};

// A valid file with weights [4], which `change` may spoil before it is closed.
Bytes file_with(const std::function<void(Recipe&)>& change) {
  Recipe recipe;
  recipe.tensor("w", {4}, 0);
  recipe.tensor("y", {4}, -1);
  recipe.segment(0, 16);
  recipe.layer(1, {});
  recipe.outputs = {1};
  change(recipe);
  return recipe.file();
}

void require_refused(const char* what, const Bytes& file, StatusCode code, const char* words) {
  INFO(what);
  const Status status = load(file);
  REQUIRE(to_string(status.code()) == std::string(to_string(code)));
  REQUIRE_THAT(status.message(), Catch::Contains(words));
}

}  // namespace

TEST_CASE("dnn: every shorter file is refused") {
  const Bytes file = small_file();
  REQUIRE(load(file).message() == "");
  AlignedFile aligned(file.size());
  std::memcpy(aligned.data(), file.data(), file.size());
  for (std::size_t size = 0; size < file.size(); ++size) {
    INFO(size << " of " << file.size() << " bytes");
    for (const Verify verify : {Verify::full, Verify::structure}) {
      const Status status =
          load_dnn_contents_memory(aligned.data(), size, nullptr, sample_types(), verify).status();
      REQUIRE(status.code() == StatusCode::corrupt_file);
      REQUIRE_THAT(status.message(), Catch::Contains("truncated"));
    }
  }
  Bytes longer = file;
  longer.push_back(std::byte{0});
  REQUIRE_THAT(load(longer).message(), Catch::Contains("1 bytes follow the end"));
}

TEST_CASE("dnn: every flipped bit is found") {
  const Bytes file = small_file();
  const std::uint64_t weights = header_of(file).segments_offset;
  REQUIRE(weights < file.size());
  AlignedFile aligned(file.size());
  std::memcpy(aligned.data(), file.data(), file.size());
  const auto status = [&](Verify verify) {
    return load_dnn_contents_memory(aligned.data(), file.size(), nullptr, sample_types(), verify)
        .status();
  };
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    const std::byte mask{static_cast<unsigned char>(1u << bit % 8)};
    aligned.data()[bit / 8] ^= mask;
    const Status full = status(Verify::full);
    REQUIRE(full.code() == StatusCode::corrupt_file);
    REQUIRE_FALSE(full.message().empty());
    // Without reading the weights, all that is before them.
    if (bit / 8 < weights) REQUIRE(status(Verify::structure).code() == StatusCode::corrupt_file);
    aligned.data()[bit / 8] ^= mask;
  }
  REQUIRE(status(Verify::full).message() == "");
}

TEST_CASE("dnn: `structure` leaves the weights unread") {
  Bytes file = file_with([](Recipe&) {});
  REQUIRE(load(file).message() == "");
  file.back() ^= std::byte{1};
  REQUIRE(load(file, Verify::structure).message() == "");
  REQUIRE_THAT(load(file).message(), Catch::Contains("segment 0 does not match"));
}

TEST_CASE("dnn: a newer format is refused as such") {
  Bytes file = small_file();
  DnnHeader header = header_of(file);
  header.format = kDnnFormat + 1;
  // What else a newer header says is not for us to judge.
  header.header_bytes = 128;
  header.file_bytes = 1;
  set_header(file, header);
  require_refused("format", file, StatusCode::incompatible,
                  "written by a newer SoftNeuro (format 2, this library reads up to 1)");
  header.format = 0;
  set_header(file, header);
  require_refused("format", file, StatusCode::corrupt_file, "format number is 0");
}

TEST_CASE("dnn: headers that contradict the file are refused") {
  const Bytes file = small_file();
  const std::uint64_t wrong[] = {0,          1,           63,         65,
                                 128,        file.size(), 1u << 30,   (1u << 30) + 1,
                                 UINT32_MAX, INT64_MAX,   UINT64_MAX, UINT64_MAX - 63};
  const auto check = [&](auto member) {
    for (const std::uint64_t value : wrong) {
      DnnHeader header = header_of(file);
      using Field = std::remove_reference_t<decltype(header.*member)>;
      if (header.*member == static_cast<Field>(value)) continue;
      header.*member = static_cast<Field>(value);
      Bytes changed = file;
      set_header(changed, header);
      INFO("value " << value);
      REQUIRE(load(changed).code() == StatusCode::corrupt_file);
    }
  };
  check(&DnnHeader::header_bytes);
  check(&DnnHeader::file_bytes);
  check(&DnnHeader::graph_offset);
  check(&DnnHeader::graph_bytes);
  check(&DnnHeader::segments_offset);
}

TEST_CASE("dnn: contents that contradict themselves are refused, in words") {
  const auto refused = [](const char* what, StatusCode code, const char* words,
                          const std::function<void(Recipe&)>& change) {
    require_refused(what, file_with(change), code, words);
  };
  const StatusCode corrupt = StatusCode::corrupt_file, invalid = StatusCode::invalid_model;
  REQUIRE(load(file_with([](Recipe&) {})).message() == "");

  refused("overlap", corrupt, "segment 1 begins at 0 instead of 64",
          [](Recipe& r) { r.segment(0, 16); });
  refused("gap", corrupt, "segment 1 begins at 128 instead of 64",
          [](Recipe& r) { r.segment(128, 16); });
  refused("beyond", corrupt, "leaves the file", [](Recipe& r) { r.segment(64, 1u << 20); });
  refused("overflow", corrupt, "leaves the file", [](Recipe& r) { r.segment(64, UINT64_MAX); });
  refused("overflow", corrupt, "leaves the file",
          [](Recipe& r) { r.segment(64, UINT64_MAX - 63); });
  refused("loose end", corrupt, "segments end at byte", [](Recipe& r) { r.segment_end += 64; });

  refused("size", invalid, "tensor 'v': float32[5] takes 20 bytes, but segment 0 has 16",
          [](Recipe& r) { r.tensor("v", {5}, 0); });
  refused("product", invalid, "too many bytes", [](Recipe& r) {
    r.tensor("v", {INT64_MAX, INT64_MAX}, 0);
  });
  refused("product", invalid, "too many bytes", [](Recipe& r) {
    r.tensor("v", {std::int64_t{1} << 62, 4}, 0);
  });
  refused("zero product", invalid, "too many bytes", [](Recipe& r) {
    r.tensor("v", {INT64_MAX, INT64_MAX, 0}, 0);
  });
  refused("unknown shape", invalid, "unknown shape", [](Recipe& r) { r.tensor("v", {-1}, 0); });
  refused("negative", invalid, "dimension 0 is -2", [](Recipe& r) { r.tensor("v", {-2}, -1); });
  refused("rank", invalid, "9 dimensions",
          [](Recipe& r) { r.tensor("v", std::vector<std::int64_t>(9, 1), -1); });
  refused("segment", invalid, "segment 7 of 1", [](Recipe& r) { r.tensor("v", {4}, 7); });
  refused("data type", invalid, "unknown data type 200",
          [](Recipe& r) { r.tensor("v", {4}, -1, static_cast<schema::DataType>(200)); });
  refused("names", invalid, "two tensors are called 'y'",
          [](Recipe& r) { r.tensor("y", {4}, -1); });
  refused("no name", invalid, "has no name", [](Recipe& r) { r.tensor("", {4}, -1); });
  refused("output", invalid, "there is no tensor 9", [](Recipe& r) { r.outputs = {9}; });
  refused("layers", invalid, "two layers are called 'layer'", [](Recipe& r) { r.layer(1, {}); });
}

TEST_CASE("dnn: parameters and post-ops that contradict themselves are refused, in words") {
  using schema::ParamKind;
  const auto refused_param = [](ParamKind kind, const char* name, int integers, int reals,
                                const char* words) {
    const Bytes file = file_with([&](Recipe& r) {
      const auto text = r.builder.CreateString(name);
      const auto i = r.builder.CreateVector(std::vector<std::int64_t>(std::size_t(integers)));
      const auto x = r.builder.CreateVector(std::vector<double>(std::size_t(reals)));
      const auto param = schema::CreateParam(r.builder, text, kind, i, x);
      r.layers.clear();
      r.layer(1, {param});
    });
    require_refused(name, file, StatusCode::invalid_model, words);
    require_refused(name, file, StatusCode::invalid_model, "layer 'layer'");
  };
  refused_param(ParamKind::Integer, "count", 0, 0, "parameter 'count'");
  refused_param(ParamKind::Integer, "count", 2, 0, "exactly one");
  refused_param(ParamKind::Real, "count", 0, 1, "'count'");
  refused_param(ParamKind::Text, "mode", 1, 1, "'mode'");
  refused_param(static_cast<ParamKind>(99), "mode", 1, 1, "unknown kind 99");
  refused_param(ParamKind::Integer, "strange", 1, 0, "'strange'");

  const auto refused_post_op = [](schema::PostOpKind kind, const char* op, StatusCode code,
                                  const char* words) {
    const Bytes file = file_with([&](Recipe& r) {
      const auto text = r.builder.CreateString(op);
      const auto post_op = schema::CreatePostOp(r.builder, kind, text, 0.0f, 0.0f, 5);
      r.layers.clear();
      r.layer(1, {}, {post_op});
    });
    require_refused(op, file, code, words);
  };
  const auto unary = schema::PostOpKind::Unary, binary = schema::PostOpKind::Binary;
  refused_post_op(unary, "frobnicate", StatusCode::unsupported, "'frobnicate'");
  refused_post_op(static_cast<schema::PostOpKind>(9), "relu", StatusCode::unsupported, "'relu'");
  refused_post_op(binary, "add", StatusCode::invalid_model, "input 5");
  refused_post_op(binary, "equal", StatusCode::invalid_model, "changes the data type");
}

TEST_CASE("dnn: subgraphs deeper than eight are refused, also without an end") {
  Recipe r;
  r.tensor("w", {4}, 0);
  r.tensor("y", {4}, -1);
  r.segment(0, 16);
  r.layer(1, {});
  r.outputs = {1};
  for (int i = 0; i < 9; ++i) {
    const auto inner = r.graph();
    r.layers.clear();
    r.layer(1, {}, {}, {inner});
  }
  const Status status = load(r.file());
  REQUIRE_FALSE(status.ok());
  REQUIRE_THAT(status.message(),
               Catch::Contains("share the same bytes") || Catch::Contains("more than 8 deep"));

  // Honest nesting: nothing is shared.
  std::shared_ptr<const Graph> inner;
  for (int depth = 0; depth <= kDnnMaxNesting; ++depth) {
    auto graph = std::make_shared<Graph>();
    const TensorId y = graph->add_tensor({.name = "y", .type = DataType::float32});
    Layer& layer = graph->add_layer(*sample_types().find("loop"), "layer", {}, {y});
    if (inner != nullptr) layer.subgraphs.push_back(inner);
    graph->outputs = {y};
    inner = graph;
    const Tensor file = serialize_dnn(*graph).value();
    REQUIRE(load_dnn_contents_memory(file.data(), file.bytes(), nullptr, sample_types())
                .status()
                .message() == "");
  }
}

TEST_CASE("dnn: pieces that are used many times do not multiply") {
  Recipe r;
  r.tensor("w", {4}, 0);
  r.tensor("y", {4}, -1);
  r.segment(0, 16);
  const auto big = r.builder.CreateString(std::string(1 << 20, 'x'));
  const auto text = schema::CreateText(r.builder, big);
  std::vector<flatbuffers::Offset<schema::Text>> many(1 << 16, text);
  const auto sources = r.builder.CreateVector(many);
  const auto type = r.builder.CreateString("mix");
  const auto name = r.builder.CreateString("layer");
  const auto none = r.builder.CreateVector(std::vector<std::uint32_t>());
  const auto outs = r.builder.CreateVector(std::vector<std::uint32_t>{1});
  r.layers.push_back(schema::CreateLayer(r.builder, 1, type, name, none, outs, 0, 0, 0, sources));
  r.outputs = {1};
  require_refused("64 GiB of text", r.file(), StatusCode::invalid_model, "share the same bytes");
}

TEST_CASE("dnn: changed files with right checksums are refused or load, but never crash") {
  std::mt19937 random(20240117);
  int loaded = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Tensor tensor = serialize_dnn(random_graph(seed, 1)).value();
    const auto* const data = static_cast<const std::byte*>(tensor.data());
    const Bytes file(data, data + tensor.bytes());
    const std::size_t end = static_cast<std::size_t>(header_of(file).segments_offset);
    for (int round = 0; round < 200; ++round) {
      Bytes changed = file;
      for (unsigned n = random() % 3 + 1; n > 0; --n)
        changed[sizeof(DnnHeader) + random() % (end - sizeof(DnnHeader))] =
            static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
      const Status status = load(resealed(changed), Verify::structure);
      REQUIRE(status.ok() == status.message().empty());
      ++(status.ok() ? loaded : refused);
    }
  }
  REQUIRE(loaded > 100);
  REQUIRE(refused > 100);
}
