// Kernels of devices are timed by recordings that are played: without the launches, which small
// kernels are shorter than, and without their first runs.
#include <catch2/catch.hpp>

#include "core/routine/routine_path.h"
#include "device/split_nets.h"
#include "profiler/measure/kernel_bench.h"
#include "profiler/select/candidates.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr double kKernelUs = 5;
constexpr int kLaunchUs = 20, kFirstRunUs = 100'000;

// x → −x on the test device, where launches and first runs are slow.
struct SlowLaunches {
  SlowLaunches() {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{16});
    net = split_net("negation", b.finish({b.unary("neg", x)}), {});
    net.control->microseconds = [](const Problem&) { return kKernelUs; };
    net.control->launch_us = kLaunchUs;
    net.control->first_run_us = kFirstRunUs;
    net.control->delay_us = 0;
  }
  ImplementationPtr implementation() const {
    const NetProblems problems = net.problems();
    const Problem& problem = problems.layers.at(0).problem;
    const Routine& routine = *net.runtime->registry().find("unary", "test/pages");
    return net.runtime->routine_context()
        .implement(routine, with_formats(problem, routine.formats(problem).at(0)))
        .value();
  }
  KernelBench bench() const {
    return KernelBench::create(*net.runtime, *implementation(), {}, net.inputs).value();
  }
  void check_outputs(KernelBench& bench) const {
    REQUIRE(bench.finish().ok());
    for (std::size_t i = 0; i < 16; ++i)
      CHECK(bench.outputs()[0].values<float>()[i] == -net.inputs[0].values<float>()[i]);
  }

  SplitNet net;
};

}  // namespace

TEST_CASE("replays: a kernel's time has neither its launch nor its first run in it") {
  const SlowLaunches device;
  TestControl& control = *device.net.control;
  KernelBench bench = device.bench();
  REQUIRE(bench.is_on_device());
  PoolBarrier barrier(device.net.runtime->pool());
  CHECK(bench.time_us(1, barrier) == Approx(kKernelUs + kLaunchUs + kFirstRunUs));
  CHECK(control.calls(Fault::play) == 0);
  double us = 0;
  CHECK(bench.batch_on_device(barrier, us) == 40);  // 200 us
  CHECK(us == Approx(kKernelUs));
  CHECK(control.calls(Fault::launch) == 1 + 1 + 40);
  CHECK(control.calls(Fault::begin_recording) == 2);
  int plays = control.calls(Fault::play);
  CHECK(plays >= 2 * (2 + 1));  // two before the first sample of either
  CHECK(bench.time_us(40, barrier) == Approx(kKernelUs));
  CHECK(control.calls(Fault::play) > plays);
  CHECK(control.calls(Fault::begin_recording) == 2);
  device.check_outputs(bench);
}

TEST_CASE(
    "replays: where a device makes no recordings, kernels are launched, first runs left out") {
  for (const std::optional<Fault> fault :
       {std::optional<Fault>(), std::optional(Fault::begin_recording),
        std::optional(Fault::end_recording), std::optional(Fault::play)}) {
    CAPTURE(fault ? static_cast<int>(*fault) : -1);
    const SlowLaunches device;
    if (fault)
      device.net.control->fail(*fault, 1);
    else
      device.net.control->has_recordings = false;
    KernelBench bench = device.bench();
    PoolBarrier barrier(device.net.runtime->pool());
    CHECK(bench.time_us(1, barrier) > kFirstRunUs);
    double us = 0;
    CHECK(bench.batch_on_device(barrier, us) == 8);
    CHECK(us == Approx(kKernelUs + kLaunchUs));
    CHECK(device.net.control->live_recordings == 0);
    device.check_outputs(bench);
  }
}

TEST_CASE("replays: a bench goes with its recording, also where another takes its place") {
  const SlowLaunches device;
  PoolBarrier barrier(device.net.runtime->pool());
  double us = 0;
  {
    KernelBench first = device.bench(), second = device.bench();
    for (KernelBench* const bench : {&first, &second}) {
      bench->time_us(1, barrier);
      bench->batch_on_device(barrier, us);
    }
    CHECK(device.net.control->live_recordings == 2);
    first = std::move(second);
    CHECK(device.net.control->live_recordings == 1);
    CHECK(first.time_us(40, barrier) == Approx(kKernelUs));
  }
  CHECK(device.net.control->live_recordings == 0);
}

TEST_CASE("replays: keys of devices name the method, those of the host do not") {
  const SlowLaunches device;
  const Registry& registry = device.net.runtime->registry();
  const ImplementationPtr there = device.implementation();
  const Problem on_host = device.net.problems().layers.at(0).problem;
  CHECK_THAT(profile_key(registry, there->problem(), there->routine(), {}),
             Catch::EndsWith("|test device|method 2"));
  CHECK_THAT(profile_key(registry, on_host, *registry.find("unary", "cpu/naive"), {}),
             Catch::EndsWith("|cpu/naive||v1|"));
}
