// sink_transposes.
#include <catch2/catch.hpp>
#include <functional>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;
const std::vector<std::string> kSink = {"sink_transposes"};
const std::vector<std::string> kSinkAndCancel = {"sink_transposes", "simplify_transposes",
                                                 "remove_no_ops"};

TensorId to_last(GraphBuilder& b, TensorId x) {
  return b.layer("transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
}
TensorId to_first(GraphBuilder& b, TensorId x) {
  return b.layer("transpose", {x}, {{"perm", Ints{0, 3, 1, 2}}});
}

// What is left of a layer on the transposed x[n,3,4,5], a tensor [n,4,5,3].
std::string sunk(const std::function<TensorId(GraphBuilder&, TensorId)>& layer,
                 const std::vector<std::string>& passes = kSink) {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4, 5});
  return outline(after_passes(b.finish({layer(b, to_last(b, x))}), passes, {{"n", 2}}));
}

}  // namespace

TEST_CASE("sink_transposes: past layers of one input") {
  CHECK(sunk([](auto& b, auto t) { return b.unary("relu", t); }) == "unary:relu transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("cast", {t}, {{"to", std::string("float16")}});
        }) == "cast transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("clip", {t, b.scalar(0)});
        }) == "clip transpose");
  for (const std::int64_t axis : {-1, 0, 1, 2})
    CHECK(sunk([axis](auto& b, auto t) {
            return b.layer("softmax", {t}, {{"axis", axis}});
          }) == "softmax transpose");
}

TEST_CASE("sink_transposes: through a chain, to cancel") {
  CHECK(sunk(
            [](auto& b, auto t) {
              return b.unary("exp", to_first(b, b.layer("softmax", {b.unary("relu", t)})));
            },
            kSinkAndCancel) == "unary:relu softmax unary:exp");
}

TEST_CASE("sink_transposes: constants are transposed beforehand") {
  CHECK(sunk([](auto& b, auto t) { return b.binary("mul", t, b.random({3})); }) ==
        "binary:mul transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.binary("sub", b.random({4, 1, 3}), t);
        }) == "binary:sub transpose");
  CHECK(sunk([](auto& b, auto t) { return b.binary("add", t, b.scalar(2)); }) ==
        "binary:add transpose");
}

TEST_CASE("sink_transposes: several transposes become one") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4, 5}), y = b.input("y", {Dim("n"), 3, 4, 5});
  SECTION("addition") {
    const TensorId z = b.binary("add", to_last(b, x), to_last(b, y));
    CHECK(outline(after_passes(b.finish({z}), kSink, {{"n", 2}})) == "binary:add transpose");
  }
  SECTION("concat") {
    const TensorId z =
        b.layer("concat", {to_last(b, x), to_last(b, y)}, {{"axis", std::int64_t{3}}});
    const Graph graph = after_passes(b.finish({z}), kSink, {{"n", 2}});
    REQUIRE(outline(graph) == "concat transpose");
    CHECK(graph.layers()[0].params.integer("axis") == 1);
  }
  SECTION("the same one twice") {
    const TensorId t = to_last(b, x);
    const TensorId z = b.binary("pow", t, t);
    CHECK(outline(after_passes(b.finish({z}), kSink, {{"n", 2}})) == "binary:pow transpose");
  }
  SECTION("concat with a constant") {
    const TensorId u = b.input("u", {2, 3, 4, 5});
    const TensorId z =
        b.layer("concat", {to_last(b, u), b.random({2, 4, 5, 2})}, {{"axis", std::int64_t{-1}}});
    CHECK(outline(after_passes(b.finish({z}), kSink, {{"n", 2}})) == "concat transpose");
  }
  SECTION("where") {
    const TensorId c = b.binary("less", x, y);
    const TensorId z = b.layer("where", {to_last(b, c), to_last(b, x), b.random({3})});
    const Graph graph = after_passes(b.finish({z}), {"sink_transposes"}, {{"n", 2}});
    CHECK(outline(graph) == "binary:less where transpose");
  }
  SECTION("different ones stay") {
    const TensorId u = b.input("u", {Dim("n"), 4, 5, 3});
    const TensorId v = b.layer("transpose", {u}, {{"perm", Ints{0, 1, 2, 3}}});
    const TensorId z = b.binary("add", to_last(b, x), v);
    CHECK(outline(after_passes(b.finish({z}), kSink, {{"n", 2}})) ==
          "transpose transpose binary:add");
  }
  SECTION("beside a tensor that is not transposed") {
    const TensorId u = b.input("u", {Dim("n"), 4, 5, 3});
    const TensorId z = b.binary("add", to_last(b, x), u);
    CHECK(outline(after_passes(b.finish({z}), kSink, {{"n", 2}})) == "transpose binary:add");
  }
}

TEST_CASE("sink_transposes: reductions") {
  const auto mean = [](Ints axes, bool keepdims) {
    return [=](GraphBuilder& b, TensorId t) { return b.reduce("mean", t, axes, keepdims); };
  };
  CHECK(sunk(mean({1, 2}, true)) == "reduce transpose");
  CHECK(sunk(mean({1, 2}, false), kSinkAndCancel) == "reduce");
  CHECK(sunk(mean({-1}, false), kSinkAndCancel) == "reduce");
  CHECK(sunk(mean({0}, false), kSinkAndCancel) == "reduce transpose");
  CHECK(sunk(mean({0, 1, 2, 3}, false), kSinkAndCancel) == "reduce");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("reduce", {t}, {{"op", std::string("max")}});
        }) == "reduce transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("reduce", {t},
                         {{"op", std::string("max")}, {"noop_with_empty_axes", std::int64_t{1}}});
        }) == "transpose reduce");
}

TEST_CASE("sink_transposes: slice and pad") {
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("slice", {t, b.integers({1, -1}), b.integers({3, -3}), b.integers({2, 3}),
                                   b.integers({1, -1})});
        }) == "slice transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("slice", {t, b.integers({0, 1}), b.integers({9, 3})});
        }) == "slice transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("pad", {t, b.integers({0, 1, 2, 0, 0, 3, 0, 1})});
        }) == "pad transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("pad", {t, b.integers({1, 2}), b.scalar(7), b.integers({-1})});
        }) == "pad transpose");
}

TEST_CASE("sink_transposes: cum_prod and center_crop_pad") {
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("cum_prod", {t, b.integers({-1})});
        }) == "cum_prod transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("center_crop_pad", {t, b.integers({2, 3, 7, 2})});
        }) == "center_crop_pad transpose");
  CHECK(sunk([](auto& b, auto t) {
          return b.layer("center_crop_pad", {t, b.integers({7, 2})}, {{"axes", Ints{1, -1}}});
        }) == "center_crop_pad transpose");
}

TEST_CASE("sink_transposes: near misses") {
  CHECK(sunk([](auto& b, auto t) {  // enlarged by broadcasting
          return b.binary("add", b.reduce("mean", t, {1}), b.random({4, 1, 1}));
        }) == "reduce transpose binary:add");
  CHECK(sunk([](auto& b, auto t) {  // a constant of more dimensions
          return b.binary("add", t, b.random({1, 1, 1, 1, 3}));
        }) == "transpose binary:add");
  CHECK(sunk([](auto& b, auto t) {  // another reader
          const TensorId reshaped = b.layer("reshape", {t, b.integers({-1, 4, 5, 3})});
          return b.binary("add", b.unary("exp", t), reshaped);
        }) == "transpose reshape unary:exp binary:add");
  CHECK(sunk([](auto& b, auto t) {  // the order of axes matters
          return b.layer("reshape", {t, b.integers({-1, 20, 3})});
        }) == "transpose reshape");
}

TEST_CASE("sink_transposes: post-ops go along") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 5});
  const TensorId y = b.unary("tanh", b.unary("exp", to_last(b, x)));
  const Graph fused = after_passes(b.finish({y}), {"fuse_post_ops"});
  REQUIRE(outline(fused) == "transpose unary:exp+tanh");
  CHECK(outline(after_passes(fused, kSink)) == "unary:exp+tanh transpose");
}

TEST_CASE("sink_transposes: names, sources and quantisation") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 5});
  const TensorId y = b.unary("relu", to_last(b, x));
  b.graph().tensor(y).quantization = Quantization{true, 3, {1, 2, 3}, {0, 0, 0}};
  const Graph graph = after_passes(b.finish({y}), kSink);
  REQUIRE(outline(graph) == "unary:relu transpose");
  CHECK(graph.layers()[0].name == "unary");
  CHECK(graph.layers()[1].name == "transpose");
  CHECK(graph.tensor(graph.outputs[0]).name == "unary");
  const auto& q = graph.tensor(graph.layers()[0].outputs[0]).quantization;
  REQUIRE(q);
  CHECK(q->axis == 1);
}

TEST_CASE("passes: a block of a ConvNeXt") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 8, 4, 4});
  TensorId y = b.layer("conv2", {x, b.random({8, 1, 3, 3}), b.random({8})},
                       {{"group", std::int64_t{8}}, {"pads", Ints{1, 1, 1, 1}}});
  y = b.layer("layer_norm", {to_last(b, y), b.random({8}), b.random({8})});
  y = b.unary("gelu", b.layer("dense", {y, b.random({8, 16}), b.random({16})}));
  y = to_first(b, b.layer("dense", {y, b.random({16, 8}), b.random({8})}));
  y = b.binary("add", b.binary("mul", b.random({8, 1, 1}), y), x);
  const Graph graph = after_passes(b.finish({y}), {}, {{"n", 2}});
  CHECK(outline(graph) == "conv2 transpose layer_norm dense+gelu dense transpose binary:add");
}

TEST_CASE("passes: layers of images whose channels come last") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 6, 6, 4});
  const auto conv = [&](TensorId t) {
    const TensorId c =
        b.layer("conv2", {to_first(b, t), b.random({4, 4, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
    return b.binary("add", to_last(b, c), b.random({4}));
  };
  TensorId y = b.unary("relu", conv(x));
  y = b.unary("relu", b.binary("add", conv(y), x));
  y = b.reduce("mean", y, {1, 2}, false);
  y = b.layer("dense", {y, b.random({4, 3})});
  const Graph graph = after_passes(b.finish({y}), {}, {{"n", 2}});
  CHECK(outline(graph) == "transpose conv2+relu conv2 transpose binary:add+relu reduce dense");
}
