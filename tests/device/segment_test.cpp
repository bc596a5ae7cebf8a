// Segments of plans: which steps they are, and that sessions record and play them with the same
// results, whatever fails.
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "device/split_nets.h"
#include "net/tuned_plan.h"
#include "support/graph_evaluator.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// x [N, 8] → exp(−x) → tanh on the host → |·|, neg on the device: two segments of two steps each,
// whose last tensors are the outputs.
struct TwoSegments {
  TwoSegments() {
    GraphBuilder b;
    const TensorId x = b.input("x", DynamicShape({Dim(), Dim(8)}));
    const TensorId first = b.unary("exp", b.unary("neg", x));
    const TensorId middle = b.unary("tanh", first);
    const LayerId on_host = b.last().id;
    const TensorId last = b.unary("neg", b.unary("abs", middle));
    net = split_net("two segments", b.finish({first, last}), {Shape{2, 8}});
    path = net.random_path(0, 1.0);
    path.layers.erase(on_host);
    plan = net.plan(path);
    REQUIRE(impl_of(*plan).segments.size() == 2);
    expected = net.run(plan);
    calls = {};
    take_calls();
  }

  struct Calls {
    int launches = 0, plays = 0, begun = 0;
    bool operator==(const Calls&) const = default;
  };
  // Since the last time.
  Calls take_calls() {
    const Calls now = {net.control->calls(Fault::launch), net.control->calls(Fault::play),
                       net.control->calls(Fault::begin_recording)};
    const Calls before = std::exchange(calls, now);
    return {now.launches - before.launches, now.plays - before.plays, now.begun - before.begun};
  }
  std::string layers_of(std::size_t segment) const {
    const PlanImpl& impl = impl_of(*plan);
    const auto name = [&](std::size_t step) { return "'" + impl.steps[step].layer->name + "'"; };
    return name(impl.segments[segment].first) + " to " + name(impl.segments[segment].last);
  }
  Session session() const { return Session::create(plan).value(); }
  // Bit for bit what a first run gives.
  void check_run(Session& session) const {
    std::vector<Tensor> outputs(2);
    const Status status = session.run(net.inputs, outputs);
    INFO(status.message());
    REQUIRE(status.ok());
    for (std::size_t o = 0; o < 2; ++o) REQUIRE(difference(outputs[o], expected[o], {}) == "");
  }

  SplitNet net;
  RoutinePath path;
  std::shared_ptr<const Plan> plan;
  std::vector<Tensor> expected;
  Calls calls;
};
using Calls = TwoSegments::Calls;

}  // namespace

TEST_CASE("segments: runs of steps on memory of one device alone, of two steps at least") {
  std::size_t segments = 0;
  for (const SplitNet& net : split_nets()) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      CAPTURE(net.name, seed);
      const auto plan = net.plan(net.random_path(seed, 0.25 * (1 + seed % 4)));
      const PlanImpl& impl = impl_of(*plan);
      std::size_t next = 0;
      for (const Segment& segment : impl.segments) {
        REQUIRE(segment.first >= next);
        REQUIRE(segment.last > segment.first);
        REQUIRE(segment.last < impl.steps.size());
        next = segment.last + 1;
        for (std::size_t s = segment.first; s <= segment.last; ++s) {
          const Step& step = impl.steps[s];
          REQUIRE(step.device == segment.device);
          REQUIRE_FALSE(step.layer->type->is_adapt());  // the test device has copies only
          REQUIRE_FALSE(step.needs_sync);
          for (const TensorId id : step.outputs)
            if (id != kNoTensor) REQUIRE(impl.tensors[id].device == segment.device);
        }
      }
      segments += impl.segments.size();
    }
  }
  CHECK(segments > 50);
}

TEST_CASE("segments: a session runs step by step, then records, then plays") {
  TwoSegments net;
  {
    Session session = net.session();
    net.check_run(session);
    CHECK(net.take_calls() == Calls{4, 0, 0});
    net.check_run(session);
    CHECK(net.take_calls() == Calls{4, 2, 2});
    for (int run = 0; run < 3; ++run) {
      net.check_run(session);
      CHECK(net.take_calls() == Calls{0, 2, 0});
    }
    CHECK(net.net.control->live_recordings == 2);
  }
  CHECK(net.net.control->live_recordings == 0);
  CHECK(net.net.warnings->take().empty());
}

TEST_CASE("segments: whatever fails of a recording, the run is right and the session serves on") {
  struct Case {
    Fault fault;
    int nth;  // of the run's calls
    int run;  // from 0
  };
  for (const auto& [fault, nth, run] :
       {Case{Fault::begin_recording, 1, 1}, Case{Fault::begin_recording, 2, 1},
        Case{Fault::launch, 1, 1}, Case{Fault::launch, 2, 1}, Case{Fault::launch, 3, 1},
        Case{Fault::launch, 4, 1}, Case{Fault::end_recording, 1, 1},
        Case{Fault::end_recording, 2, 1}, Case{Fault::play, 1, 1}, Case{Fault::play, 2, 1},
        Case{Fault::play, 1, 3}, Case{Fault::play, 2, 3}}) {
    CAPTURE(static_cast<int>(fault), nth, run);
    TwoSegments net;
    Session session = net.session();
    for (int before = 0; before < run; ++before) net.check_run(session);
    CHECK(net.net.warnings->take().empty());
    net.net.control->fail(fault, nth);
    net.check_run(session);
    const std::vector<std::string> lines = net.net.warnings->take();
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Catch::Contains("the test device failed"));
    const std::size_t segment = fault == Fault::launch ? (nth - 1) / 2 : nth - 1;
    CHECK_THAT(lines[0], Catch::Contains(net.layers_of(segment)));
    CHECK_THAT(lines[0], Catch::Contains(" on test"));
    net.net.control->never_fail();
    net.take_calls();
    for (int after = 0; after < 3; ++after) {
      net.check_run(session);
      CHECK(net.take_calls() == Calls{2, 1, 0});  // of the other segment
    }
    CHECK(net.net.warnings->take().empty());
    CHECK(net.net.control->live_recordings == 1);
  }
}

TEST_CASE("segments: where a device has no recordings, sessions run step by step") {
  TwoSegments net;
  net.net.control->has_recordings = false;
  Session session = net.session();
  for (int run = 0; run < 4; ++run) {
    net.check_run(session);
    CHECK(net.take_calls() == Calls{4, 0, 0});
  }
  CHECK(net.net.warnings->take().empty());
}

TEST_CASE("segments: a device that is lost while it records, or plays, is an error of the run") {
  for (const Fault fault : {Fault::begin_recording, Fault::end_recording, Fault::play}) {
    CAPTURE(static_cast<int>(fault));
    TwoSegments net;
    Session session = net.session();
    net.check_run(session);
    std::vector<Tensor> outputs(2);
    net.net.control->fail(fault, 1);
    net.net.warnings->then = [&] { net.net.control->is_lost = true; };
    for (int i = 0; i < 2; ++i) {
      const Status status = session.run(net.net.inputs, outputs);
      CHECK(status.code() == StatusCode::device_failed);
      CHECK_THAT(status.message(), Catch::Contains("lost"));
    }
    net.net.control->is_lost = false;
    for (int after = 0; after < 3; ++after) net.check_run(session);
  }
}

TEST_CASE("segments: sessions of one plan record and play on their own, on threads too") {
  TwoSegments net;
  Session first = net.session(), second = net.session();
  for (int run = 0; run < 4; ++run) {
    net.check_run(first);
    net.check_run(second);
  }
  CHECK(net.take_calls() == Calls{16, 12, 4});
  std::atomic<int> wrong = 0;
  const auto work = [&] {
    Session session = net.session();
    for (int run = 0; run < 10; ++run) {
      std::vector<Tensor> outputs(2);
      if (!session.run(net.net.inputs, outputs).ok()) ++wrong;
      for (std::size_t o = 0; o < 2; ++o)
        if (!difference(outputs[o], net.expected[o], {}).empty()) ++wrong;
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(wrong == 0);
  CHECK(net.take_calls() == Calls{16, 36, 4});
  CHECK(net.net.warnings->take().empty());
}

TEST_CASE("segments: the caller's inputs and outputs may be others in each run") {
  TwoSegments net;
  Session session = net.session();
  for (int run = 0; run < 6; ++run) {
    CAPTURE(run);
    const std::vector<Tensor> inputs = {random_inputs(*net.net.graph, {{"?", 2}}, 20u + run)[0]};
    Session once = net.session();
    std::vector<Tensor> expected(2), outputs(2);
    REQUIRE(once.run(inputs, expected).ok());
    if (run % 2 == 1)
      for (Tensor& output : outputs) output = Tensor::create(DataType::float32, {2, 8}).value();
    const std::vector<Tensor> given = outputs;
    REQUIRE(session.run(inputs, outputs).ok());
    for (std::size_t o = 0; o < 2; ++o) {
      CHECK(difference(outputs[o], expected[o], {}) == "");
      if (run % 2 == 1) CHECK(outputs[o].data() == given[o].data());
    }
  }
  CHECK(net.take_calls().plays == 10);
}

TEST_CASE("segments: asynchronous runs record and play, and a session may go in flight") {
  TwoSegments net;
  std::optional<Session> session = net.session();
  REQUIRE(session->set_input("x", net.net.inputs[0]).ok());
  for (int run = 0; run < 4; ++run) {
    REQUIRE(session->run_async().ok());
    REQUIRE(session->wait().ok());
    for (std::size_t o = 0; o < 2; ++o)
      CHECK(difference(session->output(net.plan->outputs()[o].name).value(), net.expected[o], {}) ==
            "");
  }
  CHECK(net.take_calls() == Calls{8, 6, 2});
  net.net.control->delay_us = 2000;
  REQUIRE(session->run_async().ok());
  CHECK(net.net.control->pending > 0);
  session.reset();
  CHECK(net.net.control->pending == 0);
  CHECK(net.net.control->live_recordings == 0);
  CHECK(net.net.control->live_streams == 0);
}

TEST_CASE("segments: a session goes to another shape and back, and records anew") {
  TwoSegments net;
  ReplacedChoices replaced;
  const auto larger =
      build_plan(net.net.runtime, net.net.graph, std::vector<Shape>{{5, 8}}, net.path, &replaced)
          .value();
  const std::vector<Tensor> inputs = random_inputs(*net.net.graph, {{"?", 5}}, 3);
  std::vector<Tensor> expected(2);
  {
    Session once = Session::create(larger).value();
    REQUIRE(once.run(inputs, expected).ok());
    for (Tensor& output : expected) output = output.clone().value();
  }
  Session session = net.session();
  net.take_calls();
  for (int turn = 0; turn < 2; ++turn) {
    for (int run = 0; run < 3; ++run) net.check_run(session);
    REQUIRE(session.set_plan(larger).ok());
    CHECK(net.net.control->live_recordings == 0);
    for (int run = 0; run < 3; ++run) {
      std::vector<Tensor> outputs(2);
      REQUIRE(session.run(inputs, outputs).ok());
      for (std::size_t o = 0; o < 2; ++o) CHECK(difference(outputs[o], expected[o], {}) == "");
    }
    REQUIRE(session.set_plan(net.plan).ok());
  }
  CHECK(net.take_calls() == Calls{4 * 8, 4 * 4, 4 * 2});
  CHECK(net.net.warnings->take().empty());
}

TEST_CASE("segments: a run is cancelled between segments, and the next one is right") {
  TwoSegments net;
  Session session = net.session();
  std::atomic<bool> cancel = true;
  RunOptions options;
  options.cancel = &cancel;
  std::vector<Tensor> outputs(2);
  net.check_run(session);
  // In the midst of a run: when the first segment's recording fails.
  cancel = false;
  net.net.control->fail(Fault::begin_recording, 1);
  net.net.warnings->then = [&] { cancel = true; };
  CHECK(session.run(net.net.inputs, outputs, options).code() == StatusCode::cancelled);
  net.net.warnings->then = {};
  CHECK(net.net.control->pending == 0);
  net.take_calls();
  net.check_run(session);
  CHECK(net.take_calls() == Calls{4, 1, 1});  // the second one is recorded now
  CHECK(session.run(net.net.inputs, outputs, options).code() == StatusCode::cancelled);
  CHECK(net.take_calls() == Calls{0, 0, 0});
  net.check_run(session);
  CHECK(net.take_calls() == Calls{2, 1, 0});
}

TEST_CASE("segments: runs with a trace go step by step, before and behind recorded ones") {
  TwoSegments net;
  Session session = net.session();
  std::size_t traced = 0;
  RunOptions options;
  options.trace = [&](const StepTrace&) { ++traced; };
  const auto check_traced = [&] {
    traced = 0;
    std::vector<Tensor> outputs(2);
    REQUIRE(session.run(net.net.inputs, outputs, options).ok());
    CHECK(traced == impl_of(*net.plan).steps.size());
    for (std::size_t o = 0; o < 2; ++o) CHECK(difference(outputs[o], net.expected[o], {}) == "");
    CHECK(net.take_calls() == Calls{4, 0, 0});
  };
  check_traced();
  net.check_run(session);
  net.take_calls();
  check_traced();
  net.check_run(session);
  CHECK(net.take_calls() == Calls{4, 2, 2});
  check_traced();
  net.check_run(session);
  CHECK(net.take_calls() == Calls{0, 2, 0});
}

TEST_CASE("segments: a traced run puts events between steps, and waits for them together") {
  const TwoSegments net;
  TestControl& control = *net.net.control;
  Session session = net.session();
  std::vector<Tensor> outputs(2);
  std::vector<std::size_t> steps;
  RunOptions options;
  options.trace = [&](const StepTrace& trace) { steps.push_back(trace.index); };
  // One before two steps, and one behind each.
  constexpr int kEvents = 2 * 3;
  int before = control.calls(Fault::record);
  REQUIRE(session.run(net.net.inputs, outputs, options).ok());
  CHECK(control.calls(Fault::record) - before == kEvents);
  REQUIRE(steps.size() == impl_of(*net.plan).steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) CHECK(steps[s] == s);
  for (int nth = 1; nth <= kEvents; ++nth) {
    CAPTURE(nth);
    control.fail(Fault::record, nth);
    CHECK(session.run(net.net.inputs, outputs, options).code() == StatusCode::device_failed);
    CHECK(control.pending == 0);
    net.check_run(session);
  }
}

TEST_CASE("segments: a trace cancels a run when it is told of a step on the device") {
  const TwoSegments net;
  Session session = net.session();
  std::vector<Tensor> outputs(2);
  const std::size_t first = impl_of(*net.plan).segments[0].first;
  std::atomic<bool> cancel = false;
  std::size_t traced = 0;
  RunOptions options;
  options.cancel = &cancel;
  options.trace = [&](const StepTrace& trace) {
    ++traced;
    cancel = trace.index == first;
  };
  CHECK(session.run(net.net.inputs, outputs, options).code() == StatusCode::cancelled);
  CHECK(traced == first + 1);
  net.check_run(session);
}
