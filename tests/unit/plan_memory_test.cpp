// A plan for sizes that no memory holds is refused before kernels are made, and what kernels note
// of their problem does not grow with the image.
#include <catch2/catch.hpp>

#include "net/net_access.h"
#include "routines/max_pool2/pool_rows.h"
#include "softneuro/net.h"
#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// Has 1 GB to give, but gives none of it: what is asked for counts.
class MeasuringAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    most_ = std::max(most_, bytes);
    return bytes > (std::size_t{1} << 30) ? nullptr
                                          : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* pointer, std::size_t bytes) noexcept override {
    default_allocator().deallocate(pointer, bytes);
  }
  std::size_t most() const { return most_; }

 private:
  std::size_t most_ = 0;
};

}  // namespace

TEST_CASE("plan: a tensor larger than the allocator's memory is refused before kernels are made") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 1, 1, Dim("w")});
  const TensorId y = b.layer("avg_pool2", {x}, {{"kernel", std::vector<std::int64_t>{1, 3}}});
  MeasuringAllocator allocator;
  NetOptions options;
  options.allocator = &allocator;
  const Result<Net> net = NetAccess::from_graph(b.finish({y}), options);
  REQUIRE(net.ok());
  const auto plan = net->plan({{"x", Shape{1, 1, 1, 1'000'000'000}}});
  CHECK(plan.status().code() == StatusCode::out_of_memory);
  CHECK(plan.status().message().find("avg_pool2") != std::string::npos);
  CHECK(allocator.most() == 4 * std::size_t{999'999'998});
  CHECK(net->plan({{"x", Shape{1, 1, 1, 1000}}}).ok());
}

TEST_CASE("plan: tensors that are alive at once are refused together, before kernels are made") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, Dim("w")});
  const TensorId first = b.unary("exp", x);
  const TensorId second = b.unary("abs", first);  // beside the first, which is read once more
  const TensorId both = b.layer("binary", {first, second}, {{"op", std::string("add")}});
  const TensorId y = b.layer("reduce", {both, b.integers({1})}, {{"op", std::string("sum")}});
  MeasuringAllocator allocator;
  NetOptions options;
  options.allocator = &allocator;
  const Result<Net> net = NetAccess::from_graph(b.finish({y}), options);
  REQUIRE(net.ok());
  const auto plan = net->plan({{"x", Shape{1, 150'000'000}}});
  CHECK(plan.status().code() == StatusCode::out_of_memory);
  CHECK(plan.status().message().find("at once") != std::string::npos);
  CHECK(allocator.most() == std::size_t{2} * 4 * 150'000'000);
  CHECK(net->plan({{"x", Shape{1, 1000}}}).ok());
}

// Its kernels note for every output position where it comes from.
TEST_CASE("plan: a resize of no elements takes no memory by its other dimensions") {
  GraphBuilder b;
  const TensorId x = b.input("x", {0, 1, 1, Dim("w")});
  const TensorId sizes = b.integers({0, 1, 1, 1'000'000'000'000});
  const TensorId y =
      b.layer("resize", {x, kNoTensor, kNoTensor, sizes}, {{"mode", std::string("linear")}});
  const Result<Net> net = NetAccess::from_graph(b.finish({y}));
  REQUIRE(net.ok());
  const Tensor empty = Tensor::create(DataType::float32, {0, 1, 1, 8}).value();
  const auto outputs = net->run({{"x", empty}});
  REQUIRE(outputs.status().message() == "");
  CHECK(outputs->begin()->second.shape() == Shape{0, 1, 1, 1'000'000'000'000});
}

TEST_CASE("run: a size known at run time only is refused before kernels are made for it") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 1, 1, 8});
  const TensorId sizes = b.input("sizes", {4}, DataType::int64);
  const TensorId y =
      b.layer("resize", {x, kNoTensor, kNoTensor, sizes}, {{"mode", std::string("linear")}});
  MeasuringAllocator allocator;
  NetOptions options;
  options.allocator = &allocator;
  const Result<Net> net = NetAccess::from_graph(b.finish({y}), options);
  REQUIRE(net.ok());
  const auto run = [&](std::int64_t width) {
    const Tensor image = Tensor::create(DataType::float32, {1, 1, 1, 8}).value();
    Tensor size = Tensor::create(DataType::int64, {4}).value();
    const std::int64_t wanted[] = {1, 1, 1, width};
    std::copy(std::begin(wanted), std::end(wanted), size.mutable_values<std::int64_t>().begin());
    return net->run({{"x", image}, {"sizes", size}}).status();
  };
  CHECK(run(1'000'000'000'000).code() == StatusCode::out_of_memory);
  CHECK(allocator.most() >= 4 * std::size_t{1'000'000'000'000});
  CHECK(run(16).message() == "");
}

TEST_CASE("pool shares: tables as long as the edges give what counting gives for each output") {
  for (std::int64_t seed = 0; seed < 500; ++seed) {
    Window window;
    WindowAxis& axis = window.axes[2];
    axis.input = 1 + seed % 97;
    axis.kernel = 1 + seed / 3 % 7;
    axis.stride = 1 + seed % 4;
    axis.dilation = 1 + seed / 7 % 3;
    axis.pad_begin = seed / 5 % (axis.extent() + 1);
    axis.pad_end = seed / 11 % (axis.extent() + 1);
    const std::int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.extent();
    if (room < 0) continue;
    axis.output = room / axis.stride + 1 + seed % 2;  // beyond the padding, as ceil_mode does
    const PoolShares shares(window, seed % 3 == 0);
    CAPTURE(seed, axis.input, axis.kernel, axis.stride, axis.dilation, axis.pad_begin);
    for (std::int64_t o = 0; o < axis.output; ++o) {
      float inside = 0, padded = 0;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = o * axis.stride + k * axis.dilation - axis.pad_begin;
        if (at >= 0 && at < axis.input) ++inside;
        if (at >= -axis.pad_begin && at < axis.input + axis.pad_end) ++padded;
      }
      // As it is read alone, and as part of a vector that begins before it.
      for (std::int64_t lane = 0; lane < std::min<std::int64_t>(16, o + 1); ++lane) {
        const std::size_t at = shares.place(2, o - lane) + static_cast<std::size_t>(lane);
        REQUIRE(shares.addends[2][at] == inside);
        REQUIRE(shares.counts[2][at] == (seed % 3 == 0 ? padded : inside));
      }
    }
  }
}

TEST_CASE("pool shares: a row of a billion outputs takes a short table") {
  Window window;
  window.axes[2] = {1'000'000'000, 3, 1, 1, 1, 1, 1'000'000'000};
  const PoolShares shares(window, true);
  CHECK(shares.addends[2].size() < 100);
}
