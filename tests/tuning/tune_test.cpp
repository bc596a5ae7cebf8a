// Net::tune from end to end on a small net: results, reports, files, limits, cancelling.
#include "softneuro/tune.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "core/base/isa_variants.h"
#include "core/dnn/file.h"
#include "net/net_access.h"
#include "small_net.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

Net small_net(int threads = 1) {
  NetOptions options;
  options.threads = threads;
  return NetAccess::from_graph(small_graph(), options).value();
}

TuneOptions quick(const TemporaryFolder& folder) {
  TuneOptions options;
  options.cache.folder = folder.path().string();
  return options;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What was asked for in all.
struct CountingAllocator final : Allocator {
  std::size_t bytes = 0;
  void* allocate(std::size_t size, std::size_t alignment) noexcept override {
    bytes += size;
    return default_allocator().allocate(size, alignment);
  }
  void deallocate(void* pointer, std::size_t size) noexcept override {
    default_allocator().deallocate(pointer, size);
  }
};

double difference(const NamedTensors& a, const NamedTensors& b) {
  double worst = 0;
  for (const auto& [name, x] : a) {
    const Tensor& y = b.at(name);
    for (std::size_t i = 0; i < x.values<float>().size(); ++i)
      worst = std::max(worst,
                       std::fabs(static_cast<double>(x.values<float>()[i] - y.values<float>()[i])));
  }
  return worst;
}

}  // namespace

TEST_CASE("tune: a net without layers is tuned to nothing, saved and run") {
  const TemporaryFolder folder;
  Graph graph;
  Tensor two = Tensor::create(DataType::float32, Shape{2}).value();
  two.mutable_values<float>()[0] = 1;
  two.mutable_values<float>()[1] = 2;
  graph.outputs.push_back(graph.add_constant("two", std::move(two)));
  const bool passes_input_on = GENERATE(false, true);
  NamedTensors inputs;
  if (passes_input_on) {
    TensorDef def;
    def.name = "x";
    def.type = DataType::float32;
    def.shape = Shape{1, 3};
    graph.inputs.push_back(graph.add_tensor(std::move(def)));
    graph.outputs.push_back(graph.inputs.back());
    inputs["x"] = Tensor::create(DataType::float32, Shape{1, 3}).value();
    for (float& value : inputs["x"].mutable_values<float>()) value = 7;
  }
  Net net = NetAccess::from_graph(std::move(graph), {}).value();
  const auto report = net.tune(quick(folder));
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(report->layers.empty());
  const std::string path = (folder.path() / "tuned.dnn").string();
  REQUIRE(net.save(path).ok());
  const auto outputs = Net::load(path).value().run(inputs);
  REQUIRE(outputs.ok());
  CHECK(outputs->at("two").values<float>()[1] == 2);
  if (passes_input_on) CHECK(outputs->at("x").values<float>()[2] == 7);
}

TEST_CASE("tune: the tuned net computes the same, and says what runs where") {
  const TemporaryFolder folder;
  Net net = small_net();
  const NamedTensors before = net.run({{"image", random_image(5)}}).value();
  const auto report = net.tune(quick(folder));
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK(difference(before, net.run({{"image", random_image(5)}}).value()) < 1e-3);
  CHECK(report->measured > 20);
  CHECK(report->complete);
  CHECK(report->gap == 0);
  CHECK(report->tuned_us > 0);
  CHECK(report->untuned_us > 0);
  CHECK(report->layers.size() >= 5);
  for (const TunedLayer& row : report->layers) {
    CHECK_FALSE(row.routine.empty());
    CHECK_FALSE(row.fallback);
  }
  REQUIRE(net.tuned_paths().size() == 1);
  CHECK(net.tuned_paths()[0].shapes.at("image") == Shape{1, 3, 12, 12});
  CHECK(net.tuned_paths()[0].threads == 1);
}

TEST_CASE("tune: a second time everything comes from the cache, and the plan stays") {
  const TemporaryFolder folder;
  Net first = small_net(), second = small_net();
  const TuneReport cold = first.tune(quick(folder)).value();
  const TuneReport warm = second.tune(quick(folder)).value();
  CHECK(cold.measured > 0);
  CHECK(warm.measured == 0);
  CHECK(warm.from_cache > 0);
  CHECK(first.plan().value()->describe() == second.plan().value()->describe());
}

TEST_CASE("tune: a saved net carries the path, and loads to the same plan") {
  const TemporaryFolder folder;
  Net net = small_net();
  REQUIRE(net.tune(quick(folder)).ok());
  const std::string file = folder.file("tuned.dnn");
  REQUIRE(net.save(file).ok());
  NetOptions options;
  options.threads = 1;
  const Net loaded = Net::load(file, options).value();
  REQUIRE(loaded.tuned_paths().size() == 1);
  CHECK(loaded.tuned_paths()[0].time_us == net.tuned_paths()[0].time_us);
  CHECK(loaded.plan().value()->describe() == net.plan().value()->describe());
  const NamedTensors a = net.run({{"image", random_image(2)}}).value();
  CHECK(difference(a, loaded.run({{"image", random_image(2)}}).value()) == 0);
  // Saved again it is the same file: nothing of the path is lost on the way.
  REQUIRE(loaded.save(folder.file("again.dnn")).ok());
  CHECK(read_file(file) == read_file(folder.file("again.dnn")));
}

TEST_CASE("tune: packed weights in the file give the same plan and bits, without packing") {
  const TemporaryFolder folder;
  Net net = small_net();
  REQUIRE(net.tune(quick(folder)).ok());
  REQUIRE(net.save(folder.file("plain.dnn")).ok());
  REQUIRE(net.save(folder.file("packed.dnn"), {.packed_weights = true}).ok());
  CHECK(read_file(folder.file("packed.dnn")).size() > read_file(folder.file("plain.dnn")).size());
  CountingAllocator plain_memory, packed_memory;
  NetOptions options;
  options.threads = 1;
  options.allocator = &plain_memory;
  const Net plain = Net::load(folder.file("plain.dnn"), options).value();
  options.allocator = &packed_memory;
  const Net packed = Net::load(folder.file("packed.dnn"), options).value();
  REQUIRE(plain.prepare().ok());
  REQUIRE(packed.prepare().ok());
  CHECK(packed_memory.bytes < plain_memory.bytes);
  CHECK(plain.plan().value()->describe() == packed.plan().value()->describe());
  const NamedTensors a = plain.run({{"image", random_image(2)}}).value();
  CHECK(difference(a, packed.run({{"image", random_image(2)}}).value()) == 0);
}

TEST_CASE("tune: paths for several thread counts live in one net; the fitting one is taken") {
  const TemporaryFolder folder;
  Net net = small_net(1);
  TuneOptions options = quick(folder);
  REQUIRE(net.tune(options).ok());
  options.threads = 2;
  REQUIRE(net.tune(options).ok());
  CHECK(net.tuned_paths().size() == 2);
  options.threads = 1;
  REQUIRE(net.tune(options).ok());
  REQUIRE(net.tuned_paths().size() == 2);
  CHECK(net.tuned_paths()[0].threads == 1);  // replaced in its place
  const std::string file = folder.file("tuned.dnn");
  REQUIRE(net.save(file).ok());
  std::vector<std::string> lines;
  NetOptions three;
  three.threads = 3;
  three.log = [&](LogLevel, std::string_view text) { lines.emplace_back(text); };
  const Net loaded = Net::load(file, three).value();
  REQUIRE(loaded.prepare().ok());
  REQUIRE(lines.size() >= 1);
  CHECK(lines.back().find("best-matching tuned path") != std::string::npos);
}

TEST_CASE("tune: qint8 without ranges, max_error without samples, wrong schemas are errors") {
  const TemporaryFolder folder;
  Net net = small_net();
  TuneOptions options = quick(folder);
  options.schemas = {"cpu:float32", "cpu:qint8"};
  CHECK(net.tune(options).status().code() == StatusCode::invalid_argument);
  CHECK(net.tune(options).status().message().find("calibration") != std::string::npos);
  options = quick(folder);
  options.max_error = 0.01;
  CHECK(net.tune(options).status().code() == StatusCode::invalid_argument);
  options = quick(folder);
  for (const char* schema : {"gpu:float32", "cuda", "cpu:int8", "cpu:nonsense"}) {
    options.schemas = {"cpu:float32", schema};
    const Status status = net.tune(options).status();
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(schema) != std::string::npos);
  }
  options.schemas = {"cuda"};
  CHECK(net.tune(options).status().message().find("cpu:float16") != std::string::npos);
  options.schemas = {};
  CHECK(net.tune(options).status().code() == StatusCode::invalid_argument);
  options = quick(folder);
  options.calibration = {{{"picture", random_image(1)}}};
  CHECK(net.tune(options).status().message().find("'image'") != std::string::npos);
  CHECK(net.tuned_paths().empty());
}

TEST_CASE("tune: cancelled between two measurements, the net is as before and the cache helps") {
  const TemporaryFolder folder;
  Net net = small_net();
  std::atomic<bool> cancel = false;
  TuneOptions options = quick(folder);
  options.cancel = &cancel;
  std::size_t seen = 0;
  options.progress = [&](const TuneProgress&) { cancel = ++seen >= 12; };
  const auto stopped = net.tune(options);
  CHECK(stopped.status().code() == StatusCode::cancelled);
  CHECK(net.tuned_paths().empty());
  options.cancel = nullptr;
  options.progress = nullptr;
  // What else is measured, near ties and whole paths, varies from tuning to tuning.
  CHECK(net.tune(options).value().from_cache > 5);
}

TEST_CASE("tune: a plan that was begun before tuning ended is not kept") {
  const TemporaryFolder folder;
  std::function<void()> when_planned;  // called between planning and keeping the plan
  NetOptions net_options;
  net_options.threads = 1;
  net_options.log = [&](LogLevel, std::string_view line) {
    if (line.find("best-matching tuned path") == std::string_view::npos || !when_planned) return;
    std::exchange(when_planned, nullptr)();
  };
  RoutinePath elsewhere;
  elsewhere.machine = "another machine";
  elsewhere.threads = 1;
  elsewhere.shapes = {{"image", Shape{1, 3, 12, 12}}};
  const std::string file = folder.file("elsewhere.dnn");
  REQUIRE(save_dnn(small_graph(), file, std::span(&elsewhere, 1)).ok());
  Net net = Net::load(file, net_options).value();
  bool tuned = false;
  when_planned = [&] { tuned = net.tune(quick(folder)).ok(); };
  const auto before = net.plan({}).value();
  REQUIRE(tuned);
  CHECK(net.plan({}).value() != before);
  CHECK(net.memory_report().plans == 1);
}

TEST_CASE("tune: runs on another thread go on meanwhile and give the net's outputs") {
  const TemporaryFolder folder;
  Net net = small_net();
  const NamedTensors inputs = {{"image", random_image(5)}};
  const NamedTensors expected = net.run(inputs).value();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, runs = 0;
  std::thread other([&] {
    while (!done) {
      const auto outputs = net.run(inputs);
      if (!outputs.ok() || difference(*outputs, expected) > 1e-4) ++wrong;
      if (net.memory_report().weights == 0) ++wrong;
      ++runs;
    }
  });
  for (int i = 0; i < 2; ++i) {
    INFO(net.tune(quick(folder)).status().message());
    CHECK(net.tuned_paths().size() == 1);
  }
  done = true;
  other.join();
  CHECK(runs > 0);
  CHECK(wrong == 0);
}

TEST_CASE("tune: all schemas without samples give a warning that 8-bit routines are left out") {
  const TemporaryFolder folder;
  TuneOptions options = quick(folder);
  const auto warns = [&] {
    const TuneReport report = small_net().tune(options).value();
    return std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& line) {
      return line.find("8-bit routines are left out") != std::string::npos;
    });
  };
  CHECK_FALSE(warns());
  options.schemas = {"cpu"};
  CHECK(warns());
  options.calibration = {{{"image", random_image(1)}}, {{"image", random_image(2)}}};
  CHECK_FALSE(warns());
}

TEST_CASE("tune: no time at all gives default choices, and claims neither times nor optimality") {
  const TemporaryFolder folder;
  Net net = small_net();
  TuneOptions options = quick(folder);
  options.time_limit = std::chrono::milliseconds(1);
  // However fast the machine is, the time is up with the first report of progress.
  options.progress = [](const TuneProgress&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  const auto report = net.tune(options);
  INFO(report.status().message());
  REQUIRE(report.ok());
  CHECK_FALSE(report->complete);
  CHECK(report->gap == 1);
  CHECK(report->verification_inputs == 1);
  CHECK(std::any_of(report->layers.begin(), report->layers.end(),
                    [](const TunedLayer& layer) { return !layer.is_measured; }));
  for (const TunedLayer& layer : report->layers) {
    INFO(layer.layer << " " << layer.routine);
    if (!layer.is_measured) CHECK(layer.unit_us == 0);
  }
  CHECK(net.run({{"image", random_image(5)}}).ok());
}

TEST_CASE("tune: strict refuses layers without a routine in the schemas, by name") {
  const TemporaryFolder folder;
  Net net = small_net();
  TuneOptions options = quick(folder);
  options.schemas = {"cpu:float32:nhwc"};
  options.selection.strict = true;
  const auto report = net.tune(options);
  CHECK(report.status().code() == StatusCode::unsupported);
  CHECK(report.status().message().find("'fc'") != std::string::npos);
  options.selection.strict = false;
  std::size_t fallbacks = 0;
  const TuneReport loose = net.tune(options).value();
  for (const TunedLayer& row : loose.layers) fallbacks += row.fallback;
  CHECK(fallbacks == 1);
}

TEST_CASE("tune: float16 is taken only if allowed, and the error limit binds it") {
  const TemporaryFolder folder;
  Net net = small_net();
  TuneOptions options = quick(folder);
  options.schemas = {"cpu:float32", "cpu:float16"};
  for (std::uint32_t s = 0; s < 10; ++s)
    options.calibration.push_back({{"image", random_image(s)}});
  options.max_error = 1e-7;  // tighter than half precision can be
  const auto report = net.tune(options);
  INFO(report.status().message());
  if (report.ok()) {
    CHECK(report->error <= 1e-7);
  } else {
    CHECK(report.status().message().find("error") != std::string::npos);
  }
  options.max_error = 0.01;
  const TuneReport loose = net.tune(options).value();
  CHECK(loose.error <= 0.01);
}

namespace {

// What is squared overflows half precision with the pictures of the test, not with the random
// numbers on which kernels are measured alone.
Graph squared() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 16, 24, 24}));
  const TensorId x = b.unary("relu", "relu", b.conv("conv", image, 16, 16, 3));
  b.graph.outputs = {b.scaled("scaled", b.mul("square", x, x), 1e-5f)};
  return b.graph;
}

}  // namespace

TEST_CASE("tune: what overflows in half precision is no path, and condemns no other") {
  const TemporaryFolder folder;
  Net net = NetAccess::from_graph(squared(), NetOptions()).value();
  TuneOptions options = quick(folder);
  for (std::uint32_t s = 0; s < 10; ++s) {
    Tensor image = random_image(s, {1, 16, 24, 24});
    for (float& value : image.mutable_values<float>()) value *= 1000;
    options.calibration.push_back({{"image", std::move(image)}});
  }
  options.max_error = 0.01;
  options.schemas = {"cpu:float32", "cpu:float16"};
  const auto mixed = net.tune(options);
  INFO(mixed.status().message());
  REQUIRE(mixed.ok());
  CHECK(mixed->error <= 0.01);
  options.schemas = {"cpu:float16"};  // where float16 has no routine for a layer, float32 serves
  const auto half = net.tune(options);
  if (half.ok()) {
    CHECK(half->error <= 0.01);
  } else {
    CHECK(half.status().message().find("that keeps the error below") != std::string::npos);
  }
}

namespace {

// y = conv "loud" + 0.001 · conv "drowned", each 256 channels of 14x14: what either rounds is as
// much in relation to its own output, but next to nothing of the second arrives.
Graph loud_and_drowned() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 256, 14, 14}));
  const TensorId loud = b.conv("loud", image, 256, 256, 1);
  const TensorId faint = b.scaled("faint", b.conv("drowned", image, 256, 256, 1), 1e-3f);
  b.graph.outputs = {b.add("both", b.unary("relu", "relu", loud), faint)};
  return b.graph;
}

}  // namespace

TEST_CASE("tune: the error limit is bound by what arrives at the outputs, layer by layer") {
  if (!usable_features().has(isa::avx512vnni))
    SN_SKIP("8 bits may not be faster here, so that no limit would bind");
  const TemporaryFolder folder;
  NetOptions net_options;
  net_options.threads = 1;
  Net net = NetAccess::from_graph(loud_and_drowned(), net_options).value();
  TuneOptions options = quick(folder);
  options.schemas = {"cpu:float32", "cpu:qint8"};
  // Of float32 only slow routines: 8 bits are faster, whatever a sanitizer adds.
  options.selection.avoid = {"cpu:float32:*", "cpu/[!dgn]*"};
  for (std::uint32_t s = 0; s < 10; ++s)
    options.calibration.push_back({{"image", random_image(s, {1, 256, 14, 14})}});
  const TuneReport loose = net.tune(options).value();
  const auto routine_of = [](const TuneReport& report, const std::string& layer) {
    for (const TunedLayer& row : report.layers)
      if (row.layer == layer) return row.routine;
    return std::string();
  };
  REQUIRE(loose.error > 1e-3);
  REQUIRE(routine_of(loose, "loud").find("qint8") != std::string::npos);
  options.max_error = 1e-3;
  const TuneReport tight = net.tune(options).value();
  CHECK(tight.error <= 1e-3);
  CHECK(routine_of(tight, "loud").find("qint8") == std::string::npos);
  CHECK(routine_of(tight, "drowned").find("qint8") != std::string::npos);
  const auto sensitivity_of = [&](const std::string& layer) {
    const auto row = std::find_if(
        tight.sensitivity.begin(), tight.sensitivity.end(),
        [&](const LayerSensitivity& sensitivity) { return sensitivity.layer == layer; });
    REQUIRE(row != tight.sensitivity.end());
    return *row;
  };
  CHECK(loose.sensitivity.empty());
  CHECK(sensitivity_of("loud").net_error > 100 * sensitivity_of("drowned").net_error);
  CHECK(sensitivity_of("loud").own_error < 10 * sensitivity_of("drowned").own_error);
  for (const TunedLayer& row : tight.layers)
    if (row.layer == "loud") {
      REQUIRE(row.not_chosen.size() == 1);
      CHECK(row.not_chosen[0].kind == "cpu:qint8");
      CHECK(row.not_chosen[0].reason == NotChosen::Reason::error_limit);
    }
  CHECK_FALSE(sensitivity_of("loud").is_kept);
  CHECK(sensitivity_of("drowned").is_kept);
  CHECK(std::is_sorted(tight.sensitivity.begin(), tight.sensitivity.end(),
                       [](const LayerSensitivity& a, const LayerSensitivity& b) {
                         return a.net_error > b.net_error;
                       }));
  // Sensitivity is in the cache: a second time nothing is measured, and the plan stays.
  const TuneReport again = net.tune(options).value();
  CHECK(again.measured == 0);
  CHECK(routine_of(again, "drowned") == routine_of(tight, "drowned"));
}
