// Nets, plans and sessions: binding, shapes known late, memory, threads, errors.
#include "softneuro/net.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "core/dnn/file.h"
#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/plan_impl.h"
#include "net/net_access.h"

using namespace softneuro;

namespace {

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
  return tensor;
}
Tensor int64s(const std::vector<std::int64_t>& values) {
  Tensor tensor =
      Tensor::create(DataType::int64, Shape{static_cast<std::int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.mutable_values<std::int64_t>().begin());
  return tensor;
}
Tensor ramp(const Shape& shape, float step = 0.25f) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = step * static_cast<float>(static_cast<int>(i % 13) - 6);
  return floats(shape, values);
}
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Graphs by hand, one line a layer.
struct Builder {
  Graph graph;

  TensorId input(const std::string& name, DynamicShape shape, DataType type = DataType::float32) {
    TensorDef def;
    def.name = name;
    def.type = type;
    def.shape = std::move(shape);
    graph.inputs.push_back(graph.add_tensor(std::move(def)));
    return graph.inputs.back();
  }
  TensorId constant(const std::string& name, Tensor value) {
    return graph.add_constant(name, std::move(value));
  }
  TensorId layer(const std::string& type, const std::string& name, std::vector<TensorId> inputs,
                 Params params = {}) {
    TensorDef def;
    def.name = name + ":0";
    const TensorId out = graph.add_tensor(std::move(def));
    graph.add_layer(*builtin_layer_types().find(type), name, std::move(inputs), {out},
                    std::move(params));
    return out;
  }
  TensorId unary(const std::string& op, const std::string& name, TensorId x) {
    Params params;
    params.set("op", op);
    return layer("unary", name, {x}, params);
  }
  TensorId binary(const std::string& op, const std::string& name, TensorId a, TensorId b) {
    Params params;
    params.set("op", op);
    return layer("binary", name, {a, b}, params);
  }
  Net net(std::vector<TensorId> outputs, NetOptions options = {}) {
    graph.outputs = std::move(outputs);
    return NetAccess::from_graph(graph, options).value();
  }
};

// x[batch, 8] → dense → relu → +x → softmax, and the relu through a reshape.
struct SmallNet {
  Builder b;
  Net net;

  explicit SmallNet(NetOptions options = {}) : net(make(options)) {}

 private:
  Net make(const NetOptions& options) {
    const TensorId x = b.input("x", {Dim("batch"), Dim(8)});
    const TensorId w = b.constant("w", ramp(Shape{8, 8}, 0.1f));
    const TensorId bias = b.constant("bias", ramp(Shape{8}));
    const TensorId dense = b.layer("dense", "fc", {x, w, bias});
    const TensorId relu = b.unary("relu", "act", dense);
    const TensorId sum = b.binary("add", "sum", relu, x);
    const TensorId soft = b.layer("softmax", "soft", {sum});
    const TensorId flat = b.layer("reshape", "flat", {relu, b.constant("to", int64s({-1}))});
    return b.net({soft, flat}, options);
  }
};

}  // namespace

TEST_CASE("a net tells its inputs and outputs, and runs by name", "[net]") {
  SmallNet small;
  REQUIRE(small.net.inputs().size() == 1);
  CHECK(small.net.inputs()[0].name == "x");
  CHECK(small.net.inputs()[0].shape.str() == "batchx8");
  CHECK(small.net.outputs()[0].shape.str() == "batchx8");
  const auto outputs = small.net.run({{"x", ramp(Shape{3, 8})}}).value();
  REQUIRE(outputs.size() == 2);
  const Tensor& soft = outputs.at("soft:0");
  CHECK(soft.shape() == Shape{3, 8});
  for (int row = 0; row < 3; ++row) {
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += soft.values<float>()[static_cast<std::size_t>(row * 8 + i)];
    CHECK(sum == Approx(1));
  }
  CHECK(outputs.at("flat:0").shape() == Shape{24});
}

TEST_CASE("wrong inputs are named in the error", "[net]") {
  SmallNet small;
  const auto message = [&](const NamedTensors& inputs) {
    const auto result = small.net.run(inputs);
    REQUIRE_FALSE(result.ok());
    return result.status().message();
  };
  CHECK_THAT(message({}), Catch::Contains("'x'") && Catch::Contains("missing"));
  CHECK_THAT(message({{"x", ramp(Shape{3, 7})}}), Catch::Contains("3x7"));
  CHECK_THAT(message({{"x", ramp(Shape{8})}}), Catch::Contains("batchx8"));
  CHECK_THAT(message({{"x", int64s({1})}}), Catch::Contains("x"));
  CHECK_THAT(message({{"x", ramp(Shape{1, 8})}, {"y", ramp(Shape{1})}}), Catch::Contains("'y'"));
  CHECK(small.net.plan().status().message().find("batch") != std::string::npos);
}

TEST_CASE("the same symbol must mean the same size", "[net]") {
  Builder b;
  const TensorId x = b.input("x", {Dim("n"), Dim(2)});
  const TensorId y = b.input("y", {Dim("n"), Dim(2)});
  const Net net = b.net({b.binary("add", "sum", x, y)});
  CHECK(net.run({{"x", ramp(Shape{3, 2})}, {"y", ramp(Shape{3, 2})}}).ok());
  const auto wrong = net.run({{"x", ramp(Shape{3, 2})}, {"y", ramp(Shape{4, 2})}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.status().message(), Catch::Contains("'n'"));
}

TEST_CASE("sessions read inputs and write outputs in place", "[net]") {
  SmallNet small;
  const auto plan = small.net.plan({{"x", Shape{2, 8}}}).value();
  Session session = Session::create(plan).value();
  const Tensor x = ramp(Shape{2, 8});
  Tensor bound = Tensor::create(DataType::float32, Shape{2, 8}).value();
  std::vector<Tensor> outputs = {bound, Tensor()};
  REQUIRE(session.run({&x, 1}, outputs).ok());
  CHECK(outputs[0].data() == bound.data());
  REQUIRE_FALSE(outputs[1].empty());

  std::vector<Tensor> views(2);
  REQUIRE(session.run({&x, 1}, views).ok());
  CHECK(same_bits(views[0], bound));
  CHECK(same_bits(views[1], outputs[1]));

  std::vector<Tensor> wrong = {ramp(Shape{3, 8}), Tensor()};
  CHECK_FALSE(session.run({&x, 1}, wrong).ok());
  std::vector<Tensor> too_few(1);
  CHECK_FALSE(session.run({&x, 1}, too_few).ok());
  const float fixed[16] = {};
  std::vector<Tensor> read_only = {
      Tensor::borrow_const(DataType::float32, Shape{2, 8}, fixed, sizeof fixed).value(), Tensor()};
  CHECK_FALSE(session.run({&x, 1}, read_only).ok());
}

TEST_CASE("new shapes are planned once and the plans are bounded", "[net]") {
  NetOptions options;
  options.max_plans = 3;
  SmallNet small(options);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t batch = 1; batch <= 6; ++batch) {
      const auto out = small.net.run({{"x", ramp(Shape{batch, 8})}}).value();
      CHECK(out.at("soft:0").shape() == Shape{batch, 8});
    }
  CHECK(small.net.memory_report().plans == 3);
  const auto first = small.net.plan({{"x", Shape{6, 8}}}).value();
  CHECK(small.net.plan({{"x", Shape{6, 8}}}).value() == first);
  REQUIRE(small.net.prepare({{"x", Shape{9, 8}}}).ok());
  CHECK(small.net.memory_report().sessions >= 1);
  const auto zero = small.net.run({{"x", ramp(Shape{0, 8})}});  // an empty batch is a shape too
  REQUIRE(zero.ok());
  CHECK(zero->at("soft:0").elements() == 0);
}

TEST_CASE("a schema that no routine here has is an error that lists what there is", "[net]") {
  for (const char* schema : {"cpu:nonsense", "gpu", "cpu:float32:plain:more", ""}) {
    Builder b;
    b.graph.outputs = {b.input("x", DynamicShape(Shape{2}))};
    NetOptions options;
    options.threads = 1;
    options.schemas = {"cpu:float32", schema};
    const Status status = NetAccess::from_graph(std::move(b.graph), options).status();
    INFO(status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(schema) != std::string::npos);
    CHECK(status.message().find("cpu:float32:nhwc, ") != std::string::npos);
  }
}

TEST_CASE("weights are packed once for all plans and sessions", "[net]") {
  SmallNet small;
  const auto a = small.net.plan({{"x", Shape{2, 8}}}).value();
  const std::size_t packed = small.net.memory_report().packed_weights;
  const auto b = small.net.plan({{"x", Shape{5, 8}}}).value();
  CHECK(small.net.memory_report().packed_weights == packed);
  CHECK(small.net.memory_report().weights == (64 + 8) * 4 + 8);
}

TEST_CASE("plans are the same on any preparing thread", "[net]") {
  // Remembers who asks.
  struct WatchingAllocator final : Allocator {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
      const std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
      return default_allocator().allocate(bytes, alignment);
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept override {
      default_allocator().deallocate(pointer, bytes);
    }
  };
  Builder b;
  TensorId x = b.input("x", {Dim(3), Dim(384)});
  for (int l = 0; l < 24; ++l) {
    const std::string name = "fc" + std::to_string(l);
    const Tensor weights = ramp(Shape{384, 384}, 0.002f + 0.0001f * static_cast<float>(l));
    x = b.unary("relu", name + "_relu",
                b.layer("dense", name, {x, b.constant(name + ".w", weights)}));
  }
  b.graph.outputs = {x};
  const Tensor in = ramp(Shape{3, 384});
  WatchingAllocator watching;
  std::vector<Tensor> results;
  for (const int threads : {1, 4, 0}) {  // 0: 4 threads and the watching allocator
    NetOptions options;
    options.threads = threads == 0 ? 4 : threads;
    if (threads == 0) options.allocator = &watching;
    const Net net = NetAccess::from_graph(b.graph, options).value();
    const auto plan = net.plan().value();
    for (const Step& step : impl_of(*plan).steps) CHECK((step.view || step.kernel != nullptr));
    // What a caller's allocator has to hold must not depend on who comes first.
    if (threads == 0) CHECK(watching.threads == std::set{std::this_thread::get_id()});
    results.push_back(net.run({{"x", in}}).value().begin()->second);
  }
  CHECK(same_bits(results[0], results[1]));
  CHECK(same_bits(results[0], results[2]));
}

TEST_CASE("inner tensors can be asked for", "[net]") {
  SmallNet small;
  const std::string wanted[] = {"act:0", "fc:0"};
  const auto outputs = small.net.run({{"x", ramp(Shape{2, 8})}}, wanted).value();
  REQUIRE(outputs.size() == 2);
  for (std::size_t i = 0; i < 16; ++i)
    CHECK(outputs.at("act:0").values<float>()[i] ==
          std::max(0.0f, outputs.at("fc:0").values<float>()[i]));
  const std::string unknown[] = {"nowhere"};
  const auto missing = small.net.run({{"x", ramp(Shape{2, 8})}}, unknown);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().code() == StatusCode::not_found);
}

TEST_CASE("outputs that no kernel writes are copied", "[net]") {
  Builder b;
  const TensorId x = b.input("x", {Dim(2), Dim(3)});
  const TensorId view = b.layer("flatten", "flat", {x});
  const TensorId c = b.constant("c", ramp(Shape{4}));
  const TensorId act = b.unary("neg", "neg", x);
  const TensorId again = b.layer("flatten", "again", {act});
  const Net net = b.net({view, c, act, again, x});
  const Tensor in = ramp(Shape{2, 3});
  const auto plan = net.plan().value();
  Session session = Session::create(plan).value();
  std::vector<Tensor> outputs(5);
  REQUIRE(session.run({&in, 1}, outputs).ok());
  CHECK(same_bits(outputs[0], in));
  CHECK(outputs[0].data() != in.data());
  CHECK(same_bits(outputs[1], ramp(Shape{4})));
  CHECK(outputs[2].values<float>()[0] == -in.values<float>()[0]);
  CHECK(same_bits(outputs[2], outputs[3]));
  CHECK(same_bits(outputs[4], in));
}

TEST_CASE("shapes that depend on values of inputs are handled while running", "[net]") {
  Builder b;
  const TensorId x = b.input("x", {Dim("n")});
  const TensorId to = b.input("to", {Dim(2)}, DataType::int64);
  const TensorId shaped = b.layer("reshape", "shaped", {x, to});
  const TensorId neg = b.unary("neg", "neg", shaped);
  const Net net = b.net({neg});
  CHECK_FALSE(net.outputs()[0].shape.is_static());
  const Tensor in = ramp(Shape{12});
  for (const auto& dims : {std::pair{3, 4}, std::pair{2, 6}, std::pair{2, 6}, std::pair{12, 1}}) {
    const auto out = net.run({{"x", in}, {"to", int64s({dims.first, dims.second})}}).value();
    CHECK(out.at("neg:0").shape() == Shape{dims.first, dims.second});
    CHECK(out.at("neg:0").values<float>()[1] == -in.values<float>()[1]);
  }
  const auto wrong = net.run({{"x", in}, {"to", int64s({5, 5})}});
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.status().message(), Catch::Contains("shaped"));
  CHECK(net.memory_report().dynamic > 0);
}

TEST_CASE("memory is reused, and in-place work does not destroy what is still needed", "[net]") {
  Builder b;
  const TensorId x = b.input("x", {Dim(64), Dim(64)});
  std::vector<TensorId> kept;
  TensorId t = x;
  for (int i = 0; i < 12; ++i) {
    t = b.unary(i % 2 == 0 ? "neg" : "abs", "u" + std::to_string(i), t);
    if (i % 4 == 1) kept.push_back(t);
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    t = b.binary("add", "s" + std::to_string(i), t, kept[i]);
  const Net net = b.net({t});
  const Tensor in = ramp(Shape{64, 64});
  const auto out = net.run({{"x", in}}).value();
  for (std::size_t i = 0; i < 4096; ++i)
    REQUIRE(out.at("s2:0").values<float>()[i] == 4 * std::abs(in.values<float>()[i]));
  const MemoryReport report = net.memory_report();
  CHECK(report.arena_minimum <= report.arena);
  CHECK(report.arena <= 6 * 64 * 64 * 4);  // 15 tensors, hardly four alive at a time
}

TEST_CASE("any number of threads may run sessions of one plan", "[net][slow]") {
  SmallNet small;
  const auto plan = small.net.plan({{"x", Shape{4, 8}}}).value();
  const Tensor x = ramp(Shape{4, 8});
  Session reference = Session::create(plan).value();
  std::vector<Tensor> expected(2);
  REQUIRE(reference.run({&x, 1}, expected).ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      auto session = Session::create(plan);
      std::vector<Tensor> outputs(2);
      for (int i = 0; i < 1000; ++i)
        if (!session->run({&x, 1}, outputs).ok() || !same_bits(outputs[0], expected[0])) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("Net::run is safe from several threads, whatever the shapes", "[net]") {
  NetOptions options;
  options.max_plans = 2;
  SmallNet small(options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::int64_t batch = 1 + (t + i) % 4;
        const auto out = small.net.run({{"x", ramp(Shape{batch, 8})}});
        if (!out.ok() || !(out->at("soft:0").shape() == Shape{batch, 8})) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the number of threads does not change a bit", "[net]") {
  NetOptions one, two;
  one.threads = 1;
  two.threads = 2;
  SmallNet a(one), b(two);
  const Tensor x = ramp(Shape{33, 8});
  const auto ya = a.net.run({{"x", x}}).value();
  for (int i = 0; i < 5; ++i) {
    const auto yb = b.net.run({{"x", x}}).value();
    CHECK(same_bits(ya.at("soft:0"), yb.at("soft:0")));
  }
}

TEST_CASE("a net whose file has one tuned path that cannot be read loads with the others",
          "[net]") {
  const SmallNet small;
  RoutinePath good, bad;
  good.machine = bad.machine = "somewhere";
  good.shapes = bad.shapes = {{"x", Shape{2, 8}}};
  const Layer& layer = NetAccess::graph(small.net).layers()[0];
  good.layers[layer.id] = {
      "cpu/naive", {}, FormatTuple::parse("float32,float32,float32 -> float32").value(), 0};
  bad.layers[layer.id] = {"cpu/naive", {}, FormatTuple::parse("float32 -> float32").value(), 0};
  const Tensor file =
      serialize_dnn(NetAccess::graph(small.net), default_allocator(), std::array{good, bad, good})
          .value();
  std::string log;
  NetOptions options;
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) log += line;
  };
  const Result<Net> net = Net::load_memory(file.data(), file.bytes(), options);
  REQUIRE(net.status().message() == "");
  CHECK(net->tuned_paths().size() == 2);
  CHECK_THAT(
      log,
      Catch::Contains(
          "tuned path 1 is left out, since this version cannot read it: layer 'fc' has 3 inputs"));
  CHECK(net->run({{"x", ramp(Shape{2, 8})}}).ok());
}

TEST_CASE("runs can be cancelled and traced", "[net]") {
  SmallNet small;
  const auto plan = small.net.plan({{"x", Shape{2, 8}}}).value();
  Session session = Session::create(plan).value();
  const Tensor x = ramp(Shape{2, 8});
  std::vector<Tensor> outputs(2);
  std::vector<std::string> layers;
  RunOptions options;
  options.trace = [&](const StepTrace& step) {
    CHECK(step.end_ns >= step.begin_ns);
    CHECK(step.index == layers.size());
    layers.emplace_back(step.layer);
  };
  REQUIRE(session.run({&x, 1}, outputs, options).ok());
  CHECK(layers == std::vector<std::string>{"fc", "act", "sum", "soft"});

  std::atomic<bool> cancel{false};
  RunOptions stop;
  stop.cancel = &cancel;
  stop.trace = [&](const StepTrace& step) { cancel = step.index == 1; };
  const Status status = session.run({&x, 1}, outputs, stop);
  CHECK(status.code() == StatusCode::cancelled);
}

namespace {

// Refuses the n-th request and all after it.
class RefusingAllocator final : public Allocator {
 public:
  explicit RefusingAllocator(int allowed) : left_(allowed) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (left_-- <= 0) return nullptr;
    return default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    default_allocator().deallocate(pointer, bytes);
  }

 private:
  std::atomic<int> left_;
};

}  // namespace

TEST_CASE("every allocation may fail: the answer is out_of_memory, never a crash", "[net]") {
  int failures = 0;
  for (int allowed = 0; allowed < 100; ++allowed) {
    RefusingAllocator allocator(allowed);
    NetOptions options;
    options.allocator = &allocator;
    Builder b;
    const TensorId x = b.input("x", {Dim("n"), Dim(8)});
    const TensorId w = b.constant("w", ramp(Shape{8, 8}));
    b.graph.outputs = {b.unary("relu", "act", b.layer("dense", "fc", {x, w}))};
    auto net = NetAccess::from_graph(b.graph, options);
    REQUIRE(net.ok());
    const auto out = net->run({{"x", ramp(Shape{2, 8})}});
    if (out.ok()) break;
    ++failures;
    CHECK(out.status().code() == StatusCode::out_of_memory);
    CHECK_FALSE(out.status().message().empty());
  }
  CHECK(failures > 0);
  CHECK(failures < 100);
}

TEST_CASE("host pools are used, and options are checked", "[net]") {
  class CountingPool final : public ThreadPool {
   public:
    int concurrency() const noexcept override { return 2; }
    void run(std::size_t count, Task task, void* context) noexcept override {
      ++calls;
      for (std::size_t i = count; i-- > 0;) task(context, i);
    }
    std::atomic<int> calls{0};
  };
  CountingPool pool;
  NetOptions options;
  options.thread_pool = &pool;
  SmallNet small(options);
  CHECK(small.net.run({{"x", ramp(Shape{64, 8})}}).ok());

  Builder b;
  b.graph.outputs = {b.unary("relu", "act", b.input("x", {Dim(1)}))};
  NetOptions none;
  none.max_plans = 0;
  CHECK_FALSE(NetAccess::from_graph(b.graph, none).ok());
  NetOptions many;
  many.threads = -3;
  CHECK_FALSE(NetAccess::from_graph(b.graph, many).ok());
}

TEST_CASE("a device that is not here is not_found, one that is none an invalid argument", "[net]") {
  Builder b;
  b.graph.outputs = {b.unary("relu", "act", b.input("x", {Dim(1)}))};
  const auto with = [&](const std::string& device) {
    NetOptions options;
    options.device = device;
    return NetAccess::from_graph(b.graph, options).status();
  };
  CHECK(with("").ok());
  CHECK(with("cpu").ok());
  const Status absent = with("nowhere=1");
  CHECK(absent.code() == StatusCode::not_found);
  CHECK(absent.message().find("no device 'nowhere' here, only cpu") != std::string::npos);
  for (const char* const wrong : {"cpu=1", "cuda=", "cuda=-1", "cuda=1x", "=1", "CUDA", "cuda:1"}) {
    CAPTURE(wrong);
    CHECK(with(wrong).code() == StatusCode::invalid_argument);
  }
}
