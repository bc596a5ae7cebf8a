// What shape inference finds out about dimensions that are known by name only.
#include <catch2/catch.hpp>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;

// The shape of `y` in the finished graph.
std::string shape_of(GraphBuilder& b, TensorId y) {
  return b.finish({y}).tensor(y).shape.str();
}

TensorId index(GraphBuilder& b, std::int64_t value) {
  Tensor tensor = *Tensor::create(DataType::int64, {});
  tensor.mutable_values<std::int64_t>()[0] = value;
  return b.constant(std::move(tensor));
}
// x.shape[axis] as one element of rank 1.
TensorId dim_of(GraphBuilder& b, TensorId x, std::int64_t axis) {
  const TensorId one = b.layer("gather", {b.layer("shape", {x}), index(b, axis)});
  return b.layer("unsqueeze", {one, b.integers({0})});
}
TensorId concat(GraphBuilder& b, std::vector<TensorId> parts) {
  return b.layer("concat", std::move(parts), {{"axis", std::int64_t{0}}});
}

}  // namespace

TEST_CASE("dynamic shapes: a reshape to another tensor's dimensions") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), Dim("t"), 12});
  SECTION("all by name") {
    const TensorId target = concat(b, {dim_of(b, x, 0), dim_of(b, x, 1), b.integers({3, 4})});
    CHECK(shape_of(b, b.layer("reshape", {x, target})) == "nxtx3x4");
  }
  SECTION("the rest inferred") {
    const TensorId target = concat(b, {dim_of(b, x, 0), b.integers({-1, 4})});
    CHECK(shape_of(b, b.layer("reshape", {x, target})) == "nx?x4");
  }
  SECTION("the rest inferred and known") {
    const TensorId target = concat(b, {dim_of(b, x, 1), dim_of(b, x, 0), b.integers({-1})});
    CHECK(shape_of(b, b.layer("reshape", {x, target})) == "txnx12");
  }
  SECTION("0 copies the axis whose name is given elsewhere") {
    const TensorId target = concat(b, {dim_of(b, x, 1), b.integers({0, -1, 2})});
    CHECK(shape_of(b, b.layer("reshape", {x, target})) == "txtx?x2");
  }
  SECTION("arithmetic that keeps the name") {
    const TensorId n = b.binary("mul", dim_of(b, x, 0), b.integers({1}));
    CHECK(shape_of(b, b.layer("reshape", {x, concat(b, {n, b.integers({-1, 12})})})) == "nxtx12");
  }
  SECTION("arithmetic that does not") {
    const TensorId n = b.binary("mul", dim_of(b, x, 0), dim_of(b, x, 1));
    CHECK(shape_of(b, b.layer("reshape", {x, concat(b, {n, b.integers({12})})})) == "?x12");
  }
  SECTION("a slice of the shape") {
    const TensorId front =
        b.layer("slice", {b.layer("shape", {x}), b.integers({0}), b.integers({2})});
    CHECK(shape_of(b, b.layer("reshape", {x, concat(b, {front, b.integers({2, 6})})})) ==
          "nxtx2x6");
  }
}

TEST_CASE("dynamic shapes: expand as PyTorch exports it") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 5});
  const TensorId token = b.random({1, 1, 8});
  // where(target == −1, 1, target) with target = (n, −1, −1).
  const TensorId target = concat(b, {dim_of(b, x, 0), b.integers({-1, -1})});
  const TensorId ones = b.layer("fill", {b.integers({3}), b.integers({1})});
  const TensorId minus = b.binary("mul", ones, b.integers({-1}));
  const TensorId shape = b.layer("where", {b.binary("equal", target, minus), ones, target});
  CHECK(shape_of(b, b.layer("expand", {token, shape})) == "nx1x8");
}

TEST_CASE("dynamic shapes: fill, tile and range") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 5});
  SECTION("fill") {
    const TensorId target = concat(b, {dim_of(b, x, 0), b.integers({7})});
    CHECK(shape_of(b, b.layer("fill", {target, b.reals({1}, {0})})) == "nx7");
  }
  SECTION("tile") {
    const TensorId repeats = concat(b, {dim_of(b, x, 0), b.integers({2})});
    CHECK(shape_of(b, b.layer("tile", {b.random({1, 3}), repeats})) == "nx6");
  }
  SECTION("range") {
    const TensorId n = b.layer("gather", {b.layer("shape", {x}), index(b, 0)});
    CHECK(shape_of(b, b.layer("range", {index(b, 0), n, index(b, 1)})) == "n");
  }
  SECTION("range from another start") {
    const TensorId n = b.layer("gather", {b.layer("shape", {x}), index(b, 0)});
    CHECK(shape_of(b, b.layer("range", {index(b, 1), n, index(b, 1)})) == "?");
  }
}

TEST_CASE("dynamic shapes: windows spell out their formula") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 2, Dim("h"), Dim("w")});
  const auto conv = [&](std::int64_t k, std::vector<Params::Entry> params) {
    return b.layer("conv2", {x, b.random({3, 2, k, k})}, params);
  };
  SECTION("a window that keeps the size") {
    CHECK(shape_of(b, conv(3, {{"pads", Ints{1, 1, 1, 1}}})) == "1x3xhxw");
  }
  SECTION("strides") {
    const TensorId p = conv(3, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
    const TensorId q = conv(1, {{"strides", Ints{2, 2}}});
    const TensorId sum = b.binary("add", p, q);
    CHECK(shape_of(b, sum) == "1x3x((h-1)/2+1)x((w-1)/2+1)");
  }
  SECTION("automatic padding") {
    CHECK(shape_of(b, conv(5, {{"auto_pad", std::string("same_upper")},
                               {"strides", Ints{2, 1}}})) == "1x3xceil(h/2)xw");
  }
  SECTION("no padding") {
    CHECK(shape_of(b, conv(3, {})) == "1x3x(h-2)x(w-2)");
  }
  SECTION("pools") {
    CHECK(
        shape_of(b, b.layer("max_pool2", {x}, {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}})) ==
        "1x2x((h-2)/2+1)x((w-2)/2+1)");
  }
  SECTION("ceil_mode") {
    CHECK(shape_of(b, b.layer("max_pool2", {x},
                              {{"kernel", Ints{2, 2}},
                               {"strides", Ints{2, 2}},
                               {"ceil_mode", std::int64_t{1}}})) == "1x2x?x?");
  }
  SECTION("ceil_mode with windows larger than the padded input") {
    const auto rows = [&](std::int64_t kernel, std::int64_t stride) {
      const TensorId five = b.random({1, 1, 5});
      return shape_of(b, b.layer("max_pool1", {five},
                                 {{"kernel", Ints{kernel}},
                                  {"strides", Ints{stride}},
                                  {"ceil_mode", std::int64_t{1}}}));
    };
    CHECK(rows(7, 3) == "1x1x1");
    CHECK(rows(6, 2) == "1x1x1");
    CHECK(rows(4, 3) == "1x1x2");
  }
  SECTION("transposed") {
    CHECK(shape_of(b, b.layer("conv_transpose2", {x, b.random({2, 3, 2, 2})},
                              {{"strides", Ints{2, 2}}})) == "1x3x(h*2)x(w*2)");
  }
}

TEST_CASE("dynamic shapes: formulas do not grow without end") {
  GraphBuilder b;
  TensorId x = b.input("x", {1, 1, Dim("h")});
  for (int i = 0; i < 30; ++i)
    x = b.layer("max_pool1", {x}, {{"kernel", Ints{3}}, {"strides", Ints{2}}});
  CHECK(shape_of(b, x) == "1x1x?");
}

TEST_CASE("dynamic shapes: formulas agree with sizes") {
  // Each window over a named axis, and over a known one.
  for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
    for (std::int64_t stride = 1; stride <= 3; ++stride)
      for (std::int64_t pad = 0; pad < kernel; ++pad) {
        GraphBuilder b;
        const TensorId w = b.random({1, 1, kernel});
        const std::vector<Params::Entry> params = {{"strides", Ints{stride}},
                                                   {"pads", Ints{pad, 0}}};
        const TensorId x = b.input("x", {1, 1, 11}), h = b.input("h", {1, 1, Dim("h")});
        const TensorId known = b.layer("conv1", {x, w}, params);
        const TensorId named = b.layer("conv1", {h, w}, params);
        const Graph graph = b.finish({known, named});
        const std::string symbol = graph.tensor(named).shape[2].symbol;
        const std::int64_t room = pad - kernel;
        const std::int64_t expected = (11 + room) / stride + 1;
        CHECK(graph.tensor(known).shape[2].value == expected);
        if (room + 1 == 0 && stride == 1) CHECK(symbol == "h");
        CHECK_FALSE(symbol.empty());
      }
}

TEST_CASE("infer_shapes can name what is unknown") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim(), 3});
  const TensorId y = b.unary("exp", x);
  const TensorId z = b.layer("nonzero", {y});
  Graph graph = b.finish({z});
  CHECK(graph.tensor(y).shape.str() == "?x3");
  REQUIRE(graph.infer_shapes(/*name_unknown=*/true).ok());
  CHECK(graph.tensor(x).shape.str() == "x.0x3");
  CHECK(graph.tensor(y).shape.str() == "x.0x3");
  CHECK(graph.tensor(z).shape[1].symbol == "nonzero.1");
}

TEST_CASE("passes prove shapes equal by names they give, and take the names away again") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim(), 2, Dim(), Dim()});
  const TensorId y = b.layer("conv2", {x, b.random({2, 2, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
  const Graph graph = after_passes(b.finish({b.binary("add", y, x)}), {}, {{"?", 4}});
  CHECK(outline(graph) == "conv2+add");
  CHECK(graph.tensor(graph.inputs[0]).shape.str() == "?x2x?x?");
}

TEST_CASE("passes: a strided residual block of any image size") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 2, Dim("h"), Dim("w")});
  const auto conv = [&](TensorId t, std::int64_t k, std::int64_t stride) {
    const std::int64_t pad = k / 2;
    return b.layer("conv2", {t, b.random({2, 2, k, k})},
                   {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  };
  const TensorId down = conv(x, 1, 2);
  const TensorId main = conv(b.unary("relu", conv(x, 3, 2)), 3, 1);
  const Graph graph = after_passes(b.finish({b.unary("relu", b.binary("add", main, down))}), {},
                                   {{"n", 2}, {"h", 7}, {"w", 8}});
  CHECK(outline(graph) == "conv2 conv2+relu conv2+add+relu");
}
