// What every device must do: a plugin that brings one passes these first.
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>

#include "core/layers/builtin_layers.h"
#include "device/test_device.h"
#include "device/tested_devices.h"
#include "softneuro/allocator.h"
#include "support/simple_routine.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

std::vector<std::uint32_t> counted(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::size_t bytes_of(const std::vector<std::uint32_t>& numbers) {
  return numbers.size() * sizeof(numbers[0]);
}

class RefusingRoutine final : public SimpleRoutine {
 public:
  explicit RefusingRoutine(const std::string& descriptor) : SimpleRoutine("conv2", descriptor) {}
  Applicability applicable(const Problem&) const override { return Applicability::no("a test"); }
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineContext&) const override {
    return Status(StatusCode::unsupported, "it makes no kernel");
  }
};

std::unique_ptr<const Routine> routine_on(const std::string& device) {
  return std::make_unique<RefusingRoutine>(device + "/none");
}

}  // namespace

TEST_CASE("device: memory is aligned, of the size asked for, and none for no bytes") {
  for_each_device([](Device& device) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{3} << 20}) {
      const DeviceMemory memory = device.allocate(bytes).value();
      CHECK(memory.bytes() == bytes);
      CHECK(memory.data() != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % kTensorAlignment == 0);
    }
    const DeviceMemory none = device.allocate(0).value();
    CHECK(none.data() == nullptr);
    CHECK(none.bytes() == 0);
  });
}

TEST_CASE("device: more memory than there is is out_of_memory, and the device works on") {
  for_each_device([](Device& device) {
    const auto refused = device.allocate(std::size_t{1} << 50);
    CHECK(refused.status().code() == StatusCode::out_of_memory);
    CHECK(refused.status().message().find(std::to_string(std::size_t{1} << 50)) !=
          std::string::npos);
    CHECK(device.allocate(1024).ok());
  });
}

TEST_CASE("device: it has a name and is not the host") {
  for_each_device([](Device& device) {
    CHECK_FALSE(device.name().empty());
    CHECK_FALSE(device.id().is_host());
  });
}

TEST_CASE("registry: a second device of one name, and routines of an absent one, are errors") {
  Registry registry(builtin_layer_types());
  CHECK(registry.add(routine_on("absent")).code() == StatusCode::invalid_argument);
  REQUIRE(add_test_device(registry, std::make_shared<TestControl>()).ok());
  CHECK(registry.add(routine_on("test")).ok());
  const Status again = add_test_device(registry, std::make_shared<TestControl>());
  CHECK(again.code() == StatusCode::invalid_argument);
  CHECK(again.message().find("test") != std::string::npos);
}

TEST_CASE("stream: what is uploaded comes back, whatever happens to the source meanwhile") {
  for_each_device([](Device& device) {
    const auto stream = device.create_stream().value();
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
      const std::vector<std::uint32_t> sent = counted(count, 7);
      std::vector<std::uint32_t> source = sent, back(count);
      const DeviceMemory memory = device.allocate(bytes_of(sent)).value();
      REQUIRE(stream->upload(memory.data(), source.data(), bytes_of(sent)).ok());
      std::fill(source.begin(), source.end(), 0);
      REQUIRE(stream->download(back.data(), memory.data(), bytes_of(sent)).ok());
      REQUIRE(stream->synchronize().ok());
      CHECK(back == sent);
    }
  });
}

TEST_CASE("stream: work is done in the order in which it is put in") {
  for_each_device([](Device& device) {
    const auto stream = device.create_stream().value();
    const DeviceMemory memory = device.allocate(4 * 64).value();
    std::vector<std::vector<std::uint32_t>> back(20, std::vector<std::uint32_t>(64));
    for (std::uint32_t i = 0; i < back.size(); ++i) {
      const std::vector<std::uint32_t> sent = counted(64, 100 * i);
      REQUIRE(stream->upload(memory.data(), sent.data(), bytes_of(sent)).ok());
      REQUIRE(stream->download(back[i].data(), memory.data(), bytes_of(sent)).ok());
    }
    REQUIRE(stream->synchronize().ok());
    for (std::uint32_t i = 0; i < back.size(); ++i) CHECK(back[i] == counted(64, 100 * i));
  });
}

TEST_CASE("stream: part of an allocation can be copied") {
  for_each_device([](Device& device) {
    const auto stream = device.create_stream().value();
    const std::vector<std::uint32_t> sent = counted(256, 0);
    const DeviceMemory memory = device.allocate(bytes_of(sent)).value();
    std::vector<std::uint32_t> back(16);
    REQUIRE(stream->upload(memory.data(), sent.data(), bytes_of(sent)).ok());
    REQUIRE(stream
                ->download(back.data(), static_cast<std::byte*>(memory.data()) + 4 * 128,
                           bytes_of(back))
                .ok());
    REQUIRE(stream->synchronize().ok());
    CHECK(back == counted(16, 128));
  });
}

TEST_CASE("stream: events are in order of the device's clock") {
  for_each_device([](Device& device) {
    const auto stream = device.create_stream().value();
    const std::vector<std::uint32_t> sent = counted(1 << 16, 0);
    const DeviceMemory memory = device.allocate(bytes_of(sent)).value();
    const auto before = stream->record().value();
    REQUIRE(stream->upload(memory.data(), sent.data(), bytes_of(sent)).ok());
    const auto between = stream->record().value();
    REQUIRE(stream->upload(memory.data(), sent.data(), bytes_of(sent)).ok());
    const auto after = stream->record().value();
    REQUIRE(stream->synchronize().ok());
    const double first = stream->microseconds(*before, *between).value();
    const double both = stream->microseconds(*before, *after).value();
    CHECK(first > 0);
    CHECK(both > first);
    CHECK(both < 60e6);
  });
}

TEST_CASE("stream: two threads with a stream each do not disturb each other") {
  for_each_device([](Device& device) {
    std::atomic<int> wrong = 0;
    const auto work = [&](std::uint32_t first) {
      const auto stream = device.create_stream().value();
      const std::vector<std::uint32_t> sent = counted(5000, first);
      for (int i = 0; i < 20; ++i) {
        const DeviceMemory memory = device.allocate(bytes_of(sent)).value();
        std::vector<std::uint32_t> back(sent.size());
        const bool ok = stream->upload(memory.data(), sent.data(), bytes_of(sent)).ok() &&
                        stream->download(back.data(), memory.data(), bytes_of(sent)).ok() &&
                        stream->synchronize().ok();
        if (!ok || back != sent) ++wrong;
      }
    };
    std::thread other(work, 1u << 20);
    work(0);
    other.join();
    CHECK(wrong == 0);
  });
}

TEST_CASE("upload: a device's copy of host memory holds its bytes") {
  for_each_device([](Device& device) {
    const std::vector<std::uint32_t> sent = counted(1000, 5);
    const DeviceMemory memory = upload(device, sent.data(), bytes_of(sent)).value();
    std::vector<std::uint32_t> back(sent.size());
    const auto stream = device.create_stream().value();
    REQUIRE(stream->download(back.data(), memory.data(), bytes_of(sent)).ok());
    REQUIRE(stream->synchronize().ok());
    CHECK(back == sent);
    CHECK(upload(device, nullptr, 0).value().data() == nullptr);
  });
}
