// depth_to_space, space_to_depth, one_hot, trilu, reverse_sequence.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/one_layer.h"

namespace softneuro::test {
namespace {

constexpr DataType kFloat = DataType::float32;
const Dim kBatch("batch");
using V = std::vector<double>;

Params block(std::int64_t size, std::string mode = "dcr") {
  return params({{"block", size}, {"mode", std::move(mode)}});
}

TEST_CASE("depth_to_space and back", "[movement]") {
  const Tensor x = counting(kFloat, {1, 8, 1, 2});
  CHECK(values_of(run({"depth_to_space", block(2), {x}})[0]) ==
        V{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
  CHECK(values_of(run({"depth_to_space", block(2, "crd"), {x}})[0]) ==
        V{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  const Tensor image = counting(DataType::int16, {2, 3, 4, 6});
  const Params two = params({{"block", std::int64_t{2}}});
  const auto deep = run({"space_to_depth", two, {image}});
  CHECK(deep[0].shape() == Shape{2, 12, 2, 3});
  CHECK(values_of(run({"depth_to_space", block(2), {deep[0]}})[0]) == values_of(image));
  CHECK(values_of(run({"space_to_depth", two, {counting(kFloat, {1, 1, 2, 4})}})[0]) ==
        V{0, 2, 1, 3, 4, 6, 5, 7});
}

TEST_CASE("depth_to_space infers shapes", "[movement]") {
  const auto inferred = [](DynamicShape x, std::int64_t size) {
    return infer("depth_to_space", block(size), {unknown(kFloat, std::move(x))}).str();
  };
  CHECK(inferred({kBatch, 8, 3, Dim()}, 2) == "float32 batchx2x6x?");
  CHECK(inferred(DynamicShape(), 2) == "float32 ?x?x?x?");
  CHECK(inferred({1, 6, 3, 3}, 2).find("not a multiple of 4") != std::string::npos);
  CHECK(inferred({1, 8, 3, 3}, 0).find("block is 0") != std::string::npos);
  CHECK(inferred({1, 8, 3, 3}, INT64_MAX).find("block is") != std::string::npos);
  CHECK(inferred({1, 8, 3}, 2).find("rank") != std::string::npos);
  CHECK(
      infer("space_to_depth", params({{"block", std::int64_t{3}}}), {unknown(kFloat, {1, 1, 6, 4})})
          .str()
          .find("columns") != std::string::npos);
  CHECK_FALSE(
      infer("depth_to_space", block(2, "cdr"), {unknown(kFloat, {1, 4, 1, 1})}).status.ok());
}

TEST_CASE("one_hot", "[movement]") {
  const Tensor off_on = floats({2}, {-1, 1});
  CHECK(values_of(run({"one_hot", {}, {longs({0, -1, 7}), longs(Shape{}, {3}), off_on}})[0]) ==
        V{1, -1, -1, -1, -1, 1, -1, -1, -1});
  const auto first = run({"one_hot",
                          params({{"axis", std::int64_t{0}}}),
                          {floats({2}, {1, 0}), floats({1}, {2}), longs({0, 5})}});
  CHECK(first[0].data_type() == DataType::int64);
  CHECK(values_of(first[0]) == V{0, 5, 5, 0});
  CHECK(
      values_of(run({"one_hot", {}, {floats({3}, {NAN, 1e30f, -1e30f}), longs({1}), off_on}})[0]) ==
      V{-1, -1, -1});
  CHECK(
      infer("one_hot", {},
            {unknown(DataType::int64, {kBatch}), unknown(DataType::int64, Shape{}), known(off_on)})
          .str() == "float32 batchx?");
  CHECK_FALSE(error_of({"one_hot", {}, {longs({0}), longs({-1}), off_on}}).ok());
  CHECK_FALSE(error_of({"one_hot", {}, {longs({0}), floats({}, {NAN}), off_on}}).ok());
  CHECK_FALSE(error_of({"one_hot", {}, {longs({0}), longs({2}), floats({1}, {1})}}).ok());
  CHECK_FALSE(error_of({"one_hot", {}, {longs({0}), longs({INT64_MAX}), off_on}}).ok());
}

TEST_CASE("trilu", "[movement]") {
  const Tensor x = counting(kFloat, {2, 2, 3});
  const auto part = [&](std::int64_t upper, std::int64_t k) {
    return values_of(run({"trilu", params({{"upper", upper}}), {x, longs(Shape{}, {k})}})[0]);
  };
  CHECK(part(1, 0) == V{0, 1, 2, 0, 4, 5, 6, 7, 8, 0, 10, 11});
  CHECK(part(0, 0) == V{0, 0, 0, 3, 4, 0, 6, 0, 0, 9, 10, 0});
  CHECK(part(1, 2) == V{0, 0, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0});
  CHECK(part(0, -1) == V{0, 0, 0, 3, 0, 0, 0, 0, 0, 9, 0, 0});
  CHECK(part(1, INT64_MIN) == values_of(x));
  CHECK(part(0, INT64_MAX) == values_of(x));
  CHECK(part(1, INT64_MAX) == V(12, 0.0));
  CHECK(part(0, INT64_MIN) == V(12, 0.0));
  CHECK(values_of(run({"trilu", {}, {floats({1, 2}, {5, 6})}})[0]) == V{5, 6});
  CHECK_FALSE(error_of({"trilu", {}, {floats({2}, {5, 6})}}).ok());
  CHECK_FALSE(error_of({"trilu", {}, {x, longs({1, 2})}}).ok());
}

TEST_CASE("reverse_sequence", "[movement]") {
  const Tensor x = counting(kFloat, {3, 2});
  CHECK(values_of(run({"reverse_sequence", {}, {x, longs({2, 3})}})[0]) == V{2, 5, 0, 3, 4, 1});
  const Params batch_first =
      params({{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}});
  CHECK(values_of(run({"reverse_sequence", batch_first, {x, longs({1, 2, 0})}})[0]) ==
        V{0, 1, 3, 2, 4, 5});
  CHECK(error_of({"reverse_sequence", {}, {x, longs({2, 4})}}).message().find("sequence_lens[1]") !=
        std::string::npos);
  CHECK_FALSE(error_of({"reverse_sequence", {}, {x, longs({2, -1})}}).ok());
  CHECK_FALSE(error_of({"reverse_sequence", {}, {x, longs({2})}}).ok());
  CHECK_FALSE(
      error_of({"reverse_sequence", params({{"batch_axis", std::int64_t{0}}}), {x, longs({2, 2})}})
          .ok());
}

}  // namespace
}  // namespace softneuro::test
