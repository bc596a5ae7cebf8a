// Nets that run partly on a device give the outputs of the host, whatever the split; what fails on
// the device is an error, and the session serves on.
#include <catch2/catch.hpp>
#include <thread>

#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/plan_impl.h"
#include "device/split_nets.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr Tolerance kTolerance = {1e-5, 1e-4, 0};

void check_same(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected) {
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    REQUIRE(difference(outputs[o], expected[o], kTolerance) == "");
}

std::size_t steps_on_devices(const Plan& plan) {
  std::size_t count = 0;
  for (const Step& step : impl_of(plan).steps) count += step.device != 0;
  return count;
}

Status run_once(Session& session, const SplitNet& net, std::vector<Tensor>& outputs) {
  outputs.assign(net.graph->outputs.size(), Tensor());
  return session.run(net.inputs, outputs);
}

}  // namespace

TEST_CASE("split: random paths between host and device give the host's outputs") {
  for (const SplitNet& net : split_nets()) {
    const std::vector<Tensor> expected = net.run(net.plan({}));
    std::size_t on_device = 0, segments = 0;
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(net.name, seed);
      const auto plan = net.plan(net.random_path(seed, 0.25 * (1 + seed % 4)));
      on_device += steps_on_devices(*plan);
      segments += impl_of(*plan).segments.size();
      const int played = net.control->calls(Fault::play);
      check_same(net.run_repeatedly(plan), expected);
      // All but the first of four runs.
      CHECK(net.control->calls(Fault::play) - played ==
            3 * static_cast<int>(impl_of(*plan).segments.size()));
    }
    CHECK(on_device > 100);
    CHECK(segments > 20);
  }
}

TEST_CASE("split: a session runs again and again, with other inputs and bound outputs") {
  for (const SplitNet& net : split_nets()) {
    CAPTURE(net.name);
    const auto host = net.plan({}), split = net.plan(net.random_path(3, 0.6));
    Session on_host = Session::create(host).value(), on_both = Session::create(split).value();
    for (std::uint32_t run = 0; run < 5; ++run) {
      std::vector<Tensor> inputs;
      for (const Tensor& input : net.inputs) {
        inputs.push_back(input.clone().value());
        for (float& value : inputs.back().mutable_values<float>()) value *= static_cast<float>(run);
      }
      std::vector<Tensor> expected(host->outputs().size()), outputs(expected.size());
      REQUIRE(on_host.run(inputs, expected).ok());
      if (run % 2 == 1)
        for (std::size_t o = 0; o < outputs.size(); ++o)
          outputs[o] = Tensor::create(expected[o].data_type(), expected[o].shape()).value();
      REQUIRE(on_both.run(inputs, outputs).ok());
      check_same(outputs, expected);
    }
  }
}

TEST_CASE("split: sessions on several threads share a plan and its packed weights") {
  const SplitNet net = branching_net();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  const auto plan = net.plan(net.random_path(1, 0.7));
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    Session session = Session::create(plan).value();
    for (int i = 0; i < 10; ++i) {
      std::vector<Tensor> outputs;
      if (!run_once(session, net, outputs).ok()) ++wrong;
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (!difference(outputs[o], expected[o], kTolerance).empty()) ++wrong;
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("split: a shared adapt goes to the device once for all who read there") {
  const SplitNet net = branching_net();
  RoutinePath path = net.random_path(2, 1.0);
  const auto plan = net.plan(path);
  std::size_t uploads = 0;
  for (const Step& step : impl_of(*plan).steps)
    uploads += step.layer->type->is_adapt() && step.device != 0 &&
               impl_of(*plan).tensors[step.inputs[0]].device == 0;
  CHECK(uploads == net.graph->inputs.size());
  CHECK(plan->memory_report().device_arenas > 0);
}

TEST_CASE("split: each call of the device that fails is an error, and the next run is right") {
  for (const SplitNet& net : split_nets()) {
    const std::vector<Tensor> expected = net.run(net.plan({}));
    const RoutinePath path = net.random_path(4, 0.6);
    const auto plan = net.plan(path);
    REQUIRE(steps_on_devices(*plan) > 0);
    Session session = Session::create(plan).value();
    std::vector<Tensor> outputs;
    for (const Fault fault : {Fault::launch, Fault::upload, Fault::download, Fault::synchronize}) {
      const int before = net.control->calls(fault);
      REQUIRE(run_once(session, net, outputs).ok());
      const int calls = net.control->calls(fault) - before;
      CHECK(calls > 0);
      for (int nth = 1; nth <= calls; ++nth) {
        CAPTURE(net.name, static_cast<int>(fault), nth);
        if (fault == Fault::launch) session = Session::create(plan).value();  // records nothing yet
        net.control->fail(fault, nth);
        const Status status = run_once(session, net, outputs);
        CHECK(status.code() == StatusCode::device_failed);
        CHECK(status.message().find("the test device failed") != std::string::npos);
        net.control->never_fail();
        REQUIRE(run_once(session, net, outputs).ok());
        check_same(outputs, expected);
      }
    }
  }
}

TEST_CASE("split: memory that the device refuses is an error of the plan or of the session") {
  for (const SplitNet& net : split_nets()) {
    const RoutinePath path = net.random_path(4, 0.6);
    for (const Fault fault : {Fault::allocate, Fault::create_stream}) {
      bool succeeded = false;
      for (int nth = 1; nth < 100 && !succeeded; ++nth) {
        CAPTURE(net.name, static_cast<int>(fault), nth);
        net.runtime->packed_weights().clear();
        net.control->fail(fault, nth);
        const auto plan = build_plan(net.runtime, net.graph, net.shapes, path, nullptr);
        Status status = plan.status();
        if (status.ok()) status = Session::create(*plan).status();
        succeeded = status.ok();
        net.control->never_fail();
        if (!succeeded)
          CHECK(status.code() ==
                (fault == Fault::allocate ? StatusCode::out_of_memory : StatusCode::device_failed));
      }
      CHECK(succeeded);
    }
    net.runtime->packed_weights().clear();
    CHECK(net.control->used_bytes == 0);
    CHECK(net.control->live_streams == 0);
  }
}

TEST_CASE("split: a device that is lost is an error each time, and the host's plan works on") {
  const SplitNet net = attention_net();
  const auto host = net.plan({}), split = net.plan(net.random_path(1, 0.6));
  const std::vector<Tensor> expected = net.run(host);
  Session session = Session::create(split).value();
  std::vector<Tensor> outputs;
  REQUIRE(run_once(session, net, outputs).ok());
  net.control->is_lost = true;
  for (int i = 0; i < 3; ++i) {
    const Status status = run_once(session, net, outputs);
    CHECK(status.code() == StatusCode::device_failed);
    CHECK(status.message().find("lost") != std::string::npos);
  }
  CHECK(Session::create(split).status().code() == StatusCode::device_failed);
  check_same(net.run(host), expected);
}

TEST_CASE("split: a traced run gives the device's times of its steps") {
  const SplitNet net = branching_net();
  net.control->microseconds = [](const Problem&) { return 1000.0; };
  const auto plan = net.plan(net.random_path(2, 1.0));
  Session session = Session::create(plan).value();
  std::vector<Tensor> outputs(plan->outputs().size());
  std::size_t traced = 0, kernels = 0;
  RunOptions options;
  options.trace = [&](const StepTrace& trace) {
    const Step& step = impl_of(*plan).steps[trace.index];
    CHECK(trace.index == traced);  // in order, whatever is waited for together
    ++traced;
    if (step.device == 0 || step.layer->type->is_adapt()) return;
    ++kernels;
    CHECK(trace.end_ns - trace.begin_ns == 1'000'000);
  };
  REQUIRE(session.run(net.inputs, outputs, options).ok());
  CHECK(traced == impl_of(*plan).steps.size());
  CHECK(kernels > 3);
}

TEST_CASE("split: a path for a device that is not here takes default choices, and says so") {
  const SplitNet with = branching_net();
  const RoutinePath path = with.random_path(2, 1.0);
  SplitNet without = with;
  without.runtime = make_runtime({}).value();
  ReplacedChoices replaced;
  const auto plan = build_plan(without.runtime, without.graph, without.shapes, path, &replaced);
  REQUIRE(plan.ok());
  CHECK(replaced.layers.size() == path.layers.size());
  check_same(without.run(*plan), with.run(with.plan({})));
}

TEST_CASE("split: a file tuned for a device loads where that is absent, runs, and says so") {
  const SplitNet net = branching_net();
  RoutinePath path = net.random_path(2, 1.0);
  path.machine = machine_of(path, net.runtime->registry(), 1);
  CHECK(path.machine.find("test device") != std::string::npos);
  CHECK(machine_of(path, make_runtime({}).value()->registry(), 1).empty());
  path.shapes = {{"image", net.shapes[0]}};
  const TemporaryFolder folder;
  REQUIRE(save_dnn(*net.graph, folder.file("split.dnn"), std::span(&path, 1)).ok());
  std::string log;
  NetOptions options;
  options.log = [&](LogLevel, std::string_view line) { log += std::string(line) + '\n'; };
  const Net loaded = Net::load(folder.file("split.dnn"), options).value();
  const NamedTensors outputs = loaded.run({{"image", net.inputs[0]}}).value();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  for (std::size_t o = 0; o < expected.size(); ++o)
    CHECK(difference(outputs.at(loaded.outputs()[o].name), expected[o], kTolerance) == "");
  CHECK(log.find("test/pages cannot be used here") != std::string::npos);
}

TEST_CASE("split: a path on a device of a long name is saved and loaded") {
  SplitNet net = branching_net();
  const DeviceId id = *DeviceId::parse("accelerator0001");
  const auto control = std::make_shared<TestControl>();
  control->name = "another device";
  REQUIRE(add_test_device(const_cast<Registry&>(net.runtime->registry()), control, id).ok());
  RoutinePath path = net.random_path(2, 1.0, id);
  path.machine = machine_of(path, net.runtime->registry(), 1);
  path.shapes = {{"image", net.shapes[0]}};
  CHECK(path.machine.find("another device") != std::string::npos);
  const TemporaryFolder folder;
  REQUIRE(save_dnn(*net.graph, folder.file("split.dnn"), std::span(&path, 1)).ok());
  DnnContents loaded = load_dnn_contents(folder.file("split.dnn"), builtin_layer_types()).value();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  net.graph = std::make_shared<const Graph>(std::move(loaded.graph));
  const auto plan = net.plan(loaded.paths.at(0));
  CHECK(steps_on_devices(*plan) > 5);
  CHECK_THAT(plan->describe(), Catch::Contains("accelerator0001/pages"));
  check_same(net.run(plan), expected);
}

TEST_CASE("split: a path whose adapts name routines of another device takes the default ones") {
  const SplitNet net = branching_net();
  RoutinePath path = net.random_path(2, 1.0);
  const Format host{DataType::float32};
  Format there = host;
  there.device = *DeviceId::parse("test");
  for (TensorId id = 0; id < net.graph->tensor_count(); ++id)
    for (const bool back : {false, true})
      path.adapts.push_back({id, back ? there : host, back ? host : there, "cpu/direct", {}, 1});
  check_same(net.run(net.plan(path)), net.run(net.plan({})));
}
