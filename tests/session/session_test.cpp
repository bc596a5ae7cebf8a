// Sessions by name and on other shapes, beside what net_test.cpp says of runs by place.
#include "softneuro/session.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "net/net_access.h"
#include "support/graph_evaluator.h"

using namespace softneuro;

namespace {

Layer& add(Graph& graph, const char* type, const char* name, std::vector<TensorId> inputs,
           TensorId output) {
  const LayerType* const known = builtin_layer_types().find(type);
  REQUIRE(known != nullptr);
  return graph.add_layer(*known, name, std::move(inputs), {output});
}

// a, b [n, 2] → sum = a + b → y = relu(sum), z = −sum
Net two_inputs(const NetOptions& options = {}) {
  Graph graph;
  const auto input = [&](const char* name) {
    graph.inputs.push_back(
        graph.add_tensor({.name = name, .type = DataType::float32, .shape = {Dim("n"), Dim(2)}}));
    return graph.inputs.back();
  };
  const TensorId a = input("a"), b = input("b");
  const TensorId sum = graph.add_tensor({.name = "sum"});
  const TensorId y = graph.add_tensor({.name = "y"});
  const TensorId z = graph.add_tensor({.name = "z"});
  graph.outputs = {y, z};
  add(graph, "binary", "add", {a, b}, sum).params.set("op", "add");
  add(graph, "unary", "relu", {sum}, y).params.set("op", "relu");
  add(graph, "unary", "neg", {sum}, z).params.set("op", "neg");
  return NetAccess::from_graph(std::move(graph), options).value();
}

NamedShapes shapes(std::int64_t n) {
  return {{"a", {n, 2}}, {"b", {n, 2}}};
}

Session session_for(const Net& net, std::int64_t n, const SessionOptions& options = {}) {
  return Session::create(net.plan(shapes(n)).value(), options).value();
}

std::vector<float> values(const Tensor& tensor) {
  const auto view = tensor.view<float>().value();
  return {view.begin(), view.end()};
}

// Refuses while told to.
class FickleAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    ++calls;
    return refuses ? nullptr : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    default_allocator().deallocate(pointer, bytes);
  }
  std::atomic<bool> refuses = false;
  std::atomic<int> calls = 0;
};

}  // namespace

TEST_CASE("a session by name: inputs stay bound, outputs are found", "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  std::vector<float> a = {1, -2}, b = {2, 1};
  REQUIRE(session.set_input("b", Tensor::borrow(b, {1, 2}).value()).ok());
  REQUIRE(session.set_input("a", Tensor::borrow(a, {1, 2}).value()).ok());
  REQUIRE(session.run().ok());
  CHECK(values(session.output("y").value()) == std::vector<float>{3, 0});
  CHECK(values(session.output("z").value()) == std::vector<float>{-3, 1});
  a[0] = 5;  // read anew
  REQUIRE(session.run().ok());
  CHECK(values(session.output("y").value()) == std::vector<float>{7, 0});
}

TEST_CASE("a session by name writes outputs where they are bound", "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  REQUIRE(session.set_input("a", Tensor::from({1.f, 2.f}, {1, 2}).value()).ok());
  REQUIRE(session.set_input("b", Tensor::from({1.f, 1.f}, {1, 2}).value()).ok());
  std::vector<float> z(2);
  REQUIRE(session.set_output("z", Tensor::borrow(z, {1, 2}).value()).ok());
  REQUIRE(session.run().ok());
  CHECK(z == std::vector<float>{-2, -3});
  CHECK(session.output("z").value().data() == z.data());
  CHECK(values(session.output("y").value()) == std::vector<float>{2, 3});
  // And back to the session's own memory.
  REQUIRE(session.set_output("z", Tensor()).ok());
  REQUIRE(session.run().ok());
  CHECK(session.output("z").value().data() != z.data());
}

TEST_CASE("a session by name: what is wrong is said where it is bound", "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  const Tensor good = Tensor::from({1.f, 2.f}, {1, 2}).value();
  const Status unknown = session.set_input("c", good);
  CHECK(unknown.code() == StatusCode::not_found);
  CHECK(unknown.message() == "the session has no input 'c'; its inputs are 'a', 'b'");
  CHECK(session.set_output("sum", good).code() == StatusCode::not_found);
  CHECK(session.output("sum").status().code() == StatusCode::not_found);
  const Status shape = session.set_input("a", Tensor::from({1.f, 2.f}, {2, 1}).value());
  CHECK(shape.code() == StatusCode::invalid_argument);
  CHECK(shape.message() == "input 'a' is float32 2x1, the plan takes float32 1x2");
  CHECK_FALSE(session.set_input("a", Tensor()).ok());
  CHECK_FALSE(session.set_output("y", Tensor::from({1, 2}, {1, 2}).value()).ok());
  const float fixed[2] = {};
  const Status constant = session.set_output("y", Tensor::borrow_const(fixed, {1, 2}).value());
  CHECK_THAT(constant.message(), Catch::Contains("read-only"));

  REQUIRE(session.set_input("a", good).ok());
  CHECK(session.run().message().starts_with("input 'b' is not set: "));
  CHECK(session.output("y").status().code() == StatusCode::invalid_argument);
  REQUIRE(session.set_input("b", good).ok());
  REQUIRE(session.run().ok());
  REQUIRE(session.output("y").ok());
  // A run that failed leaves nothing to read.
  const std::atomic<bool> cancel = true;
  CHECK(session.run({.cancel = &cancel}).code() == StatusCode::cancelled);
  CHECK_FALSE(session.output("y").ok());
}

TEST_CASE("an asynchronous run on the host: computed when it returns, given by wait", "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  std::vector<float> a = {1, -2}, b = {2, 1}, z(2);
  REQUIRE(session.set_input("a", Tensor::borrow(a, {1, 2}).value()).ok());
  REQUIRE(session.set_input("b", Tensor::borrow(b, {1, 2}).value()).ok());
  REQUIRE(session.set_output("z", Tensor::borrow(z, {1, 2}).value()).ok());
  for (const float first : {1.f, 5.f}) {
    a[0] = first;
    REQUIRE(session.run_async().ok());
    CHECK(z == std::vector<float>{-first - 2, 1});
    REQUIRE(session.wait().ok());
    CHECK(values(session.output("y").value()) == std::vector<float>{first + 2, 0});
    CHECK(session.output("z").value().data() == z.data());
  }
  REQUIRE(session.run().ok());  // and back to the other way
}

TEST_CASE("an asynchronous run: what is wrong is said, and leaves the session usable",
          "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  const Tensor good = Tensor::from({1.f, 2.f}, {1, 2}).value();
  const auto refused = [](const Status& status, const char* message) {
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().starts_with(message));
  };
  const char* const none = "no run of the session is in flight: call run_async() first";
  const char* const busy = "a run of the session is in flight: call wait() first";
  refused(session.wait(), none);
  REQUIRE(session.set_input("a", good).ok());
  refused(session.run_async(), "input 'b' is not set");
  refused(session.wait(), none);
  REQUIRE(session.set_input("b", good).ok());
  const std::atomic<bool> cancel = true;
  CHECK(session.run_async({.cancel = &cancel}).code() == StatusCode::cancelled);
  refused(session.wait(), none);

  REQUIRE(session.run_async().ok());
  std::vector<Tensor> outputs(2);
  refused(session.run(), busy);
  refused(session.run(std::vector{good, good}, outputs), busy);
  refused(session.run_async(), busy);
  refused(session.set_input("a", good), busy);
  refused(session.set_output("y", {}), busy);
  refused(session.set_plan(net.plan(shapes(2)).value()), busy);
  refused(session.output("y").status(), busy);
  CHECK(session.output("sum").status().code() == StatusCode::not_found);
  Session moved = std::move(session);
  REQUIRE(moved.wait().ok());
  CHECK(values(moved.output("y").value()) == std::vector<float>{2, 4});
  refused(moved.wait(), none);
  REQUIRE(moved.set_plan(net.plan(shapes(2)).value()).ok());
}

TEST_CASE("an asynchronous run gives outputs of data-dependent shapes", "[session]") {
  test::GraphBuilder b;
  const TensorId places = b.layer("nonzero", {b.input("x", Shape{4})});
  const Net net = NetAccess::from_graph(b.finish({places})).value();
  Session session = Session::create(net.plan().value()).value();
  const std::string name = session.plan().outputs()[0].name;
  std::vector<float> x = {0, 3, 0, 1};
  REQUIRE(session.set_input("x", Tensor::borrow(x, {4}).value()).ok());
  const auto run = [&] {
    REQUIRE(session.run_async().ok());
    return session.wait();
  };
  const auto found = [&] {
    const Tensor output = session.output(name).value();
    const auto all = output.values<std::int64_t>();
    return std::vector<std::int64_t>(all.begin(), all.end());
  };
  REQUIRE(run().ok());
  CHECK(found() == std::vector<std::int64_t>{1, 3});
  std::vector<std::int64_t> bound(2);
  REQUIRE(session.set_output(name, Tensor::borrow(bound, {1, 2}).value()).ok());
  REQUIRE(run().ok());
  CHECK(bound == std::vector<std::int64_t>{1, 3});
  x[0] = 1;  // three of them: more than the bound tensor takes
  const Status status = run();
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Catch::Contains("1x3 this time"));
  REQUIRE(session.set_output(name, {}).ok());
  REQUIRE(run().ok());
  CHECK(found() == std::vector<std::int64_t>{0, 1, 3});
}

TEST_CASE("a session goes on with other shapes and back, on the net's plans", "[session]") {
  const Net net = two_inputs();
  Session session = session_for(net, 1);
  const Tensor one = Tensor::from({1.f, 2.f}, {1, 2}).value();
  const Tensor two = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}).value();
  REQUIRE(session.set_input("a", one).ok());
  const auto first = net.plan(shapes(1)).value();
  REQUIRE(session.set_plan(net.plan(shapes(2)).value()).ok());
  CHECK(session.plan().inputs()[0].shape.to_shape() == Shape{2, 2});
  CHECK(session.run().message().starts_with("input 'a' is not set: "));  // what was bound went
  REQUIRE(session.set_input("a", two).ok());
  REQUIRE(session.set_input("b", two).ok());
  REQUIRE(session.run().ok());
  CHECK(values(session.output("y").value()) == std::vector<float>{2, 4, 6, 8});
  // Runs by place as well.
  std::vector<Tensor> outputs(2);
  REQUIRE(session.run(std::vector{two, two}, outputs).ok());
  CHECK_FALSE(session.run(std::vector{one, one}, outputs).ok());

  REQUIRE(session.set_plan(net.plan(shapes(1)).value()).ok());
  CHECK(&session.plan() == first.get());  // the net kept it
  REQUIRE(session.set_input("a", one).ok());
  REQUIRE(session.set_input("b", one).ok());
  REQUIRE(session.run().ok());
  CHECK(values(session.output("z").value()) == std::vector<float>{-2, -4});
  // The plan that it has changes nothing.
  REQUIRE(session.set_plan(first).ok());
  CHECK(session.run().ok());
}

TEST_CASE("a session keeps its arena for smaller shapes", "[session]") {
  const Net net = two_inputs();
  FickleAllocator memory;
  Session session = session_for(net, 64, {&memory});
  const int calls = memory.calls;
  CHECK(calls > 0);
  REQUIRE(session.set_plan(net.plan(shapes(3)).value()).ok());
  CHECK(memory.calls == calls);
}

TEST_CASE("a session without memory for other shapes stays on its plan", "[session]") {
  const Net net = two_inputs();
  FickleAllocator memory;
  Session session = session_for(net, 1, {&memory});
  REQUIRE(session.set_input("a", Tensor::from({1.f, 2.f}, {1, 2}).value()).ok());
  REQUIRE(session.set_input("b", Tensor::from({1.f, 2.f}, {1, 2}).value()).ok());
  const auto larger = net.plan(shapes(100)).value();
  memory.refuses = true;
  CHECK(session.set_plan(larger).code() == StatusCode::out_of_memory);
  CHECK(session.set_plan(nullptr).code() == StatusCode::invalid_argument);
  const Net other = two_inputs();
  CHECK_THAT(session.set_plan(other.plan(shapes(1)).value()).message(),
             Catch::Contains("of another net"));
  REQUIRE(session.run().ok());
  CHECK(values(session.output("y").value()) == std::vector<float>{2, 4});
  memory.refuses = false;
  CHECK(session.set_plan(larger).ok());
}
