// What every device does with recordings: the work of kernels is kept, and done at each play.
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>
#include <thread>

#include "device/split_nets.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr std::size_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(float);

// A kernel of a device that writes −from to `to`, a stream, and memory for both.
class Negation {
 public:
  // Null if the device has no routine for it.
  static std::unique_ptr<Negation> make(DeviceId device) {
    GraphBuilder b;
    const TensorId x = b.input("x", Shape{std::int64_t{kCount}});
    SplitNet net = split_net("negation", b.finish({b.unary("neg", x)}), {});
    const auto plan = net.plan(net.random_path(0, 1.0, device));
    for (const Step& step : impl_of(*plan).steps)
      if (step.device != 0 && step.layer->type->name == "unary")
        return std::unique_ptr<Negation>(new Negation(net, plan, step.kernel));
    return nullptr;
  }

  Status put_in() {
    const auto view = [](const DeviceMemory& memory) {
      return TensorView{DataType::float32, Layout::plain, {std::int64_t{kCount}}, memory.data()};
    };
    const TensorView input = view(from_);
    TensorView output = view(to_);
    Context context({&input, 1}, {&output, 1}, nullptr, net_.runtime->pool());
    context.set_device(stream.get(), nullptr);
    return kernel_->run(context);
  }
  bool has_recordings() {
    const Status begun = stream->begin_recording();
    return begun.code() != StatusCode::unsupported && stream->end_recording().ok();
  }
  std::unique_ptr<Recording> record() {
    REQUIRE(stream->begin_recording().ok());
    REQUIRE(put_in().ok());
    return stream->end_recording().value();
  }
  Status upload(float value) {
    const std::vector<float> values(kCount, value);
    return stream->upload(from_.data(), values.data(), kBytes);
  }
  Status download() { return stream->download(back_.data(), to_.data(), kBytes); }
  // Whether `to` holds this number only.
  bool holds(float value) {
    REQUIRE(download().ok());
    REQUIRE(stream->synchronize().ok());
    return back_ == std::vector<float>(kCount, value);
  }
  Device& device() { return *net_.runtime->registry().device(plan_device().id); }
  TestControl& control() { return *net_.control; }

 private:
  Negation(SplitNet net, std::shared_ptr<const Plan> plan, std::shared_ptr<const Kernel> kernel)
      : net_(std::move(net)), plan_(std::move(plan)), kernel_(std::move(kernel)) {
    from_ = device().allocate(kBytes).value();
    to_ = device().allocate(kBytes).value();
    stream = device().create_stream().value();
  }
  const PlannedDevice& plan_device() const { return impl_of(*plan_).devices[1]; }

  SplitNet net_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Kernel> kernel_;
  DeviceMemory from_, to_;
  std::vector<float> back_ = std::vector<float>(kCount);

 public:
  std::unique_ptr<Stream> stream;  // destroyed first: it is the device's, which the net holds
};

void for_each_negation(const std::function<void(Negation&)>& check) {
  const SplitNet net = attention_net();
  for (const Device* device : net.runtime->registry().devices()) {
    INFO("device " << device->name());
    const std::unique_ptr<Negation> negation = Negation::make(device->id());
    if (negation == nullptr || !negation->has_recordings()) continue;
    check(*negation);
  }
}

}  // namespace

TEST_CASE("recording: its work is done at each play, on the bytes that are there then") {
  int devices = 0;
  for_each_negation([&](Negation& negation) {
    ++devices;
    REQUIRE(negation.upload(1).ok());
    REQUIRE(negation.put_in().ok());
    CHECK(negation.holds(-1));
    REQUIRE(negation.upload(2).ok());
    const std::unique_ptr<Recording> recording = negation.record();
    CHECK(negation.holds(-1));  // nothing was done
    REQUIRE(negation.stream->play(*recording).ok());
    CHECK(negation.holds(-2));
    for (const float value : {3.f, 4.f}) {
      REQUIRE(negation.upload(value).ok());
      REQUIRE(negation.stream->play(*recording).ok());
    }
    CHECK(negation.holds(-4));
    REQUIRE(negation.upload(5).ok());
    REQUIRE(negation.put_in().ok());  // as before
    CHECK(negation.holds(-5));
  });
  CHECK(devices > 0);
}

TEST_CASE("recording: other calls are errors meanwhile and at its end, and the stream works on") {
  for_each_negation([](Negation& negation) {
    REQUIRE(negation.upload(1).ok());
    REQUIRE(negation.put_in().ok());
    const std::unique_ptr<Recording> other = negation.record();
    const std::pair<const char*, std::function<Status()>> calls[] = {
        {"upload", [&] { return negation.upload(9); }},
        {"download", [&] { return negation.download(); }},
        {"synchronize", [&] { return negation.stream->synchronize(); }},
        {"record", [&] { return negation.stream->record().status(); }},
        {"begin_recording", [&] { return negation.stream->begin_recording(); }},
        {"play", [&] { return negation.stream->play(*other); }},
        {"allocate", [&] { return negation.device().allocate(64).status(); }},
    };
    for (const auto& [name, call] : calls) {
      CAPTURE(name);
      REQUIRE(negation.stream->begin_recording().ok());
      REQUIRE(negation.put_in().ok());
      CHECK(call().code() == StatusCode::device_failed);
      (void)negation.put_in();
      CHECK(negation.stream->end_recording().status().code() == StatusCode::device_failed);
      CHECK(negation.holds(-1));
      REQUIRE(negation.upload(2).ok());
      REQUIRE(negation.put_in().ok());
      CHECK(negation.holds(-2));
      REQUIRE(negation.upload(1).ok());
      REQUIRE(negation.stream->play(*negation.record()).ok());
      CHECK(negation.holds(-1));
    }
  });
}

TEST_CASE("recording: other threads allocate and copy meanwhile") {
  for_each_negation([](Negation& negation) {
    REQUIRE(negation.upload(1).ok());
    REQUIRE(negation.put_in().ok());
    REQUIRE(negation.stream->begin_recording().ok());
    Status other_status;
    std::thread other([&] {
      const std::vector<float> values(kCount, 3.f);
      other_status = upload(negation.device(), values.data(), kBytes).status();
    });
    other.join();
    CHECK(other_status.ok());
    REQUIRE(negation.put_in().ok());
    const auto recording = negation.stream->end_recording();
    REQUIRE(recording.ok());
    REQUIRE(negation.upload(2).ok());
    REQUIRE(negation.stream->play(**recording).ok());
    CHECK(negation.holds(-2));
  });
}

TEST_CASE("recording: one that goes is waited for, and one without work does nothing") {
  for_each_negation([](Negation& negation) {
    REQUIRE(negation.upload(1).ok());
    REQUIRE(negation.put_in().ok());
    REQUIRE(negation.stream->begin_recording().ok());
    const std::unique_ptr<Recording> nothing = negation.stream->end_recording().value();
    REQUIRE(negation.stream->play(*nothing).ok());
    CHECK(negation.holds(-1));
    REQUIRE(negation.upload(2).ok());
    std::unique_ptr<Recording> recording = negation.record();
    for (int i = 0; i < 20; ++i) REQUIRE(negation.stream->play(*recording).ok());
    recording.reset();
    CHECK(negation.control().pending == 0);
    CHECK(negation.holds(-2));
  });
}

TEST_CASE("recording: a device may have none") {
  const auto negation = Negation::make(*DeviceId::parse("test"));
  negation->control().has_recordings = false;
  CHECK(negation->stream->begin_recording().code() == StatusCode::unsupported);
  CHECK(negation->stream->end_recording().status().code() == StatusCode::unsupported);
  REQUIRE(negation->upload(1).ok());
  REQUIRE(negation->put_in().ok());
  CHECK(negation->holds(-1));
}
