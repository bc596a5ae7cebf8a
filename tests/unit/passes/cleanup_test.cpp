// remove_dead_layers, fold_constants, remove_no_ops, merge_duplicates, merge_reshapes,
// simplify_transposes.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

std::string text(const char* t) {
  return t;
}

}  // namespace

// --- remove_dead_layers ------------------------------------------------------------------------

TEST_CASE("remove_dead_layers takes whole dead branches and unused constants") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId y = b.unary("exp", x);
  b.unary("sqrt", b.binary("add", y, b.random({3})));
  const Graph graph = after_passes(b.finish({y}), {"remove_dead_layers"});
  CHECK(outline(graph) == "unary:exp");
  CHECK(graph.tensor_count() == 2);
}

TEST_CASE("remove_dead_layers keeps unused graph inputs") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2});
  b.unary("exp", b.input("unused", {3}));
  const Graph graph = after_passes(b.finish({b.unary("abs", x)}), {"remove_dead_layers"});
  CHECK(graph.inputs.size() == 2);
  CHECK(outline(graph) == "unary:abs");
}

TEST_CASE("remove_dead_layers leaves out unused optional outputs") {
  GraphBuilder b;
  const TensorId x = b.input("x", {1, 2, 4, 4});
  const TensorId y = b.layer("max_pool2", {x}, {{"kernel", Ints{2, 2}}});
  TensorDef indices;
  indices.name = "indices";
  b.last().outputs.push_back(b.graph().add_tensor(indices));
  SECTION("unread") {
    const Graph graph = after_passes(b.finish({y}), {"remove_dead_layers"});
    CHECK(graph.layers()[0].outputs.size() == 1);
    CHECK(graph.find_tensor("indices") == kNoTensor);
  }
  SECTION("an output of the graph") {
    const TensorId id = b.last().outputs[1];
    const Graph graph = after_passes(b.finish({y, id}), {"remove_dead_layers"});
    CHECK(graph.layers()[0].outputs.size() == 2);
  }
}

// --- fold_constants ----------------------------------------------------------------------------

TEST_CASE("fold_constants computes layers of constants, in chains") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId w = b.unary("exp", b.layer("transpose", {b.random({3, 4})}));
  const Graph graph =
      after_passes(b.finish({b.layer("dense", {x, w}, {{"transpose_weights", std::int64_t{1}}})}),
                   {"fold_constants"});
  CHECK(outline(graph) == "dense");
  CHECK(graph.tensor(graph.layers()[0].inputs[1]).name == "unary");  // the value kept its name
}

TEST_CASE("fold_constants: an output of the graph may become a constant") {
  GraphBuilder b;
  b.input("x", {2});
  const Graph graph = after_passes(b.finish({b.unary("exp", b.random({2}))}), {"fold_constants"});
  CHECK(graph.layers().empty());
  CHECK(graph.tensor(graph.outputs[0]).is_constant());
}

TEST_CASE("fold_constants folds shape arithmetic though the input is not constant") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4, 5});
  // x.view(shape[1] · shape[2], −1), as exporters write it.
  const TensorId shape = b.layer("shape", {x});
  const auto dim = [&](std::int64_t i) {
    Tensor index = *Tensor::create(DataType::int64, {});
    index.mutable_values<std::int64_t>()[0] = i;
    return b.layer("gather", {shape, b.constant(std::move(index))}, {{"axis", std::int64_t{0}}});
  };
  const TensorId axes = b.integers({0});
  const TensorId product = b.layer("unsqueeze", {b.binary("mul", dim(1), dim(2)), axes});
  const TensorId target =
      b.layer("concat", {product, b.integers({-1})}, {{"axis", std::int64_t{0}}});
  const TensorId y = b.layer("reshape", {x, target});
  const Graph graph =
      after_passes(b.finish({y}), {"fold_constants", "remove_dead_layers"}, {{"n", 2}});
  CHECK(outline(graph) == "reshape");
}

TEST_CASE("fold_constants leaves what depends on an unknown dimension") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3});
  const TensorId y = b.layer("shape", {x});
  const Graph graph = after_passes(b.finish({y}), {"fold_constants"}, {{"n", 2}});
  CHECK(outline(graph) == "shape");
}

TEST_CASE("fold_constants does not blow up small constants") {
  const auto layers_left = [](std::int64_t side) {
    GraphBuilder b;
    const TensorId x = b.input("x", {side, side});
    const TensorId zeros = b.layer("fill", {b.integers({side, side}), b.reals({1}, {0.5})});
    Graph graph = b.finish({b.binary("add", x, zeros)});
    PassOptions options;
    PassContext context{builtin_registry(), options};
    for (const Pass& pass : all_passes())
      if (text(pass.name) == "fold_constants") REQUIRE(pass.run(graph, context).ok());
    return graph.layers().size();
  };
  CHECK(layers_left(16) == 1);
  CHECK(layers_left(1024) == 2);  // 4 MiB out of nothing
}

TEST_CASE("fold_constants folds dequantised constants") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  Tensor q = *Tensor::create(DataType::int8, Shape{3});
  for (int i = 0; i < 3; ++i)
    q.mutable_values<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i);
  const TensorId c = b.layer("dequantize", {b.constant(std::move(q)), b.scalar(0.5)});
  const Graph graph = after_passes(b.finish({b.binary("mul", x, c)}), {"fold_constants"});
  CHECK(outline(graph) == "binary:mul");
}

// --- remove_no_ops -----------------------------------------------------------------------------

namespace {

// What is left of sqrt(abs(x)) with `layer` between the two.
std::string between(const std::function<TensorId(GraphBuilder&, TensorId)>& layer,
                    DynamicShape shape = {Dim("n"), 3, 4}, DataType type = DataType::float32) {
  GraphBuilder b;
  const TensorId x = b.input("x", std::move(shape), type);
  const TensorId y = b.unary("sqrt", layer(b, b.unary("abs", x)));
  const Graph graph = after_passes(b.finish({y}), {"remove_no_ops"}, {{"n", 2}});
  return outline(graph);
}

const std::string kNothing = "unary:abs unary:sqrt";

}  // namespace

TEST_CASE("remove_no_ops: layers that never do anything") {
  CHECK(between([](auto& b, auto x) { return b.layer("identity", {x}); }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("cast", {x}, {{"to", text("float32")}});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("transpose", {x}, {{"perm", Ints{0, 1, 2}}});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("concat", {x}, {{"axis", std::int64_t{1}}});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.layer("clip", {x}); }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.unary("linear", x, 1, 0); }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.unary("clip", x, -INFINITY, INFINITY); }) ==
        kNothing);
}

TEST_CASE("remove_no_ops: where shapes prove it") {
  CHECK(between([](auto& b, auto x) {
          return b.layer("reshape", {x, b.integers({-1, 3, 4})});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("expand", {x, b.integers({1, 3, 4})});
        }) == kNothing);
  CHECK(between(
            [](auto& b, auto x) {
              return b.layer("tile", {x, b.integers({1, 1, 1})});
            },
            {2, 3, 4}) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("slice", {x, b.integers({0}), b.integers({INT64_MAX}), b.integers({1})});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("pad", {x, b.integers({0, 0, 0, 0, 0, 0})});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("max_pool1", {x}, {{"kernel", Ints{1}}});
        }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.layer("center_crop_pad", {x, b.integers({3, 4})}, {{"axes", Ints{1, 2}}});
        }) == kNothing);
}

TEST_CASE("remove_no_ops: near misses stay") {
  const auto stays = [](const std::string& left) { return left != kNothing; };
  CHECK(stays(between([](auto& b, auto x) {
    return b.layer("reshape", {x, b.integers({-1, 4, 3})});
  })));
  CHECK(stays(between(
      [](auto& b, auto x) {
        return b.layer("transpose", {x}, {{"perm", Ints{0, 2, 1}}});
      },
      {2, 3, 3})));
  CHECK(stays(between(
      [](auto& b, auto x) {
        return b.layer(
            "slice", {x, b.integers({-1}), b.integers({-100}), b.integers({1}), b.integers({-1})});
      },
      {2, 3, 4})));
  CHECK(stays(between(
      [](auto& b, auto x) {
        return b.layer("pad", {x, b.integers({0, -1, 0, 0, 1, 0})});
      },
      {2, 3, 4})));
  CHECK(stays(between([](auto& b, auto x) {
    return b.layer("max_pool1", {x}, {{"kernel", Ints{3}}, {"pads", Ints{1, 1}}});
  })));
  CHECK(stays(between([](auto& b, auto x) {
    return b.layer("lp_pool1", {b.unary("neg", x)}, {{"kernel", Ints{1}}});
  })));
  CHECK(stays(between([](auto& b, auto x) {
    return b.layer("center_crop_pad", {x, b.integers({3})}, {{"axes", Ints{-1}}});
  })));
  CHECK(stays(between([](auto& b, auto x) { return b.unary("linear", x, 1, 0.5); })));
  CHECK(stays(between([](auto& b, auto x) { return b.layer("clip", {x, b.scalar(0.5)}); })));
  CHECK(stays(between([](auto& b, auto x) {
    return b.layer("expand", {x, b.integers({2, 2, 3, 4})});
  })));
}

TEST_CASE("remove_no_ops: neutral operands") {
  CHECK(between([](auto& b, auto x) { return b.binary("add", x, b.scalar(0)); }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.binary("add", b.scalar(0), x); }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.binary("sub", x, b.scalar(0)); }) == kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.binary("mul", b.reals({3, 1}, {1, 1, 1}), x);
        }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.binary("div", x, b.scalar(1)); }) == kNothing);
  CHECK(between([](auto& b, auto x) { return b.binary("pow", x, b.scalar(1)); }) == kNothing);
  // Not neutral, or not on that side, or with a shape of its own.
  CHECK(between([](auto& b, auto x) { return b.unary("abs", b.binary("sub", b.scalar(0), x)); }) !=
        kNothing);
  CHECK(between([](auto& b, auto x) { return b.binary("div", b.scalar(1), b.unary("exp", x)); }) !=
        kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.binary("add", x, b.reals({3, 1}, {0, 0, 1}));
        }) != kNothing);
  CHECK(between([](auto& b, auto x) {
          return b.binary("add", x, b.reals({1, 1, 1, 1}, {0}));
        }) != kNothing);
}

TEST_CASE("remove_no_ops: a cast there and back") {
  const auto cast = [](const char* wide) {
    return [wide](GraphBuilder& b, TensorId x) {
      return b.layer("cast", {b.layer("cast", {x}, {{"to", text(wide)}})},
                     {{"to", text("float16")}});
    };
  };
  CHECK(between(cast("float32"), {2, 3}, DataType::float16) == "unary:abs cast unary:sqrt");
  CHECK(between(cast("bfloat16"), {2, 3}, DataType::float16) == "unary:abs cast cast unary:sqrt");
}

TEST_CASE("remove_no_ops keeps the names of graph outputs") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  SECTION("behind a layer: that one makes the output") {
    const TensorId t = b.unary("exp", x);
    const TensorId side = b.unary("abs", t);
    const TensorId y = b.layer("identity", {t});
    const Graph graph = after_passes(b.finish({y, side}), {"remove_no_ops"});
    CHECK(outline(graph) == "unary:exp unary:abs");
    CHECK(graph.tensor(graph.layers()[0].outputs[0]).name == "identity");
  }
  SECTION("behind a graph input: it stays") {
    const Graph graph = after_passes(b.finish({b.layer("identity", {x})}), {"remove_no_ops"});
    CHECK(outline(graph) == "identity");
  }
  SECTION("behind another output: it stays") {
    const TensorId t = b.unary("exp", x);
    const Graph graph = after_passes(b.finish({t, b.layer("identity", {t})}), {"remove_no_ops"});
    CHECK(outline(graph) == "unary:exp identity");
  }
}

TEST_CASE("remove_no_ops: quantisation goes along, and contradictions stop it") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId t = b.unary("exp", x);
  const TensorId i = b.layer("identity", {t});
  const TensorId y = b.unary("abs", i);
  b.graph().tensor(i).quantization = Quantization{true, -1, {0.5f}, {3}};
  SECTION("along") {
    const Graph graph = after_passes(b.finish({y}), {"remove_no_ops"});
    CHECK(outline(graph) == "unary:exp unary:abs");
    REQUIRE(graph.tensor(graph.layers()[0].outputs[0]).quantization);
    CHECK(graph.tensor(graph.layers()[0].outputs[0]).quantization->zero_points[0] == 3);
  }
  SECTION("contradiction") {
    b.graph().tensor(t).quantization = Quantization{true, -1, {0.25f}, {3}};
    CHECK(outline(after_passes(b.finish({y}), {"remove_no_ops"})) ==
          "unary:exp identity unary:abs");
  }
}

// --- merge_duplicates --------------------------------------------------------------------------

TEST_CASE("merge_duplicates: equal layers, through chains and equal constants") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId p = b.unary("exp", b.binary("mul", x, b.reals({3}, {1, 2, 3})));
  const TensorId q = b.unary("exp", b.binary("mul", x, b.reals({3}, {1, 2, 3})));
  const Graph graph =
      after_passes(b.finish({b.binary("add", p, b.unary("abs", q))}), {"merge_duplicates"});
  CHECK(outline(graph) == "binary:mul unary:exp unary:abs binary:add");
}

TEST_CASE("merge_duplicates: anything that differs stays") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 2});
  const TensorId parts[] = {b.unary("linear", x, 1, 2),
                            b.unary("linear", x, 1, 2.0000001),
                            b.unary("exp", x),
                            b.layer("transpose", {x}, {{"perm", Ints{1, 0}}}),
                            b.binary("sub", x, b.scalar(1)),
                            b.binary("sub", b.scalar(1), x),
                            b.binary("sub", x, b.reals({1}, {1})),
                            b.layer("cast", {b.layer("cast", {x}, {{"to", text("float64")}})},
                                    {{"to", text("float32")}})};
  TensorId sum = parts[0];
  for (std::size_t i = 1; i < std::size(parts); ++i) sum = b.binary("add", sum, parts[i]);
  const Graph before = b.finish({sum});
  CHECK(after_passes(before, {"merge_duplicates"}).layers().size() == before.layers().size());
}

TEST_CASE("merge_duplicates keeps graph outputs") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId p = b.unary("exp", x), q = b.unary("exp", x), r = b.unary("exp", x);
  const TensorId s = b.unary("abs", p);
  SECTION("one output of three: it stands for all") {
    const Graph graph = after_passes(b.finish({q, b.binary("add", s, r)}), {"merge_duplicates"});
    CHECK(outline(graph) == "unary:exp unary:abs binary:add");
    CHECK(graph.tensor(graph.outputs[0]).name == "unary_1");
  }
  SECTION("two outputs: both stay") {
    const Graph graph = after_passes(b.finish({p, q}), {"merge_duplicates"});
    CHECK(graph.outputs.size() == 2);
    CHECK(graph.outputs[0] != graph.outputs[1]);
  }
}

// --- merge_reshapes ----------------------------------------------------------------------------

TEST_CASE("merge_reshapes: several become one") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4});
  TensorId y = b.layer("unsqueeze", {x, b.integers({2})});
  y = b.layer("reshape", {y, b.integers({0, -1})});
  y = b.layer("flatten", {y}, {{"axis", std::int64_t{1}}});
  y = b.layer("reshape", {y, b.integers({-1, 4, 3})});
  const Graph graph = after_passes(b.finish({b.unary("exp", y)}), {"merge_reshapes"}, {{"n", 2}});
  CHECK(outline(graph) == "reshape unary:exp");
}

TEST_CASE("merge_reshapes: a reshape with another reader stays for that one") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3, 4});
  const TensorId r = b.layer("reshape", {x, b.integers({6, 4})});
  const TensorId y = b.layer("reshape", {r, b.integers({24})});
  const Graph graph = after_passes(b.finish({y, b.unary("exp", r)}), {"merge_reshapes"});
  CHECK(graph.layers().size() == 3);
  CHECK(graph.find_layer("reshape_1")->inputs[0] == graph.inputs[0]);
}

TEST_CASE("merge_reshapes: a shape of no elements") {
  GraphBuilder b;
  const TensorId x = b.input("x", {0, 3});
  TensorId y = b.layer("reshape", {x, b.integers({3, 0})}, {{"allow_zero", std::int64_t{1}}});
  y = b.layer("reshape", {y, b.integers({0, 5})}, {{"allow_zero", std::int64_t{1}}});
  CHECK(outline(after_passes(b.finish({y}), {"merge_reshapes"})) == "reshape");
}

TEST_CASE("merge_reshapes: a shape that is not known stays") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), Dim("m"), 4});
  const TensorId r = b.layer("reshape", {x, b.integers({-1})});
  const TensorId y = b.layer("reshape", {r, b.layer("shape", {x})});
  const Graph graph =
      after_passes(b.finish({y}), {"merge_reshapes"}, {{"n", 2}, {"m", 3}, {"?", 6}});
  CHECK(graph.layers().size() == 3);
}

// --- simplify_transposes -----------------------------------------------------------------------

TEST_CASE("simplify_transposes: two become one, or none") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3, 4, 5});
  const TensorId t = b.layer("transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
  SECTION("one") {
    const TensorId y = b.layer("transpose", {t}, {{"perm", Ints{1, 0, 2, 3}}});
    const Graph graph = after_passes(b.finish({b.unary("exp", y)}), {"simplify_transposes"});
    CHECK(outline(graph) == "transpose unary:exp");
  }
  SECTION("none") {
    const TensorId y = b.layer("transpose", {t}, {{"perm", Ints{0, 3, 1, 2}}});
    const Graph graph =
        after_passes(b.finish({b.unary("exp", y)}), {"simplify_transposes", "remove_no_ops"});
    CHECK(outline(graph) == "unary:exp");
  }
  SECTION("with the default permutation") {
    const TensorId y = b.layer("transpose", {t});
    const Graph graph = after_passes(b.finish({b.unary("exp", y)}), {"simplify_transposes"});
    CHECK(outline(graph) == "transpose unary:exp");
  }
  SECTION("another reader") {
    const TensorId y = b.layer("transpose", {t}, {{"perm", Ints{1, 0, 2, 3}}});
    const Graph graph = after_passes(b.finish({y, b.unary("exp", t)}), {"simplify_transposes"});
    CHECK(outline(graph) == "transpose transpose unary:exp");
  }
}

TEST_CASE("simplify_transposes: past dimensions of 1 it is a reshape") {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 7, 1, 1});
  const TensorId y = b.layer("transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
  CHECK(outline(after_passes(b.finish({b.unary("exp", y)}), {"simplify_transposes"}, {{"n", 2}})) ==
        "reshape unary:exp");
}

TEST_CASE("simplify_transposes: dimensions that may be 1 do not count") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 7, Dim("w"), 1});
  const TensorId y = b.layer("transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
  CHECK(outline(after_passes(b.finish({b.unary("exp", y)}), {"simplify_transposes"}, {{"w", 3}})) ==
        "transpose unary:exp");
}
