// fuse_post_ops, and whole blocks through all passes.
#include <catch2/catch.hpp>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;

TensorId conv(GraphBuilder& b, TensorId x, std::int64_t in, std::int64_t out) {
  return b.layer("conv2", {x, b.random({out, in, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
}
TensorId batch_norm(GraphBuilder& b, TensorId x, std::int64_t c) {
  return b.layer("batch_norm",
                 {x, b.random({c}), b.random({c}), b.random({c}), b.random({c}, 0.5, 1)});
}

std::string fused(GraphBuilder& b, TensorId y) {
  return outline(after_passes(b.finish({y}), {"fuse_post_ops"}, {{"n", 2}}));
}

}  // namespace

TEST_CASE("fuse_post_ops: activations behind many kinds of layers") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  TensorId y = TensorId{};
  std::string type;
  SECTION("conv2") {
    y = conv(b, x, 4, 2);
    type = "conv2";
  }
  SECTION("conv_transpose2") {
    y = b.layer("conv_transpose2", {x, b.random({4, 2, 2, 2})});
    type = "conv_transpose2";
  }
  SECTION("dense") {
    y = b.layer("dense", {x, b.random({6, 3})});
    type = "dense";
  }
  SECTION("matmul") {
    y = b.layer("matmul", {x, x});
    type = "matmul";
  }
  SECTION("max_pool2") {
    y = b.layer("max_pool2", {x}, {{"kernel", Ints{2, 2}}});
    type = "max_pool2";
  }
  SECTION("avg_pool2") {
    y = b.layer("avg_pool2", {x}, {{"kernel", Ints{2, 2}}});
    type = "avg_pool2";
  }
  SECTION("batch_norm") {
    y = batch_norm(b, x, 4);
    type = "batch_norm";
  }
  SECTION("layer_norm") {
    y = b.layer("layer_norm", {x});
    type = "layer_norm";
  }
  SECTION("binary") {
    y = b.binary("add", x, x);
    type = "binary:add";
  }
  SECTION("unary") {
    y = b.unary("exp", x);
    type = "unary:exp";
  }
  y = b.unary("clip", b.unary("tanh", y), -0.5, 0.5);
  CHECK(fused(b, y) == type + "+tanh+clip");
}

TEST_CASE("fuse_post_ops: near misses of activations") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 4, 6, 6});
  SECTION("the layer has another reader") {
    const TensorId c = conv(b, x, 4, 2);
    CHECK(fused(b, b.binary("pow", c, b.unary("sigmoid", c))) == "conv2 unary:sigmoid binary:pow");
  }
  SECTION("the layer makes an output of the graph") {
    const TensorId c = conv(b, x, 4, 2);
    const TensorId y = b.unary("relu", c);
    CHECK(outline(after_passes(b.finish({c, y}), {"fuse_post_ops"})) == "conv2 unary:relu");
  }
  SECTION("the data type changes") {
    CHECK(fused(b, b.unary("is_nan", conv(b, x, 4, 2))) == "conv2 unary:is_nan");
  }
  SECTION("a layer that takes no post-ops") {
    const TensorId t = b.layer("transpose", {x});
    CHECK(fused(b, b.unary("relu", t)) == "transpose unary:relu");
  }
  SECTION("integers") {
    const TensorId i = b.input("i", {3}, DataType::int32);
    CHECK(fused(b, b.unary("abs", b.binary("add", i, i))) == "binary:add unary:abs");
  }
  SECTION("numbers that a float does not hold, in a float64 model") {
    const TensorId d = b.input("d", {3}, DataType::float64);
    const TensorId e = b.unary("exp", d);
    CHECK(fused(b, b.unary("linear", e, 0.1, 0)) == "unary:exp unary:linear");
  }
}

TEST_CASE("fuse_post_ops: numbers that a float holds, in a float64 model") {
  GraphBuilder b;
  const TensorId d = b.input("d", {3}, DataType::float64);
  CHECK(fused(b, b.unary("linear", b.unary("exp", d), 0.5, 0)) == "unary:exp+linear");
}

TEST_CASE("fuse_post_ops: residual additions") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  SECTION("the skip connection on either side, followed by a relu") {
    const TensorId y = b.binary("add", conv(b, b.unary("relu", conv(b, x, 4, 4)), 4, 4), x);
    CHECK(fused(b, b.unary("relu", y)) == "conv2+relu conv2+add+relu");
  }
  SECTION("on the right of an addition it need not be swapped") {
    const Graph graph =
        after_passes(b.finish({b.binary("add", x, conv(b, x, 4, 4))}), {}, {{"n", 2}});
    REQUIRE(outline(graph) == "conv2+add");
    CHECK_FALSE(graph.layers()[0].post_ops[0].swapped);
  }
  SECTION("the convolution on the right of a subtraction") {
    CHECK(fused(b, b.binary("sub", x, conv(b, x, 4, 4))) == "conv2+sub");
  }
  SECTION("two convolutions: the later one takes the other in") {
    const TensorId down = b.layer("conv2", {x, b.random({4, 4, 1, 1})});
    const TensorId main = conv(b, b.unary("relu", conv(b, x, 4, 4)), 4, 4);
    CHECK(fused(b, b.unary("relu", b.binary("add", main, down))) ==
          "conv2 conv2+relu conv2+add+relu");
  }
  SECTION("dense") {
    const TensorId t = b.input("t", {Dim("n"), 5});
    CHECK(fused(b, b.binary("add", t, b.layer("dense", {t, b.random({5, 5})}))) == "dense+add");
  }
  SECTION("a product of gates") {
    const TensorId t = b.input("t", {Dim("n"), 5});
    CHECK(fused(b, b.binary("mul", b.layer("dense", {t, b.random({5, 5})}), t)) == "dense+mul");
  }
}

TEST_CASE("fuse_post_ops: near misses of residual additions") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  SECTION("the same tensor twice") {
    const TensorId c = conv(b, x, 4, 4);
    CHECK(fused(b, b.binary("mul", c, c)) == "conv2 binary:mul");
  }
  SECTION("a tensor that is broadcast") {
    const TensorId r = b.input("r", {4, 1, 1});
    CHECK(fused(b, b.binary("add", conv(b, x, 4, 4), r)) == "conv2 binary:add");
  }
  SECTION("the convolution is broadcast") {
    const TensorId r = b.input("r", {2, 4, 6, 6});
    const TensorId c = b.layer("conv2", {b.input("z", {1, 4, 6, 6}), b.random({4, 4, 1, 1})});
    CHECK(fused(b, b.binary("add", c, r)) == "conv2 binary:add");
  }
  SECTION("shapes that need not be the same") {
    const TensorId r = b.input("r", {Dim("m"), 4, 6, 6});
    const TensorId y = b.binary("add", conv(b, x, 4, 4), r);
    CHECK(outline(after_passes(b.finish({y}), {"fuse_post_ops"}, {{"n", 2}, {"m", 2}})) ==
          "conv2 binary:add");
  }
  SECTION("a comparison") {
    CHECK(fused(b, b.binary("less", conv(b, x, 4, 4), x)) == "conv2 binary:less");
  }
}

TEST_CASE("fuse_post_ops: slopes of a prelu") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  const TensorId c = conv(b, x, 4, 3);
  SECTION("per channel") {
    CHECK(fused(b, b.binary("prelu", c, b.random({3, 1, 1}))) == "conv2+prelu");
  }
  SECTION("slopes that the convolution makes") {
    CHECK(fused(b, b.binary("prelu", b.random({3, 1, 1}), c)) == "conv2 binary:prelu");
  }
}

TEST_CASE("fuse_post_ops: operands of one chain keep apart") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  const TensorId r = b.input("r", {Dim("n"), 4, 6, 6});
  TensorId y = b.binary("add", conv(b, x, 4, 4), x);
  y = b.binary("sub", r, b.unary("relu", y));
  y = b.binary("mul", y, b.random({4, 1, 1}));
  const Graph graph = after_passes(b.finish({y}), {"fuse_post_ops"}, {{"n", 2}});
  REQUIRE(outline(graph) == "conv2+add+relu+sub+mul");
  const Layer& layer = graph.layers()[0];
  CHECK(layer.layer_inputs == 2);
  CHECK(layer.inputs.size() == 5);
  CHECK(layer.post_ops[2].swapped);
  CHECK(layer.sources.size() == 5);
}

TEST_CASE("fuse_post_ops: the fused layer keeps its name and makes the last tensor") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 4, 6, 6});
  const TensorId y = b.unary("relu", conv(b, x, 4, 4));
  b.graph().tensor(y).quantization = Quantization{true, -1, {0.5f}, {1}};
  const TensorId z = b.layer("transpose", {y});
  const Graph graph = after_passes(b.finish({z}), {"fuse_post_ops"});
  const Layer& layer = graph.layers()[0];
  CHECK(layer.name == "conv2");
  CHECK(graph.tensor(layer.outputs[0]).name == "unary");
  REQUIRE(graph.tensor(layer.outputs[0]).quantization);
  CHECK(graph.find_tensor("conv2") == kNoTensor);
}

// --- whole blocks --------------------------------------------------------------------------------

TEST_CASE("passes: a residual block") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  TensorId y = b.unary("relu", batch_norm(b, conv(b, x, 4, 4), 4));
  y = batch_norm(b, conv(b, y, 4, 4), 4);
  y = b.unary("relu", b.binary("add", y, x));
  const Graph graph = after_passes(b.finish({y}), {}, {{"n", 3}});
  CHECK(outline(graph) == "conv2+relu conv2+add+relu");
}

TEST_CASE("passes: a squeeze-and-excite block with hard swish") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6, 6});
  const auto hard_sigmoid = [&](TensorId t) {
    return b.binary("div", b.unary("clip", b.binary("add", t, b.scalar(3)), 0, 6), b.scalar(6));
  };
  TensorId y = batch_norm(b, conv(b, x, 4, 4), 4);
  y = b.binary("mul", y, hard_sigmoid(y));
  TensorId s = b.reduce("mean", y, {2, 3});
  s = b.unary("relu", b.layer("conv2", {s, b.random({2, 4, 1, 1}), b.random({2})}));
  s = hard_sigmoid(b.layer("conv2", {s, b.random({4, 2, 1, 1})}));
  const Graph graph = after_passes(b.finish({b.binary("mul", y, s)}), {}, {{"n", 2}});
  CHECK(outline(graph) == "conv2+hard_swish reduce conv2+relu conv2+hard_sigmoid binary:mul");
}

TEST_CASE("passes: a transformer block of symbolic batch") {
  GraphBuilder b;
  const std::int64_t width = 8, heads = 2;
  const TensorId x = b.input("x", {Dim("n"), 5, width});
  const auto dense = [&](TensorId t, std::int64_t in, std::int64_t out) {
    return b.binary("add", b.random({out}), b.layer("matmul", {t, b.random({in, out})}));
  };
  const auto norm = [&](TensorId t) {
    const TensorId d = b.binary("sub", t, b.reduce("mean", t, {-1}));
    const TensorId v = b.reduce("mean", b.binary("pow", d, b.scalar(2)), {-1});
    const TensorId n = b.binary("div", d, b.unary("sqrt", b.binary("add", v, b.scalar(1e-5))));
    return b.binary("add", b.binary("mul", n, b.random({width})), b.random({width}));
  };
  const auto split = [&](TensorId t, const Ints& perm) {
    const TensorId r = b.layer("reshape", {t, b.integers({0, 5, heads, width / heads})});
    return b.layer("transpose", {r}, {{"perm", perm}});
  };
  TensorId t = norm(x);
  const TensorId q = split(dense(t, width, width), {0, 2, 1, 3});
  const TensorId k = split(dense(t, width, width), {0, 2, 3, 1});
  const TensorId v = split(dense(t, width, width), {0, 2, 1, 3});
  TensorId a = b.binary("div", b.layer("matmul", {q, k}), b.scalar(2));
  a = b.layer("matmul", {b.layer("softmax", {a}), v});
  a = b.layer("transpose", {a}, {{"perm", Ints{0, 2, 1, 3}}});
  a = b.layer("reshape", {a, b.integers({0, 5, width})});
  const TensorId h = b.binary("add", dense(a, width, width), x);
  TensorId f = dense(norm(h), width, 16);
  const TensorId e = b.unary("erf", b.binary("div", f, b.scalar(1.4142135623730951)));
  f = b.binary("mul", b.binary("mul", f, b.binary("add", e, b.scalar(1))), b.scalar(0.5));
  const TensorId y = b.binary("add", dense(f, 16, width), h);
  const Graph graph = after_passes(b.finish({y}), {}, {{"n", 2}});
  CHECK(outline(graph) ==
        "layer_norm dense reshape transpose dense reshape transpose dense reshape transpose "
        "matmul+linear softmax matmul transpose reshape dense+add layer_norm dense+gelu dense+add");
}
