// Inputs and outputs that the caller has on a device.
#include <catch2/catch.hpp>

#include "core/plan/plan_impl.h"
#include "device/split_nets.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "selection/default_path.h"
#include "support/tensor_difference.h"
#include "tuning/small_net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr Tolerance kTolerance = {1e-5, 1e-4, 0};
const DeviceId kTest = *DeviceId::parse("test");

// Memory of the test device that a caller may have.
struct OnDevice {
  explicit OnDevice(Device& on) : device(on), stream(on.create_stream().value()) {}
  // A tensor there, with the bytes of `host`.
  Tensor put(const Tensor& host) {
    Tensor there = room_for(host.data_type(), host.shape(), host.bytes());
    REQUIRE(stream->upload(const_cast<void*>(there.data()), host.data(), host.bytes()).ok());
    REQUIRE(stream->synchronize().ok());
    return there;
  }
  Tensor room_for(DataType type, const Shape& shape, std::size_t bytes, std::size_t offset = 0) {
    memory.push_back(device.allocate(bytes + offset).value());
    auto* const data = static_cast<std::byte*>(memory.back().data()) + offset;
    return Tensor::borrow_device(type, shape, device.id(), data, bytes).value();
  }
  Tensor get(const Tensor& there) {
    Tensor host = Tensor::create(there.data_type(), there.shape()).value();
    REQUIRE(stream->download(host.mutable_data(), there.data(), there.bytes()).ok());
    REQUIRE(stream->synchronize().ok());
    return host;
  }

  Device& device;
  std::unique_ptr<Stream> stream;
  std::vector<DeviceMemory> memory;
};

// The net with its inputs and outputs, or the inputs alone, on the test device.
SplitNet with_callers_there(const SplitNet& net, bool outputs = true) {
  SplitNet bound = net;
  auto graph = std::make_shared<Graph>(*net.graph);
  for (const TensorId id : graph->inputs) graph->tensor(id).device = kTest;
  if (outputs)
    for (const TensorId id : graph->outputs) graph->tensor(id).device = kTest;
  bound.graph = std::move(graph);
  return bound;
}

RoutinePath path_there(const SplitNet& net) {
  return default_path(net.runtime->routine_context(), net.problems(), {}, kTest).value();
}

// Adapts with the host on one side.
std::size_t crossings(const Plan& plan) {
  std::size_t count = 0;
  const auto& tensors = impl_of(plan).tensors;
  for (const Step& step : impl_of(plan).steps)
    if (step.layer->type->is_adapt())
      count += tensors[step.inputs[0]].device != tensors[step.outputs[0]].device;
  return count;
}

void check_right(const Plan& plan, const std::shared_ptr<const Plan>& shared, const SplitNet& net,
                 const std::vector<Tensor>& expected) {
  OnDevice there(*net.runtime->registry().device(kTest));
  Session session = Session::create(shared).value();
  for (int run = 0; run < 4; ++run) {
    CAPTURE(run);
    std::vector<Tensor> inputs, outputs(plan.outputs().size());
    for (const Tensor& input : net.inputs) inputs.push_back(there.put(input));
    if (run % 2 == 1)
      for (std::size_t o = 0; o < outputs.size(); ++o)
        outputs[o] =
            there.room_for(expected[o].data_type(), expected[o].shape(), expected[o].bytes());
    const Status status = session.run(inputs, outputs);
    INFO(status.message());
    REQUIRE(status.ok());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      REQUIRE(outputs[o].device() == kTest);
      CHECK(difference(there.get(outputs[o]), expected[o], kTolerance) == "");
    }
  }
}

}  // namespace

TEST_CASE("plan: with inputs, outputs and layers on a device nothing crosses") {
  for (const SplitNet& net : split_nets()) {
    CAPTURE(net.name);
    const std::vector<Tensor> expected = net.run(net.plan({}));
    const SplitNet bound = with_callers_there(net);
    const auto plan = bound.plan(path_there(bound));
    CHECK(crossings(*plan) == 0);
    check_right(*plan, plan, bound, expected);
  }
}

TEST_CASE("plan: inputs and outputs on a device come to layers on the host, and wherever else") {
  const SplitNet net = attention_net();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  const SplitNet bound = with_callers_there(net);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto plan = bound.plan(bound.random_path(seed, 0.25 * (seed % 4)));
    check_right(*plan, plan, bound, expected);
  }
}

TEST_CASE("plan: inputs on a device and outputs on the host") {
  const SplitNet net = branching_net();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  const SplitNet bound = with_callers_there(net, false);
  const auto plan = bound.plan(path_there(bound));
  OnDevice there(*net.runtime->registry().device(kTest));
  Session session = Session::create(plan).value();
  std::vector<Tensor> inputs, outputs(plan->outputs().size());
  for (const Tensor& input : net.inputs) inputs.push_back(there.put(input));
  REQUIRE(session.run(inputs, outputs).ok());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    CHECK(difference(outputs[o], expected[o], kTolerance) == "");
}

TEST_CASE(
    "session: a tensor on another device than the plan has it on, or not aligned, is refused") {
  const SplitNet net = attention_net(), bound = with_callers_there(net);
  const auto there_plan = bound.plan(path_there(bound)), host_plan = net.plan({});
  OnDevice there(*net.runtime->registry().device(kTest));
  Session on_device = Session::create(there_plan).value();
  Session on_host = Session::create(host_plan).value();
  const Tensor& host = net.inputs[0];
  const std::string name = there_plan->inputs()[0].name;
  const Tensor odd = there.room_for(host.data_type(), host.shape(), host.bytes(), 4);
  const std::pair<Status, const char*> refused[] = {
      {on_device.set_input(name, host), "on the device cpu, the plan has it on test"},
      {on_host.set_input(name, there.put(host)), "on the device test, the plan has it on cpu"},
      {on_device.set_input(name, odd), "no multiple of 16"}};
  for (const auto& [status, message] : refused) {
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find(message) != std::string::npos);
  }
  CHECK(on_device.set_input(name, there.put(host)).ok());
}

TEST_CASE("tensor: bytes on a device are not viewed, changed or cloned") {
  const SplitNet net = attention_net();
  OnDevice there(*net.runtime->registry().device(kTest));
  Tensor tensor = there.put(net.inputs[0]);
  CHECK(tensor.device() == kTest);
  CHECK(tensor.writable());
  CHECK(tensor.values<float>().empty());
  CHECK(tensor.mutable_values<float>().empty());
  CHECK(tensor.view<float>().status().code() == StatusCode::invalid_argument);
  CHECK(tensor.clone().status().message().find("on the device test") != std::string::npos);
  CHECK(tensor.reshaped({tensor.elements()}).value().device() == kTest);
  CHECK(net.inputs[0].device().is_host());
}

TEST_CASE(
    "Net: devices of inputs and outputs are part of a plan; what cannot be there is an error") {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 8}));
  const TensorId y = b.layer("matmul", "product", {x, b.weights("w", {8, 4})});
  b.graph.outputs = {y, x};
  const Net net = NetAccess::from_graph(*finished(std::move(b.graph))).value();
  const auto control = std::make_shared<TestControl>();
  auto& registry = const_cast<Registry&>(NetAccess::runtime(net)->registry());
  REQUIRE(add_test_device(registry, control).ok());
  const std::string output = net.outputs()[0].name;
  const auto plan_with = [&](const NamedDevices& devices) {
    return net.plan({}, {}, nullptr, devices);
  };
  const auto host = plan_with({}).value();
  CHECK(plan_with({{"x", DeviceId()}}).value() == host);
  const auto there = plan_with({{output, kTest}}).value();
  CHECK(there != host);
  CHECK(plan_with({{output, kTest}}).value() == there);
  CHECK(plan_with({{"none", kTest}}).status().code() == StatusCode::not_found);
  CHECK(plan_with({{"x", *DeviceId::parse("nowhere")}}).status().code() == StatusCode::not_found);
  // The input is an output as well.
  const Status shared = plan_with({{"x", kTest}}).status();
  CHECK(shared.code() == StatusCode::unsupported);
  CHECK(shared.message().find("output 'x' cannot be on a device") != std::string::npos);
}

TEST_CASE("Net::run takes inputs on a device") {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 8}));
  b.graph.outputs = {b.layer("matmul", "product", {x, b.weights("w", {8, 4})})};
  const Net net = NetAccess::from_graph(*finished(std::move(b.graph))).value();
  auto& registry = const_cast<Registry&>(NetAccess::runtime(net)->registry());
  REQUIRE(add_test_device(registry, std::make_shared<TestControl>()).ok());
  OnDevice there(*registry.device(kTest));
  const Tensor host = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f}, {1, 8}).value();
  const NamedTensors expected = net.run({{"x", host}}).value();
  const NamedTensors outputs = net.run({{"x", there.put(host)}}).value();
  for (const auto& [name, tensor] : expected) {
    CHECK(outputs.at(name).device().is_host());
    CHECK(difference(outputs.at(name), tensor, kTolerance) == "");
  }
}
