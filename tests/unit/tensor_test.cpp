// Tensors, shapes and data types: ownership, sizes, overflow, conversions of half precision.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "softneuro/softneuro.h"

using namespace softneuro;

TEST_CASE("shapes multiply without overflow", "[tensor]") {
  CHECK(Shape{2, 3, 4}.elements() == 24);
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{INT64_MAX, 2}.elements() == -1);
  CHECK(Shape{INT64_MAX, INT64_MAX, 0}.elements() == 0);
  CHECK(Shape{-1, 2}.elements() == -1);
  CHECK(Shape{1, 3, 224, 224}.str() == "1x3x224x224");
  CHECK(Shape{2, 3, 4}.elements(1, 3) == 12);
}

TEST_CASE("storage_bytes counts the padding of blocked layouts", "[tensor]") {
  CHECK(storage_bytes(DataType::float32, Shape{1, 17, 2, 2}, Layout::nchw16c) == 32 * 4 * 4);
  CHECK(storage_bytes(DataType::float16, Shape{1, 17, 2, 2}, Layout::nchw8c) == 24 * 4 * 2);
  CHECK(storage_bytes(DataType::int64, Shape{INT64_MAX / 4}, Layout::plain) == -1);
  CHECK(storage_bytes(DataType::float32, Shape{4}, Layout::nchw16c) == -1);
  for (const int block : {2, 3, 4, 17, 32, 1000, Layout::kMaxBlock}) {
    const std::int64_t channels = (17 + block - 1) / block * block;
    CHECK(storage_bytes(DataType::float32, {2, 17, 3}, Layout::blocked(block)) == channels * 24);
    CHECK(storage_bytes(DataType::qint8, {2, 17, 3}, Layout::blocked(block)) == channels * 6);
    CHECK(Tensor::create(DataType::qint8, {2, 17, 3}, default_allocator(), Layout::blocked(block))
              .value()
              .bytes() == static_cast<std::size_t>(channels) * 6);
  }
  CHECK(storage_bytes(DataType::qint8, {1, INT64_MAX - 1, 1}, Layout::blocked(4)) == -1);
}

TEST_CASE("layouts are read back as written, and nothing else is one", "[tensor]") {
  STATIC_REQUIRE(sizeof(Layout) <= 4);
  STATIC_REQUIRE(std::is_trivially_copyable_v<Layout>);
  STATIC_REQUIRE(Layout() == Layout::plain);
  STATIC_REQUIRE(Layout::blocked(8) == Layout::nchw8c);
  STATIC_REQUIRE(Layout::channels_last < Layout::nchw8c);
  STATIC_REQUIRE(Layout::nchw8c < Layout::nchw16c);
  STATIC_REQUIRE(block_of(Layout::channels_last) == 1);
  STATIC_REQUIRE(order_of(Layout::channels_last) == Layout::Order::channels_last);
  CHECK(Layout::parse("plain") == Layout::plain);
  CHECK(Layout::parse("nhwc") == Layout::channels_last);
  CHECK(Layout::parse("nchw16c") == Layout::nchw16c);
  for (int block = 2; block <= Layout::kMaxBlock; ++block) {
    const Layout layout = Layout::blocked(block);
    REQUIRE(block_of(layout) == block);
    REQUIRE(to_string(layout) == "nchw" + std::to_string(block) + 'c');
    REQUIRE(Layout::parse(to_string(layout)) == layout);
  }
  for (const char* name : {"", "nchw", "nchwc", "nchw1c", "nchw0c", "nchw08c", "nchw-8c", "nchw+8c",
                           "nchw8", "nchw8cc", "nchw8C", "nchw 8c", "nchw1025c", "NCHW8c",
                           "nchw99999999999999999999c", "nhwc8c", "nhw8c", "plain "})
    CHECK_FALSE(Layout::parse(name).has_value());
}

TEST_CASE("names of devices have up to fifteen letters and digits", "[tensor]") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<DeviceId>);
  for (const char* name : {"cpu", "cuda1", "tensorrt", "directml", "accelerator0001", "nchw1025c"})
    CHECK(std::string(DeviceId::parse(name).value().c_str()) == name);
  for (const char* name : {"", "accelerator00001", "1gpu", "Cuda", "cuda:1", "cuda_1", "float32",
                           "plain", "nhwc", "nchw8c", "nchw4c", "nchw1024c"})
    CHECK_FALSE(DeviceId::parse(name).has_value());
}

TEST_CASE("storage_bytes: a zero among dimensions whose product overflows is refused", "[tensor]") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  CHECK(storage_bytes(DataType::int8, Shape{0, 5, kLarge}, Layout::plain) == 0);
  CHECK(storage_bytes(DataType::int8, Shape{0, kLarge, kLarge}, Layout::plain) == -1);
  CHECK(storage_bytes(DataType::int8, Shape{kLarge, kLarge, 0}, Layout::plain) == -1);
  CHECK(storage_bytes(DataType::float64, Shape{0, INT64_MAX / 4}, Layout::plain) == -1);
  CHECK_FALSE(Tensor::create(DataType::float32, Shape{0, kLarge, kLarge}).ok());
}

TEST_CASE("tensors own, borrow and share memory", "[tensor]") {
  auto owned = Tensor::create(DataType::float32, Shape{2, 3});
  REQUIRE(owned.ok());
  CHECK(reinterpret_cast<std::uintptr_t>(owned->data()) % kTensorAlignment == 0);
  owned->mutable_values<float>()[5] = 7;
  const Tensor copy = *owned;
  CHECK(copy.data() == owned->data());  // handles share
  auto deep = owned->clone();
  REQUIRE(deep.ok());
  CHECK(deep->data() != owned->data());
  CHECK(deep->values<float>()[5] == 7);
  CHECK(owned->values<int>().empty());  // another type: no view

  float values[4] = {1, 2, 3, 4};
  auto borrowed = Tensor::borrow_const(DataType::float32, Shape{4}, values, sizeof values);
  REQUIRE(borrowed.ok());
  CHECK(borrowed->mutable_data() == nullptr);
  CHECK(borrowed->data() == values);
  CHECK_FALSE(Tensor::borrow(DataType::float32, Shape{4}, values, 8).ok());
  CHECK_FALSE(Tensor::borrow(DataType::float32, Shape{4}, nullptr, 16).ok());
  CHECK_FALSE(
      Tensor::borrow(DataType::float32, Shape{1}, reinterpret_cast<char*>(values) + 1, 4).ok());
  CHECK_FALSE(Tensor::create(DataType::float32, Shape{INT64_MAX}).ok());
  CHECK_FALSE(Tensor::create(DataType::undefined, Shape{1}).ok());
  CHECK(owned->reshaped(Shape{3, 2}).ok());
  CHECK_FALSE(owned->reshaped(Shape{4, 2}).ok());

  auto keeper = std::make_shared<int>(1);
  std::weak_ptr<int> watch = keeper;
  auto shared =
      Tensor::share(DataType::float32, Shape{4}, values, sizeof values, std::move(keeper));
  REQUIRE(shared.ok());
  CHECK_FALSE(watch.expired());
  *shared = Tensor();
  CHECK(watch.expired());
}

TEST_CASE("an allocator that refuses gives out_of_memory", "[tensor]") {
  alignas(64) std::byte memory[256];
  FixedArenaAllocator arena(memory, sizeof memory);
  {
    auto fits = Tensor::create(DataType::float32, Shape{32}, arena);
    REQUIRE(fits.ok());
    auto too_much = Tensor::create(DataType::float32, Shape{64}, arena);
    REQUIRE_FALSE(too_much.ok());
    CHECK(too_much.status().code() == StatusCode::out_of_memory);
    CHECK(arena.used() >= 128);
  }
  CHECK(arena.used() == 0);
  CHECK(arena.peak() >= 128);
}

TEST_CASE("half precision converts exactly and rounds to even", "[types]") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(to_float(to_half(value))));
    } else {
      REQUIRE(to_half(value).bits == half.bits);  // exact both ways
    }
  }
  CHECK(to_half(65519.0f).bits == 0x7bff);                     // rounds down to the largest
  CHECK(to_half(65520.0f).bits == 0x7c00);                     // half way: infinity
  CHECK(to_half(1.0f + 0x1p-11f).bits == to_half(1.0f).bits);  // tie, even below
  CHECK(to_half(1.0f + 3 * 0x1p-11f).bits == to_half(1.0f + 0x1p-9f).bits);  // tie, even above
  CHECK(to_half(0x1p-25f).bits == 0);                                        // tie with zero
  CHECK(to_half(0x1.8p-25f).bits == 1);
  CHECK(to_float(Half{0x0001}) == 0x1p-24f);
  CHECK(to_bfloat16(1.0f + 0x1p-8f).bits == 0x3f80);
  CHECK(to_bfloat16(1.0f + 3 * 0x1p-8f).bits == 0x3f82);
  CHECK(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("data types have names and sizes", "[types]") {
  for (int i = 1; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    CHECK(parse_data_type(to_string(type)) == type);
    CHECK(size_of(type) > 0);
  }
  CHECK(parse_data_type("float31") == DataType::undefined);
}

TEST_CASE("tensors from values: a copy of spans, vectors, arrays and lists", "[tensor]") {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Tensor copy = Tensor::from(values, {2, 3}).value();
  values[0] = 9;
  CHECK(copy.data_type() == DataType::float32);
  CHECK(copy.shape() == Shape{2, 3});
  CHECK(copy.values<float>()[0] == 1);
  CHECK(copy.values<float>()[5] == 6);
  CHECK(copy.writable());
  const std::array<std::int64_t, 2> sizes = {7, 8};
  CHECK(Tensor::from(sizes, {2}).value().values<std::int64_t>()[1] == 8);
  CHECK(Tensor::from(std::span(values).first(2), {2}).value().values<float>()[0] == 9);
  CHECK(Tensor::from({true, false}, {2}).value().data_type() == DataType::boolean);
  CHECK(Tensor::from({Half{1}}, Shape{}).value().data_type() == DataType::float16);
  CHECK(Tensor::from(std::vector<float>(), {0, 3}).value().elements() == 0);

  const Status few = Tensor::from(values, {7}).status();
  CHECK(few.code() == StatusCode::invalid_argument);
  CHECK_THAT(few.message(), Catch::Contains("28 bytes, but 24"));
}

TEST_CASE("tensors borrow typed memory", "[tensor]") {
  std::vector<float> values = {1, 2, 3};
  Tensor view = Tensor::borrow(values, {3}).value();
  view.mutable_values<float>()[1] = 8;
  CHECK(values[1] == 8);
  const std::vector<float>& fixed = values;
  Tensor reading = Tensor::borrow_const(fixed, {1, 3}).value();
  CHECK(reading.data() == values.data());
  CHECK_FALSE(reading.writable());
  CHECK_FALSE(Tensor::borrow(values, {4}).ok());
  int numbers[2] = {4, 5};
  CHECK(Tensor::borrow(numbers, {2}).value().values<std::int32_t>()[1] == 5);
}

TEST_CASE("a view of another type is an error that names both", "[tensor]") {
  std::vector<float> values = {1, 2, 3};
  Tensor tensor = Tensor::borrow(values, {3}).value();
  CHECK(tensor.view<float>().value()[2] == 3);
  tensor.mutable_view<float>().value()[2] = 4;
  CHECK(values[2] == 4);
  const Status other = tensor.view<double>().status();
  CHECK(other.code() == StatusCode::invalid_argument);
  CHECK(other.message() == "a tensor of float32 3 is viewed as float64");
  Tensor reading = Tensor::borrow_const(values, {3}).value();
  CHECK(reading.view<float>().ok());
  CHECK_THAT(reading.mutable_view<float>().status().message(), Catch::Contains("read-only"));
  const Tensor blocked =
      Tensor::create(DataType::float32, {1, 3, 2, 2}, default_allocator(), Layout::nchw8c).value();
  CHECK_THAT(blocked.view<float>().status().message(), Catch::Contains("nchw8c"));
}
