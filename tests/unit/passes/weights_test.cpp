// matmul_to_dense, fold_transpose_into_matmul, fold_batch_norm, fold_affine, fold_pad.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;
const std::int64_t kOne = 1;

}  // namespace

// --- matmul_to_dense ---------------------------------------------------------------------------

TEST_CASE("matmul_to_dense: a constant matrix on the right") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4});
  TensorId y = TensorId{};
  std::string expected = "dense";
  SECTION("plain") {
    y = b.layer("matmul", {x, b.random({4, 5})});
  }
  SECTION("transposed") {
    y = b.layer("matmul", {x, b.random({5, 4})}, {{"transpose_b", kOne}});
  }
  SECTION("leading ones") {
    y = b.layer("matmul", {x, b.random({1, 4, 5})});
  }
  SECTION("not a matrix") {
    y = b.layer("matmul", {x, b.random({4})});
    expected = "matmul";
  }
  SECTION("leading ones that enlarge the result") {
    y = b.layer("matmul", {x, b.random({1, 1, 4, 5})});
    expected = "matmul";
  }
  SECTION("a batch of matrices") {
    y = b.layer("matmul", {x, b.random({2, 4, 5})});
    expected = "matmul";
  }
  SECTION("the left side transposed") {
    y = b.layer("matmul", {x, b.random({3, 5})}, {{"transpose_a", kOne}});
    expected = "matmul";
  }
  SECTION("constant on the left") {
    y = b.layer("matmul", {b.random({5, 3}), x});
    expected = "matmul";
  }
  CHECK(outline(after_passes(b.finish({y}), {"matmul_to_dense"}, {{"n", 2}})) == expected);
}

TEST_CASE("matmul_to_dense: a vector on the left, and post-ops") {
  GraphBuilder b;
  const TensorId x = b.input("x", {4});
  const TensorId r = b.input("r", {5});
  const TensorId y = b.binary("add", b.layer("matmul", {x, b.random({4, 5})}), r);
  const Graph graph = after_passes(b.finish({y}), {"fuse_post_ops", "matmul_to_dense"});
  CHECK(outline(graph) == "dense+add");
}

TEST_CASE("matmul_to_dense: integers stay") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 4}, DataType::int32);
  const TensorId w = b.random({4, 5}, -3, 3, DataType::int32);
  CHECK(outline(after_passes(b.finish({b.layer("matmul", {x, w})}), {"matmul_to_dense"})) ==
        "matmul");
}

// --- fold_transpose_into_matmul ----------------------------------------------------------------

TEST_CASE("fold_transpose_into_matmul: either side") {
  GraphBuilder b;
  const TensorId p = b.input("p", {Dim("n"), 4, 3});
  const TensorId q = b.input("q", {Dim("n"), 5, 4});
  const auto swapped = [&](TensorId x) {
    return b.layer("transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  };
  const TensorId y = b.layer("matmul", {swapped(p), swapped(q)});
  const Graph graph = after_passes(b.finish({y}), {"fold_transpose_into_matmul"}, {{"n", 2}});
  REQUIRE(outline(graph) == "matmul");
  CHECK(graph.layers()[0].params.integer("transpose_a") == 1);
  CHECK(graph.layers()[0].params.integer("transpose_b") == 1);
}

TEST_CASE("fold_transpose_into_matmul: two transposes cancel") {
  GraphBuilder b;
  const TensorId p = b.input("p", {3, 4}), q = b.input("q", {4, 5});
  const TensorId y = b.layer("matmul", {p, b.layer("transpose", {q})}, {{"transpose_b", kOne}});
  const Graph graph = after_passes(b.finish({y}), {"fold_transpose_into_matmul"});
  REQUIRE(outline(graph) == "matmul");
  CHECK(graph.layers()[0].params.integer("transpose_b") == 0);
}

TEST_CASE("fold_transpose_into_matmul: near misses") {
  GraphBuilder b;
  const TensorId p = b.input("p", {2, 3, 3}), q = b.input("q", {3, 2, 3});
  SECTION("other axes") {
    const TensorId t = b.layer("transpose", {q}, {{"perm", Ints{1, 0, 2}}});
    CHECK(outline(after_passes(b.finish({b.layer("matmul", {p, t})}),
                               {"fold_transpose_into_matmul"})) == "transpose matmul");
  }
  SECTION("the transpose has another reader") {
    const TensorId t = b.layer("transpose", {p}, {{"perm", Ints{0, 2, 1}}});
    const TensorId y = b.layer("matmul", {p, t});
    CHECK(outline(after_passes(b.finish({y, t}), {"fold_transpose_into_matmul"})) ==
          "transpose matmul");
  }
}

// --- fold_batch_norm ---------------------------------------------------------------------------

namespace {

TensorId batch_norm(GraphBuilder& b, TensorId x, std::int64_t channels,
                    DataType type = DataType::float32) {
  return b.layer("batch_norm",
                 {x, b.random({channels}, -2, 2, type), b.random({channels}, -1, 1, type),
                  b.random({channels}, -1, 1, type), b.random({channels}, 0.2, 2, type)},
                 {{"epsilon", 1e-3}});
}

std::string folded(GraphBuilder& b, TensorId y, const char* pass = "fold_batch_norm") {
  return outline(after_passes(b.finish({y}), {pass}, {{"n", 2}}));
}

}  // namespace

TEST_CASE("fold_batch_norm: behind layers with weights") {
  GraphBuilder b;
  SECTION("conv2 with groups and a bias") {
    const TensorId x = b.input("x", {Dim("n"), 4, 5, 5});
    const TensorId y = b.layer("conv2", {x, b.random({6, 2, 3, 3}), b.random({6})},
                               {{"group", std::int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}});
    CHECK(folded(b, batch_norm(b, y, 6)) == "conv2");
  }
  SECTION("conv1 without bias") {
    const TensorId x = b.input("x", {Dim("n"), 3, 7});
    CHECK(folded(b, batch_norm(b, b.layer("conv1", {x, b.random({4, 3, 2})}), 4)) == "conv1");
  }
  SECTION("conv3, depthwise") {
    const TensorId x = b.input("x", {1, 3, 3, 4, 5});
    const TensorId y =
        b.layer("conv3", {x, b.random({3, 1, 2, 2, 2})}, {{"group", std::int64_t{3}}});
    CHECK(folded(b, batch_norm(b, y, 3)) == "conv3");
  }
  SECTION("conv_transpose2 with groups") {
    const TensorId x = b.input("x", {Dim("n"), 4, 3, 3});
    const TensorId y = b.layer("conv_transpose2", {x, b.random({4, 3, 3, 2}), b.random({6})},
                               {{"group", std::int64_t{2}}, {"strides", Ints{2, 2}}});
    CHECK(folded(b, batch_norm(b, y, 6)) == "conv_transpose2");
  }
  SECTION("dense") {
    const TensorId x = b.input("x", {Dim("n"), 4});
    CHECK(folded(b, batch_norm(b, b.layer("dense", {x, b.random({4, 5})}), 5)) == "dense");
  }
  SECTION("dense with transposed weights") {
    const TensorId x = b.input("x", {Dim("n"), 4});
    const TensorId y =
        b.layer("dense", {x, b.random({5, 4}), b.random({5})}, {{"transpose_weights", kOne}});
    CHECK(folded(b, batch_norm(b, y, 5)) == "dense");
  }
  SECTION("float16") {
    const TensorId x = b.input("x", {2, 3, 4, 4}, DataType::float16);
    const TensorId y = b.layer("conv2", {x, b.random({2, 3, 1, 1}, -1, 1, DataType::float16)});
    CHECK(folded(b, batch_norm(b, y, 2, DataType::float16)) == "conv2");
  }
}

TEST_CASE("fold_batch_norm: before layers with weights") {
  GraphBuilder b;
  SECTION("conv2 with groups") {
    const TensorId x = batch_norm(b, b.input("x", {Dim("n"), 4, 5, 5}), 4);
    CHECK(folded(b, b.layer("conv2", {x, b.random({6, 2, 3, 3})},
                            {{"group", std::int64_t{2}}, {"strides", Ints{2, 1}}})) == "conv2");
  }
  SECTION("dense") {
    const TensorId x = batch_norm(b, b.input("x", {Dim("n"), 4}), 4);
    CHECK(folded(b, b.layer("dense", {x, b.random({4, 5}), b.random({5})})) == "dense");
  }
  SECTION("with padding it stays") {
    const TensorId x = batch_norm(b, b.input("x", {1, 4, 5, 5}), 4);
    CHECK(folded(b, b.layer("conv2", {x, b.random({6, 4, 3, 3})}, {{"pads", Ints{0, 0, 0, 1}}})) ==
          "batch_norm conv2");
  }
  SECTION("automatic padding too") {
    const TensorId x = batch_norm(b, b.input("x", {1, 4, 5, 5}), 4);
    CHECK(folded(b, b.layer("conv2", {x, b.random({6, 4, 3, 3})},
                            {{"auto_pad", std::string("same_upper")}})) == "batch_norm conv2");
  }
  SECTION("a transposed convolution sees its borders less often") {
    const TensorId x = batch_norm(b, b.input("x", {1, 4, 5, 5}), 4);
    CHECK(folded(b, b.layer("conv_transpose2", {x, b.random({4, 2, 3, 3})})) ==
          "batch_norm conv_transpose2");
  }
}

TEST_CASE("fold_batch_norm: near misses") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3, 4, 4});
  SECTION("the convolution has another reader") {
    const TensorId c = b.layer("conv2", {x, b.random({3, 3, 1, 1})});
    const TensorId y = batch_norm(b, c, 3);
    CHECK(outline(after_passes(b.finish({y, c}), {"fold_batch_norm"})) == "conv2 batch_norm");
  }
  SECTION("weights are not constant") {
    const TensorId w = b.input("w", {3, 3, 1, 1});
    CHECK(folded(b, batch_norm(b, b.layer("conv2", {x, w}), 3)) == "conv2 batch_norm");
  }
  SECTION("the bias is not constant") {
    const TensorId bias = b.input("b", {3});
    CHECK(folded(b, batch_norm(b, b.layer("conv2", {x, b.random({3, 3, 1, 1}), bias}), 3)) ==
          "conv2 batch_norm");
  }
  SECTION("a dense layer's features are not axis 1") {
    const TensorId z = b.input("z", {2, 5, 4});
    CHECK(folded(b, batch_norm(b, b.layer("dense", {z, b.random({4, 5})}), 5)) ==
          "dense batch_norm");
  }
  SECTION("an activation between") {
    const TensorId c = b.unary("relu", b.layer("conv2", {x, b.random({3, 3, 1, 1})}));
    CHECK(folded(b, batch_norm(b, c, 3)) == "conv2 unary:relu batch_norm");
  }
  SECTION("results that float16 cannot hold") {
    const TensorId z = b.input("z", {1, 1, 2, 2}, DataType::float16);
    const TensorId c = b.layer("conv2", {z, b.random({1, 1, 1, 1}, 40, 41, DataType::float16)});
    const auto h = [&](double v) { return b.reals({1}, {v}, DataType::float16); };
    Graph graph = b.finish({b.layer("batch_norm", {c, h(60000), h(0), h(0), h(1)})});
    PassOptions options;
    PassContext context{builtin_registry(), options};
    for (const Pass& pass : all_passes())
      if (std::string(pass.name) == "fold_batch_norm") REQUIRE(pass.run(graph, context).ok());
    CHECK(outline(graph) == "conv2 batch_norm");
  }
}

TEST_CASE("fold_batch_norm: post-ops of the norm move to the convolution") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 4});
  const TensorId y =
      b.unary("relu", batch_norm(b, b.layer("conv2", {x, b.random({2, 3, 1, 1})}), 2));
  const Graph fused = after_passes(b.finish({y}), {"fuse_post_ops"});
  REQUIRE(outline(fused) == "conv2 batch_norm+relu");
  CHECK(outline(after_passes(fused, {"fold_batch_norm"})) == "conv2+relu");
}

TEST_CASE("fold_batch_norm: weights that two layers share are not changed for the other") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 4});
  const TensorId w = b.random({2, 3, 1, 1});
  const TensorId p = batch_norm(b, b.layer("conv2", {x, w}), 2);
  const TensorId q = b.layer("conv2", {x, w});
  CHECK(folded(b, b.binary("add", p, q)) == "conv2 conv2 binary:add");
}

TEST_CASE("fold_batch_norm: per-channel quantisation of weights follows") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 4});
  const TensorId w = b.random({2, 3, 1, 1});
  b.graph().tensor(w).quantization = Quantization{true, 0, {0.01f, 0.02f}, {0, 0}};
  const TensorId one = b.reals({2}, {1, 1}), zero = b.reals({2}, {0, 0});
  const TensorId y =
      b.layer("batch_norm", {b.layer("conv2", {x, w}), b.reals({2}, {2, -3}), zero, zero, one},
              {{"epsilon", 0.0}});
  const Graph graph = after_passes(b.finish({y}), {"fold_batch_norm"});
  const auto& q = graph.tensor(graph.layers()[0].inputs[1]).quantization;
  REQUIRE(q);
  CHECK(q->scales[0] == Approx(0.02f));
  CHECK(q->scales[1] == Approx(0.06f));
}

// --- fold_affine -------------------------------------------------------------------------------

TEST_CASE("fold_affine: per-channel arithmetic behind a convolution") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4, 4});
  const TensorId y = b.layer("conv2", {x, b.random({2, 3, 1, 1})});
  TensorId z = TensorId{};
  SECTION("add") {
    z = b.binary("add", y, b.random({2, 1, 1}));
  }
  SECTION("add, the constant first") {
    z = b.binary("add", b.random({1, 2, 1, 1}), y);
  }
  SECTION("sub") {
    z = b.binary("sub", y, b.random({2, 1, 1}));
  }
  SECTION("sub from a constant") {
    z = b.binary("sub", b.random({2, 1, 1}), y);
  }
  SECTION("mul") {
    z = b.binary("mul", y, b.random({2, 1, 1}));
  }
  SECTION("div") {
    z = b.binary("div", y, b.random({2, 1, 1}, 0.5, 1));
  }
  SECTION("one number for all") {
    z = b.binary("mul", y, b.reals({1}, {3}));
  }
  SECTION("linear") {
    z = b.unary("linear", y, 2, 3);
  }
  SECTION("neg") {
    z = b.unary("neg", y);
  }
  SECTION("several") {
    z = b.binary("add", b.binary("mul", y, b.random({2, 1, 1})), b.random({2, 1, 1}));
  }
  CHECK(folded(b, z, "fold_affine") == "conv2");
}

TEST_CASE("fold_affine: dense and transposed convolution") {
  GraphBuilder b;
  SECTION("dense") {
    const TensorId x = b.input("x", {Dim("n"), 3, 4});
    const TensorId y = b.layer("dense", {x, b.random({4, 5})});
    CHECK(folded(b, b.binary("add", y, b.random({5})), "fold_affine") == "dense");
  }
  SECTION("dense, a bias that is there") {
    const TensorId x = b.input("x", {Dim("n"), 4});
    const TensorId y = b.layer("dense", {x, b.random({4, 5}), b.random({5})});
    CHECK(folded(b, b.binary("sub", b.random({1, 5}), y), "fold_affine") == "dense");
  }
  SECTION("conv_transpose1") {
    const TensorId x = b.input("x", {Dim("n"), 3, 4});
    const TensorId y = b.layer("conv_transpose1", {x, b.random({3, 2, 3})});
    CHECK(folded(b, b.binary("mul", y, b.random({2, 1})), "fold_affine") == "conv_transpose1");
  }
}

TEST_CASE("fold_affine: near misses") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 4, 4});
  const TensorId y = b.layer("conv2", {x, b.random({4, 3, 1, 1})});
  const std::string stays = "conv2 binary:";
  SECTION("along another axis") {
    CHECK(folded(b, b.binary("add", y, b.random({4})), "fold_affine") == stays + "add");
  }
  SECTION("enlarges the result") {
    CHECK(folded(b, b.binary("add", y, b.random({2, 4, 1, 1})), "fold_affine") == stays + "add");
  }
  SECTION("adds a dimension") {
    CHECK(folded(b, b.binary("add", y, b.random({1, 1, 4, 1, 1})), "fold_affine") == stays + "add");
  }
  SECTION("a constant divided by it") {
    CHECK(folded(b, b.binary("div", b.random({4, 1, 1}), y), "fold_affine") == stays + "div");
  }
  SECTION("division by zero") {
    CHECK(folded(b, b.binary("div", y, b.reals({4, 1, 1}, {1, 0, 1, 1})), "fold_affine") ==
          stays + "div");
  }
  SECTION("not constant") {
    CHECK(folded(b, b.binary("add", y, b.input("z", {4, 1, 1})), "fold_affine") == stays + "add");
  }
  SECTION("another reader") {
    const TensorId z = b.binary("add", y, b.random({4, 1, 1}));
    CHECK(outline(after_passes(b.finish({z, y}), {"fold_affine"})) == stays + "add");
  }
}

TEST_CASE("fold_affine: before a layer with weights") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 5, 5});
  const Params::Entry pads = {"pads", Ints{1, 1, 1, 1}};
  std::string expected;
  TensorId y = TensorId{};
  SECTION("pixels brought to mean 0 and deviation 1") {
    const TensorId z =
        b.binary("div", b.binary("sub", x, b.random({1, 3, 1, 1})), b.random({3, 1, 1}, 0.5, 1));
    y = b.layer("conv2", {z, b.random({2, 3, 3, 3}), b.random({2})});
    expected = "conv2";
  }
  SECTION("only the factor, where there is padding") {
    const TensorId z = b.unary("linear", b.unary("linear", x, 1, 2), 0.25, 0);
    y = b.layer("conv2", {z, b.random({2, 3, 3, 3})}, {pads});
    expected = "unary:linear conv2";
  }
  SECTION("groups") {
    const TensorId z = b.binary("mul", b.random({3, 1, 1}), x);
    y = b.layer("conv2", {z, b.random({6, 1, 3, 3})}, {pads, {"group", std::int64_t{3}}});
    expected = "conv2";
  }
  SECTION("a transposed convolution takes factors") {
    const TensorId z = b.binary("mul", x, b.random({3, 1, 1}));
    y = b.layer("conv_transpose2", {z, b.random({3, 2, 3, 3})});
    expected = "conv_transpose2";
  }
  SECTION("but no shifts") {
    const TensorId z = b.binary("add", x, b.random({3, 1, 1}));
    y = b.layer("conv_transpose2", {z, b.random({3, 2, 3, 3})});
    expected = "binary:add conv_transpose2";
  }
  SECTION("dense") {
    const TensorId z = b.binary("sub", b.random({5}), x);
    y = b.layer("dense", {z, b.random({5, 4})});
    expected = "dense";
  }
  SECTION("not per channel") {
    const TensorId z = b.binary("mul", x, b.random({5}));
    y = b.layer("conv2", {z, b.random({2, 3, 3, 3})});
    expected = "binary:mul conv2";
  }
  SECTION("a second reader") {
    const TensorId z = b.unary("linear", x, 2, 0);
    const TensorId convolved = b.layer("conv2", {z, b.random({1, 3, 1, 1})});
    y = b.binary("pow", b.unary("exp", z), convolved);
    expected = "unary:linear conv2 unary:exp binary:pow";
  }
  CHECK(folded(b, y, "fold_affine") == expected);
}

// --- raise_scales ------------------------------------------------------------------------------

TEST_CASE("raise_scales: to the weights behind a reshape") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 4, 6}), k = b.input("k", {Dim("n"), 2, 3, 4});
  const TensorId dense = b.layer("dense", {x, b.random({6, 6}), b.random({6})});
  const TensorId wide = b.layer("reshape", {dense, b.integers({0, 0, 2, 3})});
  const auto passes = [&](TensorId q, std::vector<std::string> names) {
    return outline(after_passes(b.finish({b.layer("matmul", {q, k})}), names, {{"n", 2}}));
  };
  const auto heads = [&](TensorId y) {
    return b.layer("transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  };
  SECTION("before the transpose") {
    const TensorId q = heads(b.binary("div", wide, b.scalar(3)));
    CHECK(passes(q, {"raise_scales"}) == "dense binary:div reshape transpose matmul");
    CHECK(passes(q, {}) == "dense reshape transpose matmul");
  }
  SECTION("behind the transpose") {
    CHECK(passes(b.unary("linear", heads(wide), 0.35, 0), {}) == "dense reshape transpose matmul");
  }
  SECTION("a second reader") {
    const TensorId other = heads(wide);
    const TensorId q = b.binary("mul", b.unary("linear", heads(wide), 0.35, 0), other);
    CHECK(passes(q, {"raise_scales"}) ==
          "dense reshape transpose transpose unary:linear binary:mul matmul");
  }
}

TEST_CASE("raise_scales: a factor stays before a product of two tensors") {
  GraphBuilder b;
  const TensorId p = b.input("p", {Dim("n"), 4, 3}), q = b.input("q", {Dim("n"), 3, 4});
  const TensorId y = b.layer("matmul", {b.unary("linear", p, 0.5, 0), b.unary("neg", q)});
  CHECK(outline(after_passes(b.finish({y}), {}, {{"n", 2}})) == "unary:linear unary:neg matmul");
}

// --- fold_pad ----------------------------------------------------------------------------------

namespace {

TensorId pad2(GraphBuilder& b, TensorId x, TensorId value = kNoTensor,
              std::vector<std::int64_t> pads = {0, 0, 1, 0, 0, 0, 1, 2}) {
  return b.layer("pad", {x, b.integers(pads), value});
}
const std::vector<Params::Entry> kWindow3 = {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}};

std::vector<Params::Entry> window3_with(Params::Entry entry) {
  std::vector<Params::Entry> entries = kWindow3;
  entries.push_back(std::move(entry));
  return entries;
}

}  // namespace

TEST_CASE("fold_pad: into a convolution") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 5, 5});
  const TensorId w = b.random({2, 3, 3, 3});
  std::string expected = "conv2";
  TensorId y = TensorId{};
  SECTION("zeros") {
    y = b.layer("conv2", {pad2(b, x), w});
  }
  SECTION("zeros, given") {
    y = b.layer("conv2", {pad2(b, x, b.scalar(0)), w});
  }
  SECTION("added to its own") {
    y = b.layer("conv2", {pad2(b, x), w}, {{"pads", Ints{1, 2, 1, 0}}});
  }
  SECTION("valid") {
    y = b.layer("conv2", {pad2(b, x), w}, {{"auto_pad", std::string("valid")}});
  }
  SECTION("axes") {
    const TensorId p =
        b.layer("pad", {x, b.integers({1, 0, 2, 1}), kNoTensor, b.integers({-1, 2})});
    y = b.layer("conv2", {p, w});
  }
  SECTION("not zeros") {
    y = b.layer("conv2", {pad2(b, x, b.scalar(1)), w});
    expected = "pad conv2";
  }
  SECTION("reflected") {
    const TensorId p = b.layer("pad", {x, b.integers({0, 0, 1, 1, 0, 0, 1, 1})},
                               {{"mode", std::string("reflect")}});
    y = b.layer("conv2", {p, w});
    expected = "pad conv2";
  }
  SECTION("channels") {
    y = b.layer("conv2", {pad2(b, x, kNoTensor, {0, 1, 0, 0, 0, 0, 0, 0}), b.random({2, 4, 3, 3})});
    expected = "pad conv2";
  }
  SECTION("negative") {
    y = b.layer("conv2", {pad2(b, x, kNoTensor, {0, 0, -1, 0, 0, 0, 0, 0}), w});
    expected = "pad conv2";
  }
  SECTION("more than the kernel reaches") {
    y = b.layer("conv2", {pad2(b, x, kNoTensor, {0, 0, 3, 0, 0, 0, 0, 0}), w});
    expected = "pad conv2";
  }
  SECTION("automatic padding") {
    y = b.layer("conv2", {pad2(b, x), w}, {{"auto_pad", std::string("same_upper")}});
    expected = "pad conv2";
  }
  CHECK(folded(b, y, "fold_pad") == expected);
}

TEST_CASE("fold_pad: into an average pool") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 6, 6});
  std::string expected = "avg_pool2";
  TensorId y = TensorId{};
  SECTION("without padding of its own") {
    y = b.layer("avg_pool2", {pad2(b, x)}, kWindow3);
  }
  SECTION("that counts its padding") {
    auto params = window3_with({"count_include_pad", kOne});
    params.push_back({"pads", Ints{1, 0, 1, 0}});
    y = b.layer("avg_pool2", {pad2(b, x)}, params);
  }
  SECTION("that does not count its padding") {
    y = b.layer("avg_pool2", {pad2(b, x)}, window3_with({"pads", Ints{1, 0, 1, 0}}));
    expected = "pad avg_pool2";
  }
  SECTION("ceil_mode") {
    y = b.layer("avg_pool2", {pad2(b, x)}, window3_with({"ceil_mode", kOne}));
    expected = "pad avg_pool2";
  }
  SECTION("not zeros") {
    y = b.layer("avg_pool2", {pad2(b, x, b.scalar(1))}, kWindow3);
    expected = "pad avg_pool2";
  }
  SECTION("a sum of powers does not see zeros") {
    y = b.layer("lp_pool2", {pad2(b, x)}, kWindow3);
    expected = "lp_pool2";
  }
  CHECK(folded(b, y, "fold_pad") == expected);
}

TEST_CASE("fold_pad: into a maximum pool") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 6, 6});
  std::string expected;
  TensorId y = TensorId{};
  SECTION("minus infinity") {
    y = b.layer("max_pool2", {pad2(b, x, b.scalar(-INFINITY))}, kWindow3);
    expected = "max_pool2";
  }
  SECTION("zeros around what is never negative") {
    y = b.layer("max_pool2", {pad2(b, b.unary("relu", x))}, kWindow3);
    expected = "unary:relu max_pool2";
  }
  SECTION("zeros around anything") {
    y = b.layer("max_pool2", {pad2(b, x)}, kWindow3);
    expected = "pad max_pool2";
  }
  SECTION("zeros, where a dilated window may step over the image") {
    y = b.layer("max_pool2", {pad2(b, b.unary("relu", x))},
                window3_with({"dilations", Ints{2, 2}}));
    expected = "unary:relu pad max_pool2";
  }
  CHECK(folded(b, y, "fold_pad") == expected);
}

TEST_CASE("fold_pad: behind a layer with a relu as post-op") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 6, 6});
  const TensorId c = b.unary("relu", b.layer("conv2", {x, b.random({2, 3, 1, 1})}));
  const TensorId y = b.layer("max_pool2", {pad2(b, c)}, kWindow3);
  CHECK(outline(after_passes(b.finish({y}), {})) == "conv2+relu max_pool2");
}

TEST_CASE("fold_pad: a pad with another reader stays") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 3, 5, 5});
  const TensorId p = pad2(b, x);
  const TensorId y = b.layer("conv2", {p, b.random({2, 3, 3, 3})});
  CHECK(outline(after_passes(b.finish({y, p}), {"fold_pad"})) == "pad conv2");
}
