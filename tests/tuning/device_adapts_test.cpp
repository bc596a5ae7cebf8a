#include "profiler/select/device_adapts.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace softneuro;

namespace {

TensorSpec tensor_of(DataType type, const Shape& shape) {
  TensorSpec spec;
  spec.type = type;
  spec.shape = shape;
  return spec;
}

// Floats of 1, 2, … 20 kilo-elements, and integers of two sizes.
std::vector<TensorSpec> tensors() {
  std::vector<TensorSpec> specs;
  for (std::int64_t i = 1; i <= 20; ++i)
    specs.push_back(tensor_of(DataType::float32, Shape{i, 1024}));
  for (std::int64_t i = 1; i <= 2; ++i) specs.push_back(tensor_of(DataType::int64, Shape{i, 1024}));
  return specs;
}

struct Fixture {
  Fixture() {
    for (const TensorSpec& spec : specs) pointers.push_back(&spec);
    pointers.push_back(nullptr);  // of no layer
  }
  // 10 us and 1 us for 1024 elements; half of that the other way.
  Result<AdaptChoice> measure(const TensorSpec& spec, const Format& to) {
    ++measured;
    AdaptChoice choice;
    choice.time_us = 10 + static_cast<double>(spec.shape.elements()) / 1024;
    if (to.device.is_host()) choice.time_us /= 2;
    choice.routine = "test/copy";
    return choice;
  }

  std::vector<TensorSpec> specs = tensors();
  std::vector<const TensorSpec*> pointers;
  int measured = 0;
  Format host{DataType::float32};
  Format there{DataType::float32, Layout::plain, *DeviceId::parse("test")};
};

}  // namespace

TEST_CASE("device adapts: three sizes of each pair of formats are measured, others lie between") {
  Fixture f;
  DeviceAdapts adapts(f.pointers, [&](const TensorSpec& spec, const Format&, const Format& to) {
    return f.measure(spec, to);
  });
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < 20; ++i) {
      const AdaptChoice up = adapts.of(f.specs[i], f.host, f.there).value();
      CHECK(up.time_us == Approx(11.0 + static_cast<double>(i)));
      CHECK(up.routine == "test/copy");
      CHECK(adapts.of(f.specs[i], f.there, f.host).value().time_us == Approx(up.time_us / 2));
    }
  CHECK(f.measured == 6);
  const Format whole{DataType::int64}, whole_there{DataType::int64, Layout::plain, f.there.device};
  for (const std::size_t i : {20, 21})
    CHECK(adapts.of(f.specs[i], whole, whole_there).value().time_us == Approx(i - 9.0));
  CHECK(f.measured == 8);
}

TEST_CASE("device adapts: a tensor that is none of the net's is measured, an error is passed on") {
  Fixture f;
  bool fails = false;
  DeviceAdapts adapts(
      f.pointers,
      [&](const TensorSpec& spec, const Format&, const Format& to) -> Result<AdaptChoice> {
        if (fails) return Status(StatusCode::device_failed, "it fails");
        return f.measure(spec, to);
      });
  const TensorSpec large = tensor_of(DataType::float32, Shape{64, 1024});
  CHECK(adapts.of(large, f.host, f.there).value().time_us == 74);
  fails = true;
  CHECK(adapts.of(f.specs[0], f.there, f.host).status().code() == StatusCode::device_failed);
  fails = false;
  CHECK(adapts.of(f.specs[0], f.there, f.host).value().time_us == 5.5);
}

TEST_CASE("device adapts: where no routine does it, no size is possible") {
  Fixture f;
  DeviceAdapts adapts(f.pointers, [](const TensorSpec&, const Format&, const Format&) {
    AdaptChoice impossible;
    impossible.time_us = INFINITY;
    return Result<AdaptChoice>(impossible);
  });
  for (const std::size_t i : {0, 5, 19})
    CHECK(std::isinf(adapts.of(f.specs[i], f.host, f.there).value().time_us));
}
