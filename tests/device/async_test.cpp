// Session::run_async and wait on nets that run partly on a device: the results of run(), errors in
// one of the two calls, and memory that stays until the queues are empty.
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "device/split_nets.h"
#include "softneuro/allocator.h"
#include "support/graph_evaluator.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// The net's inputs, bound.
Session bound_session(const SplitNet& net, const std::shared_ptr<const Plan>& plan,
                      const SessionOptions& options = {}) {
  Session session = Session::create(plan, options).value();
  for (std::size_t i = 0; i < net.inputs.size(); ++i)
    REQUIRE(session.set_input(plan->inputs()[i].name, net.inputs[i]).ok());
  return session;
}

// Bit for bit: the same plan gave both.
void check_outputs(const Session& session, const std::vector<Tensor>& expected) {
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const std::string& name = session.plan().outputs()[o].name;
    CAPTURE(name);
    REQUIRE(difference(session.output(name).value(), expected[o], {}) == "");
  }
}

void check_run_async(Session& session, const std::vector<Tensor>& expected) {
  REQUIRE(session.run_async().ok());
  REQUIRE(session.wait().ok());
  check_outputs(session, expected);
}

void check_refused(const Status& status, const std::string& words) {
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK_THAT(status.message(), Catch::Contains(words));
}

// x [2, 3] → relu(x) on the device, −x and the places of what is not zero on the host.
struct Branches {
  Branches() {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{2, 3});
    const TensorId relu = b.unary("relu", x), negative = b.unary("neg", x);
    const LayerId on_host = b.last().id;
    const TensorId places = b.layer("nonzero", {x});
    net = split_net("branches", b.finish({relu, negative, places}), {});
    net.inputs = {Tensor::from({0.f, 2.f, -3.f, 0.f, 5.f, 0.f}, {2, 3}).value()};
    RoutinePath path = net.random_path(0, 1.0);
    path.layers.erase(on_host);
    plan = net.plan(path);
    REQUIRE(impl_of(*plan).devices.size() == 2);
    for (const TensorInfo& output : plan->outputs()) names.push_back(output.name);
    expected = net.run(plan);
  }
  Session session(const SessionOptions& options = {}) const {
    return bound_session(net, plan, options);
  }
  TestControl& control() const { return *net.control; }

  SplitNet net;
  std::shared_ptr<const Plan> plan;
  std::vector<std::string> names;  // relu, negative, places
  std::vector<Tensor> expected;
};

// Holds the device until release(), or the end of the block: a session that goes then, after a
// failed REQUIRE say, must not wait for ever. So it stands behind the sessions.
class Hold {
 public:
  explicit Hold(TestControl& control) : control_(control) { control_.hold(); }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void release() { control_.release(); }

 private:
  TestControl& control_;
};

// Notes memory that is given back while work is in the queues.
class WatchingAllocator final : public Allocator {
 public:
  explicit WatchingAllocator(const TestControl& control) : control_(control) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    ++returned;
    if (control_.pending > 0) ++too_early;
    default_allocator().deallocate(pointer, bytes);
  }
  int returned = 0;
  int too_early = 0;

 private:
  const TestControl& control_;
};

}  // namespace

TEST_CASE("async: random splits give the results of run()") {
  for (const SplitNet& net : split_nets()) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      CAPTURE(net.name, seed);
      const auto plan = net.plan(net.random_path(seed, 0.25 * (1 + seed % 4)));
      const std::vector<Tensor> expected = net.run(plan);
      Session session = bound_session(net, plan);
      check_run_async(session, expected);
      for (std::size_t o = 0; o < expected.size(); ++o)
        REQUIRE(
            session
                .set_output(plan->outputs()[o].name,
                            Tensor::create(expected[o].data_type(), expected[o].shape()).value())
                .ok());
      check_run_async(session, expected);
      REQUIRE(session.run().ok());
      check_outputs(session, expected);
    }
  }
}

TEST_CASE("async: run_async returns before the device is done, host steps run meanwhile") {
  const Branches net;
  Session session = net.session();
  Tensor negative = Tensor::create(DataType::float32, {2, 3}).value();
  std::fill_n(negative.mutable_values<float>().data(), 6, 100.f);
  REQUIRE(session.set_output(net.names[1], negative).ok());
  Hold hold(net.control());
  REQUIRE(session.run_async().ok());
  CHECK(net.control().pending > 0);
  // That the host's share is there already is no promise to callers.
  CHECK(difference(negative, net.expected[1], {}) == "");
  hold.release();
  REQUIRE(session.wait().ok());
  CHECK(net.control().pending == 0);
  check_outputs(session, net.expected);
}

TEST_CASE("async: two sessions of one thread are in flight at the same time") {
  const Branches net;
  Session first = net.session(), second = net.session();
  Hold hold(net.control());
  REQUIRE(first.run_async().ok());
  REQUIRE(second.run_async().ok());
  hold.release();
  REQUIRE(second.wait().ok());
  REQUIRE(first.wait().ok());
  check_outputs(first, net.expected);
  check_outputs(second, net.expected);
}

TEST_CASE("async: inputs may change after wait, and the next run reads them") {
  const Branches net;
  Session session = net.session();
  const Tensor x = net.net.inputs[0].clone().value();
  REQUIRE(session.set_input("x", x).ok());
  for (const float factor : {1.f, 2.f, 3.f}) {
    for (std::size_t i = 0; i < 6; ++i)
      Tensor(x).mutable_values<float>()[i] = net.net.inputs[0].values<float>()[i] * factor;
    REQUIRE(session.run_async().ok());
    REQUIRE(session.wait().ok());
    CHECK(session.output(net.names[0])->values<float>()[4] == 5 * factor);
  }
}

TEST_CASE("async: what a session refuses while a run is in flight, and what it says") {
  const Branches net;
  Session session = net.session();
  check_refused(session.wait(), "run_async()");
  Hold hold(net.control());
  REQUIRE(session.run_async().ok());
  const Tensor x = net.net.inputs[0];
  std::vector<Tensor> outputs(net.names.size());
  check_refused(session.run(), "wait()");
  check_refused(session.run(net.net.inputs, outputs), "wait()");
  check_refused(session.run_async(), "wait()");
  check_refused(session.set_input("x", x), "wait()");
  check_refused(session.set_output(net.names[0], {}), "wait()");
  check_refused(session.set_plan(net.net.plan({})), "wait()");
  check_refused(session.set_plan(net.plan), "wait()");
  check_refused(session.output(net.names[0]).status(), "wait()");
  CHECK(net.control().pending > 0);
  hold.release();
  REQUIRE(session.wait().ok());
  check_outputs(session, net.expected);
  check_refused(session.wait(), "run_async()");
  check_outputs(session, net.expected);  // a wrong call changes nothing
  CHECK(session.set_plan(net.net.plan({})).ok());
}

TEST_CASE("async: each call of the device that fails is an error of run_async or wait") {
  int in_run = 0, in_wait = 0;
  for (const SplitNet& net : split_nets()) {
    const auto plan = net.plan(net.random_path(4, 0.6));
    const std::vector<Tensor> expected = net.run(plan);
    Session session = bound_session(net, plan);
    for (const Fault fault : {Fault::launch, Fault::upload, Fault::download, Fault::synchronize}) {
      const int before = net.control->calls(fault);
      check_run_async(session, expected);
      const int calls = net.control->calls(fault) - before;
      CHECK(calls > 0);
      for (int nth = 1; nth <= calls; ++nth) {
        CAPTURE(net.name, static_cast<int>(fault), nth);
        if (fault == Fault::launch) session = bound_session(net, plan);  // records nothing yet
        net.control->fail(fault, nth);
        Status status = session.run_async();
        ++(status.ok() ? in_wait : in_run);
        if (status.ok()) status = session.wait();
        CHECK(status.code() == StatusCode::device_failed);
        CHECK_THAT(status.message(), Catch::Contains("the test device failed"));
        net.control->never_fail();
        CHECK(net.control->pending == 0);
        CHECK_FALSE(session.output(plan->outputs()[0].name).ok());
        check_refused(session.wait(), "run_async()");
        check_run_async(session, expected);
      }
    }
  }
  CHECK(in_run > 0);
  CHECK(in_wait > 0);
}

TEST_CASE("async: a device that is lost meanwhile is an error of wait") {
  const Branches net;
  Session session = net.session();
  Hold hold(net.control());
  REQUIRE(session.run_async().ok());
  net.control().is_lost = true;
  hold.release();
  const Status status = session.wait();
  CHECK(status.code() == StatusCode::device_failed);
  CHECK_THAT(status.message(), Catch::Contains("lost"));
  CHECK_FALSE(session.output(net.names[0]).ok());
  CHECK(session.run_async().code() == StatusCode::device_failed);
  net.control().is_lost = false;
  check_run_async(session, net.expected);
}

TEST_CASE("async: memory stays until the queues are empty when a session goes in flight") {
  const Branches net;
  for (const bool assigned : {false, true}) {
    CAPTURE(assigned);
    WatchingAllocator memory(net.control());
    std::optional<Session> session = net.session({&memory});
    for (std::size_t o = 0; o < 2; ++o)  // that the session alone holds
      REQUIRE(
          session
              ->set_output(net.names[o], Tensor::create(DataType::float32, {2, 3}, memory).value())
              .ok());
    Hold hold(net.control());
    REQUIRE(session->run_async().ok());
    REQUIRE(net.control().pending > 0);
    REQUIRE(memory.returned == 0);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      hold.release();
    });
    if (assigned) {
      *session = net.session();
      check_run_async(*session, net.expected);
    } else {
      session.reset();
    }
    other.join();
    CHECK(net.control().pending == 0);
    CHECK(memory.returned >= 3);
    CHECK(memory.too_early == 0);
  }
}

TEST_CASE("async: a session that is moved in flight is waited for where it went") {
  const Branches net;
  Session session = net.session();
  Hold hold(net.control());
  REQUIRE(session.run_async().ok());
  Session moved = std::move(session);
  check_refused(moved.run(), "wait()");
  hold.release();
  REQUIRE(moved.wait().ok());
  check_outputs(moved, net.expected);
  session = std::move(moved);
  check_outputs(session, net.expected);
}

TEST_CASE("async: outputs whose shapes depend on data are there after wait") {
  const Branches net;
  Session session = net.session();
  const std::string& places = net.names[2];
  Tensor fits = Tensor::create(DataType::int64, {2, 3}).value();
  std::fill_n(fits.mutable_values<std::int64_t>().data(), 6, std::int64_t{-1});
  REQUIRE(session.set_output(places, fits).ok());
  check_run_async(session, net.expected);
  CHECK(difference(fits, net.expected[2], {}) == "");
  // Their shape is looked at when the run ends.
  REQUIRE(session.set_output(places, Tensor::create(DataType::int64, {2, 4}).value()).ok());
  REQUIRE(session.run_async().ok());
  check_refused(session.wait(), "2x3 this time");
  REQUIRE(session.set_output(places, {}).ok());
  check_run_async(session, net.expected);
}

TEST_CASE("async: a run that is cancelled leaves none in flight") {
  const Branches net;
  Session session = net.session();
  std::atomic<bool> cancel = false;
  std::size_t traced = 0;
  RunOptions options;
  options.cancel = &cancel;
  options.trace = [&](const StepTrace&) { cancel = ++traced == 2; };
  CHECK(session.run_async(options).code() == StatusCode::cancelled);
  CHECK(traced == 2);
  CHECK(net.control().pending == 0);
  check_refused(session.wait(), "run_async()");
  CHECK_FALSE(session.output(net.names[0]).ok());
  // The flag is looked at by run_async alone; all steps are traced there.
  cancel = false;
  options.trace = [&](const StepTrace& step) { traced = step.index + 1; };
  REQUIRE(session.run_async(options).ok());
  CHECK(traced == impl_of(*net.plan).steps.size());
  cancel = true;
  REQUIRE(session.wait().ok());
  check_outputs(session, net.expected);
}
