// .dnn files: what is saved is what is loaded.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/dnn/file.h"
#include "core/dnn/file_header.h"
#include "support/dnn_samples.h"
#include "support/graph_compare.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using test::difference;
using test::random_graph;
using test::sample_types;
using test::TemporaryFolder;

namespace {

Result<Graph> load(const Tensor& file, Verify verify = Verify::full) {
  return load_dnn_contents_memory(file.data(), file.bytes(), nullptr, sample_types(), verify)
      .transform([](DnnContents&& contents) { return std::move(contents.graph); });
}

// One layer on one constant.
Graph graph_with(Tensor constant) {
  Graph graph;
  const TensorId weights = graph.add_constant("weights", std::move(constant));
  const TensorId y = graph.add_tensor({.name = "y", .type = DataType::float32});
  Layer& layer = graph.add_layer(*sample_types().find("mix"), "layer", {weights}, {y});
  REQUIRE(layer.type->check_params(layer.params).ok());
  graph.outputs = {y};
  return graph;
}

Tensor ramp(std::int64_t count) {
  Tensor tensor = Tensor::create(DataType::float32, Shape{count}).value();
  float next = 0;
  for (float& value : tensor.mutable_values<float>()) value = next++;
  return tensor;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CountingAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    ++calls;
    return limit >= 0 && calls > limit ? nullptr : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    default_allocator().deallocate(pointer, bytes);
  }
  int calls = 0;
  int limit = -1;  // refuses after so many; −1: never
};

}  // namespace

TEST_CASE("dnn: random graphs come back as they were, and give the same bytes again") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    const Graph graph = random_graph(seed);
    REQUIRE(graph.verify(sample_types()).message() == "");
    const Tensor file = serialize_dnn(graph).value();
    REQUIRE(file.bytes() % kDnnAlignment == 0);
    for (const Verify verify : {Verify::full, Verify::structure}) {
      const Result<Graph> loaded = load(file, verify);
      REQUIRE(loaded.status().message() == "");
      REQUIRE(difference(graph, *loaded) == "");
    }
    const Tensor again = serialize_dnn(load(file).value()).value();
    REQUIRE(again.bytes() == file.bytes());
    REQUIRE(std::memcmp(again.data(), file.data(), file.bytes()) == 0);
  }
}

TEST_CASE("dnn: a saved file has the bytes of the one in memory, and loads from its path") {
  const TemporaryFolder folder;
  const std::string path = folder.file("net.dnn");
  const std::size_t descriptors = test::open_descriptors();
  const Graph graph = random_graph(3);
  REQUIRE(save_dnn(graph, path).message() == "");
  const Tensor memory = serialize_dnn(graph).value();
  const std::vector<char> bytes = bytes_of(path);
  REQUIRE(bytes.size() == memory.bytes());
  REQUIRE(std::memcmp(bytes.data(), memory.data(), bytes.size()) == 0);
  {
    const Result<DnnContents> loaded = load_dnn_contents(path, sample_types());
    REQUIRE(loaded.status().message() == "");
    REQUIRE(difference(graph, loaded->graph) == "");
    // The mapping outlives the file's name.
    REQUIRE(unlink(path.c_str()) == 0);
    REQUIRE(difference(graph, loaded->graph) == "");
  }
  REQUIRE(test::open_descriptors() == descriptors);
  REQUIRE(folder.entries() == 0);
}

TEST_CASE("dnn: constants are not copied, aligned, and keep their owner alive") {
  const auto file = std::make_shared<Tensor>(serialize_dnn(graph_with(ramp(100))).value());
  CountingAllocator allocator;
  Tensor weights;
  {
    const Graph graph = load_dnn_contents_memory(file->data(), file->bytes(), file, sample_types(),
                                                 Verify::full, allocator)
                            .value()
                            .graph;
    weights = graph.tensor(graph.find_tensor("weights")).constant;
  }
  REQUIRE(allocator.calls == 0);
  REQUIRE(file.use_count() == 2);
  const auto* const begin = static_cast<const std::byte*>(file->data());
  const auto* const data = static_cast<const std::byte*>(weights.data());
  REQUIRE(data > begin);
  REQUIRE(data + weights.bytes() <= begin + file->bytes());
  REQUIRE(reinterpret_cast<std::uintptr_t>(data) % kTensorAlignment == 0);
  REQUIRE(weights.mutable_data() == nullptr);
  REQUIRE(weights.values<float>()[99] == 99);
  weights = Tensor();
  REQUIRE(file.use_count() == 1);
}

TEST_CASE("dnn: misaligned memory is copied once, by the caller's allocator") {
  const Tensor file = serialize_dnn(graph_with(ramp(100))).value();
  std::vector<std::byte> shifted(file.bytes() + 65);
  const auto address = reinterpret_cast<std::uintptr_t>(shifted.data());
  std::byte* const odd = shifted.data() + (64 - address % 64) + 1;
  std::memcpy(odd, file.data(), file.bytes());
  CountingAllocator allocator;
  const Result<DnnContents> loaded =
      load_dnn_contents_memory(odd, file.bytes(), nullptr, sample_types(), Verify::full, allocator);
  REQUIRE(loaded.status().message() == "");
  const Graph& graph = loaded->graph;
  REQUIRE(allocator.calls == 1);
  std::fill(shifted.begin(), shifted.end(), std::byte{0});
  REQUIRE(graph.tensor(graph.find_tensor("weights")).constant.values<float>()[99] == 99);

  allocator = {};
  allocator.limit = 0;
  std::memcpy(odd, file.data(), file.bytes());
  REQUIRE(
      load_dnn_contents_memory(odd, file.bytes(), nullptr, sample_types(), Verify::full, allocator)
          .status()
          .code() == StatusCode::out_of_memory);
  REQUIRE(serialize_dnn(graph, allocator).status().code() == StatusCode::out_of_memory);
}

TEST_CASE("dnn: equal constants are stored once") {
  const std::size_t one = serialize_dnn(graph_with(ramp(10000))).value().bytes();
  Graph graph = graph_with(ramp(10000));
  Layer& layer = graph.layers()[0];
  for (int i = 0; i < 5; ++i) {
    layer.inputs.push_back(graph.add_constant("same", ramp(10000)));
    ++layer.layer_inputs;
  }
  const Tensor file = serialize_dnn(graph).value();
  REQUIRE(file.bytes() < one + 1000);
  REQUIRE(difference(graph, load(file).value()) == "");
}

TEST_CASE("dnn: parameters at their default are understood by libraries without them") {
  LayerTypes older, newer;
  LayerType type = *sample_types().find("mix");
  type.params = {{"axis", std::int64_t{1}, "an axis"}};
  REQUIRE(older.add(type).ok());
  type.params.push_back({"bias", -0.0, "appended later"});
  REQUIRE(newer.add(type).ok());

  Graph graph;
  const TensorId y = graph.add_tensor({.name = "y"});
  graph.add_layer(*newer.find("mix"), "layer", {}, {y});
  graph.outputs = {y};
  for (const double bias : {-0.0, 0.0, 1.0}) {
    INFO("bias " << bias);
    graph.layers()[0].params.set("bias", bias);
    const Tensor file = serialize_dnn(graph).value();
    const auto read = load_dnn_contents_memory(file.data(), file.bytes(), nullptr, newer);
    REQUIRE(read.status().message() == "");
    REQUIRE(std::signbit(read->graph.layers()[0].params.real("bias")) == std::signbit(bias));
    const auto old = load_dnn_contents_memory(file.data(), file.bytes(), nullptr, older);
    const bool is_default = bias == 0 && std::signbit(bias);
    REQUIRE(old.ok() == is_default);
    if (is_default) {
      REQUIRE(old->graph.layers()[0].params.integer("axis") == 1);
    } else {
      REQUIRE_THAT(old.status().message(),
                   Catch::Contains("layer 'layer'") && Catch::Contains("'bias'"));
    }
  }
}

TEST_CASE("dnn: an unknown layer type is named") {
  const Tensor file = serialize_dnn(graph_with(ramp(1))).value();
  const LayerTypes none;
  const Status status = load_dnn_contents_memory(file.data(), file.bytes(), nullptr, none).status();
  REQUIRE(status.code() == StatusCode::unsupported);
  REQUIRE_THAT(status.message(), Catch::Contains("layer 'layer'") && Catch::Contains("'mix'"));
}

TEST_CASE("dnn: a graph that a file cannot hold is refused before a file appears") {
  const TemporaryFolder folder;
  Graph graph = graph_with(ramp(16));
  TensorDef& weights = graph.tensor(0);
  SECTION("layout") {
    weights.constant =
        Tensor::create(DataType::float32, Shape{1, 16}, default_allocator(), Layout::nchw8c)
            .value();
    weights.shape = Shape{1, 16};
  }
  SECTION("shape") {
    weights.shape = Shape{4, 4};
  }
  SECTION("type") {
    weights.type = DataType::int32;
  }
  SECTION("depth") {
    for (int i = 0; i < kDnnMaxNesting + 1; ++i) {
      auto inner = std::make_shared<const Graph>(graph);
      graph = graph_with(ramp(1));
      graph.layers()[0].subgraphs.push_back(std::move(inner));
    }
  }
  const Status status = save_dnn(graph, folder.file("net.dnn"));
  REQUIRE(status.code() == StatusCode::invalid_argument);
  REQUIRE_THAT(status.message(), Catch::Contains("net.dnn"));
  REQUIRE(folder.entries() == 0);
}

TEST_CASE("dnn: files that cannot be read are told apart") {
  const TemporaryFolder folder;
  const auto status = [&](const std::string& path) {
    return load_dnn_contents(path, sample_types()).status();
  };
  REQUIRE(status(folder.file("none.dnn")).code() == StatusCode::not_found);
  REQUIRE_THAT(status(folder.file("none.dnn")).message(), Catch::Contains("none.dnn"));
  REQUIRE(status("").code() == StatusCode::invalid_argument);
  REQUIRE(status(std::string("a\0b", 3)).code() == StatusCode::invalid_argument);
  REQUIRE(status(folder.path().string()).code() == StatusCode::io_error);
  REQUIRE(status("/dev/zero").code() == StatusCode::io_error);
  // A pipe without a writer must not be waited for.
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  REQUIRE(status(folder.file("pipe")).code() == StatusCode::io_error);
  std::ofstream(folder.file("empty.dnn")) << "";
  REQUIRE(status(folder.file("empty.dnn")).code() == StatusCode::corrupt_file);
  REQUIRE_THAT(status(folder.file("empty.dnn")).message(), Catch::Contains("empty.dnn"));
  std::ofstream(folder.file("text.dnn")) << "a file of some other kind";
  REQUIRE_THAT(status(folder.file("text.dnn")).message(), Catch::Contains("not a .dnn file"));
}

TEST_CASE("dnn: more than 2 GiB of weights", "[slow]") {
  const TemporaryFolder folder;
  constexpr std::size_t kBytes = (std::size_t{5} << 29) + 4;  // 2.5 GiB
  if (std::filesystem::space(folder.path()).available < 4 * kBytes)
    SN_SKIP("a file of 2.5 GiB needs more room in the temporary folder");
  void* const zeros = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zeros == MAP_FAILED) SN_SKIP("cannot map 2.5 GiB");
  {
    Graph graph = graph_with(
        Tensor::borrow_const(DataType::float32, Shape{kBytes / 4}, zeros, kBytes).value());
    graph.layers()[0].inputs.push_back(graph.add_constant("behind", ramp(1000)));
    ++graph.layers()[0].layer_inputs;
    const std::string path = folder.file("large.dnn");
    REQUIRE(save_dnn(graph, path).message() == "");
    REQUIRE(std::filesystem::file_size(path) > kBytes);
    const Result<DnnContents> loaded = load_dnn_contents(path, sample_types(), Verify::full);
    REQUIRE(loaded.status().message() == "");
    const Graph& read = loaded->graph;
    REQUIRE(read.tensor(read.find_tensor("behind")).constant.values<float>()[999] == 999);
    REQUIRE(read.tensor(read.find_tensor("weights")).constant.bytes() == kBytes);
  }
  munmap(zeros, kBytes);
}
