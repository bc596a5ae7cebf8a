// Stopping what runs, is planned or is computed beforehand.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/parallel.h"
#include "net/net_access.h"
#include "softneuro/net.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;

// Asks to stop once it has run some tasks, and takes that back when the work is handed in.
class StoppingPool final : public ThreadPool {
 public:
  explicit StoppingPool(int concurrency) : concurrency_(concurrency) {}
  int concurrency() const noexcept override { return concurrency_; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    for (std::size_t i = 0; i < count; ++i) {
      if (left == 0) request = true;
      task(context, i);
      --left;
    }
    request = false;
  }
  std::atomic<bool> request = false;
  int left = -1;

 private:
  int concurrency_;
};

struct LayerNet {
  explicit LayerNet(Graph graph, const NetOptions& options = {})
      : net(NetAccess::from_graph(std::move(graph), options).value()),
        session(Session::create(net.plan().value()).value()) {
    inputs = random_inputs(NetAccess::graph(net), {}, 1);
  }
  Status run(const std::atomic<bool>* cancel) {
    RunOptions options;
    options.cancel = cancel;
    outputs.assign(1, Tensor());
    return session.run(inputs, outputs, options);
  }
  Net net;
  Session session;
  std::vector<Tensor> inputs, outputs;
};

Graph one_layer(const char* type, const std::vector<Shape>& inputs,
                const std::vector<Params::Entry>& params, DataType data = DataType::float32) {
  GraphBuilder b;
  std::vector<TensorId> ids;
  for (const Shape& shape : inputs)
    ids.push_back(b.input("x" + std::to_string(ids.size()), shape, data));
  return b.finish({b.layer(type, ids, params)});
}

struct OneLayer {
  const char* type;
  std::vector<Shape> inputs;
  std::vector<Params::Entry> params;
};

}  // namespace

TEST_CASE("parallel_for leaves out the tasks behind a request to stop") {
  for (const int concurrency : {1, 2}) {
    StoppingPool pool(concurrency);
    Cancellation cancellation(&pool.request);
    int done = 0;
    parallel_for(Workers(pool, &cancellation), 10, [&](std::int64_t i) {
      ++done;
      if (i == 3) pool.request = true;
    });
    CHECK(done == 4);
    CHECK(cancellation.seen());
  }
}

TEST_CASE("a run that left out work is cancelled though the request was taken back") {
  const OneLayer layers[] = {
      {"matmul", {{200, 100}, {100, 200}}, {}},
      {"conv2", {{1, 64, 40, 40}, {64, 64, 3, 3}}, {}},
      {"conv_transpose2", {{1, 32, 20, 20}, {32, 32, 3, 3}}, {}},
      {"max_pool2", {{1, 64, 100, 100}}, {{"kernel", Ints{5, 5}}}},
  };
  for (const OneLayer& layer : layers) {
    CAPTURE(layer.type);
    StoppingPool pool(2);
    NetOptions options;
    options.thread_pool = &pool;
    LayerNet net(one_layer(layer.type, layer.inputs, layer.params), options);
    pool.left = -1;  // counts down from there
    REQUIRE(net.run(&pool.request).ok());
    const int tasks = -1 - pool.left;
    REQUIRE(tasks > 1);
    const Tensor whole = net.outputs[0].clone().value();

    for (const int before : {0, tasks / 2, tasks - 1}) {
      pool.left = before;
      CHECK(net.run(&pool.request).code() == StatusCode::cancelled);
      CHECK_FALSE(pool.request);
    }
    pool.left = -1;
    REQUIRE(net.run(&pool.request).ok());
    CHECK(std::memcmp(net.outputs[0].data(), whole.data(), whole.bytes()) == 0);
  }
}

TEST_CASE("layers of many minutes on one thread end soon after a request to stop") {
  const OneLayer layers[] = {
      {"einsum",
       std::vector<Shape>(8, Shape{64}),
       {{"equation", std::string("a,b,c,d,e,f,g,h->")}}},
      {"matmul", {{5000, 5000}, {5000, 5000}}, {}},
      {"conv2", {{1, 256, 200, 200}, {256, 256, 9, 9}}, {}},
  };
  for (const OneLayer& layer : layers) {
    CAPTURE(layer.type);
    NetOptions options;
    options.threads = 1;
    // Doubles: there is nothing but cpu/naive.
    LayerNet net(one_layer(layer.type, layer.inputs, layer.params, DataType::float64), options);
    std::atomic<bool> request = false;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      request = true;
    });
    CHECK(net.run(&request).code() == StatusCode::cancelled);
    other.join();
  }
}

TEST_CASE("planning, preparing and the simple run stop at a request") {
  const Graph graph = one_layer("matmul", {{4, 4}, {4, 4}}, {});
  const Net net = NetAccess::from_graph(graph, {}).value();
  std::atomic<bool> request = true;
  NamedTensors inputs;
  const std::vector<Tensor> tensors = random_inputs(graph, {}, 1);
  inputs.emplace("x0", tensors[0]);
  inputs.emplace("x1", tensors[1]);
  RunOptions options;
  options.cancel = &request;

  CHECK(net.plan({}, {}, &request).status().code() == StatusCode::cancelled);
  CHECK(net.prepare({}, &request).code() == StatusCode::cancelled);
  CHECK(net.run(inputs, {}, options).status().code() == StatusCode::cancelled);
  request = false;
  CHECK(net.plan({}, {}, &request).ok());
  CHECK(net.prepare({}, &request).ok());
  CHECK(net.run(inputs, {}, options).ok());
}

TEST_CASE("passes stop at a request") {
  Graph graph = one_layer("matmul", {{4, 4}, {4, 4}}, {});
  std::atomic<bool> request = true;
  PassOptions options;
  options.cancel = &request;
  CHECK(run_passes(graph, builtin_registry(), options).code() == StatusCode::cancelled);
}
