// Which sizes of a model's inputs need not be given.
#include "open_sizes.h"

#include <catch2/catch.hpp>

using namespace softneuro;
using namespace softneuro::tool;
using Catch::Matchers::Contains;

namespace {

TensorInfo input(const char* name, std::vector<Dim> dims) {
  return {.name = name, .type = DataType::float32, .shape = DynamicShape(std::move(dims))};
}

}  // namespace

TEST_CASE("open sizes: an open batch alone becomes 1, with or without a symbol") {
  for (const Dim& batch : {Dim("N"), Dim()}) {
    NamedShapes shapes;
    const TensorInfo inputs[] = {input("image", {batch, 3, 8, 8}), input("fixed", {2, 2})};
    const OpenSizes open = complete_shapes(inputs, shapes);
    CHECK(open.missing.empty());
    CHECK_THAT(open.batch, Contains("'image'") && Contains("1 is used"));
    CHECK(shapes == NamedShapes{{"image", Shape{1, 3, 8, 8}}});
  }
}

TEST_CASE("open sizes: a symbol that a given shape binds is that size in the other inputs") {
  NamedShapes shapes{{"ids", Shape{4, 16}}};
  const TensorInfo inputs[] = {input("ids", {Dim("N"), Dim("S")}),
                               input("mask", {Dim("N"), Dim("S")}), input("state", {Dim("N"), 8})};
  const OpenSizes open = complete_shapes(inputs, shapes);
  CHECK(open.missing.empty());
  CHECK(open.batch.empty());
  CHECK(shapes.at("mask") == Shape{4, 16});
  CHECK(shapes.at("state") == Shape{4, 8});
}

TEST_CASE("open sizes: what is open besides the batch is missing, by input and symbol") {
  NamedShapes shapes;
  const TensorInfo inputs[] = {input("ids", {Dim("N"), Dim("S")}),
                               input("plain", {Dim("N"), 8}),
                               {.name = "any", .type = DataType::float32, .shape = DynamicShape()}};
  const OpenSizes open = complete_shapes(inputs, shapes);
  CHECK_THAT(open.missing, Contains("'ids'") && Contains("for S") && !Contains("N, S") &&
                               Contains("'any'") && Contains("its rank") && !Contains("'plain'"));
  CHECK(open.batch.empty());
}

TEST_CASE("open sizes: nothing is open in a model of static shapes") {
  NamedShapes shapes;
  const TensorInfo inputs[] = {input("x", {1, 2}), input("scalar", {})};
  const OpenSizes open = complete_shapes(inputs, shapes);
  CHECK((open.missing + open.batch).empty());
  CHECK(shapes.empty());
}

TEST_CASE(
    "open sizes: a tuned net's inputs are as tuned, but for the symbols that a given shape "
    "binds") {
  const NamedShapes tuned{
      {"ids", Shape{1, 16}}, {"mask", Shape{1, 16}}, {"state", Shape{1, 8}}, {"fixed", Shape{2}}};
  const TensorInfo inputs[] = {input("ids", {Dim("N"), Dim("S")}),
                               input("mask", {Dim("N"), Dim("S")}), input("state", {Dim(), 8}),
                               input("fixed", {2})};
  NamedShapes shapes{{"ids", Shape{4, 32}}};
  complete_shapes_from(tuned, inputs, shapes);
  CHECK(shapes ==
        NamedShapes{{"ids", Shape{4, 32}}, {"mask", Shape{4, 32}}, {"state", Shape{1, 8}}});
}
