// fuse_softmax, fuse_layer_norm, fuse_rms_norm.
#include <catch2/catch.hpp>
#include <functional>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Build = std::function<TensorId(GraphBuilder&, TensorId)>;

Graph made(const Build& build, DynamicShape shape = {Dim("n"), 3, 4}) {
  GraphBuilder b;
  const TensorId x = b.input("x", std::move(shape));
  return after_passes(b.finish({build(b, x)}),
                      {"remove_no_ops", "merge_duplicates", "canonicalize_elementwise",
                       "fuse_softmax", "fuse_layer_norm", "fuse_rms_norm"},
                      {{"n", 2}});
}

// The only layer, which must be of that type.
Layer only(const Graph& graph, const std::string& type) {
  REQUIRE(outline(graph) == type);
  return graph.layers()[0];
}

}  // namespace

// --- softmax -----------------------------------------------------------------------------------

TEST_CASE("fuse_softmax: with and without the maximum, any axis") {
  const auto softmax = [](bool shifted, std::int64_t axis, bool reciprocal) -> Build {
    return [=](GraphBuilder& b, TensorId x) {
      const TensorId t = shifted ? b.binary("sub", x, b.reduce("max", x, {axis})) : x;
      const TensorId e = b.unary("exp", t);
      const TensorId s = b.reduce("sum", e, {axis});
      return reciprocal ? b.binary("mul", b.unary("reciprocal", s), e) : b.binary("div", e, s);
    };
  };
  CHECK(only(made(softmax(true, -1, false)), "softmax").params.integer("axis") == 2);
  CHECK(only(made(softmax(false, 1, false)), "softmax").params.integer("axis") == 1);
  CHECK(only(made(softmax(true, 1, true)), "softmax").params.integer("log") == 0);
}

TEST_CASE("fuse_softmax: near misses") {
  const auto left = [](const Build& build) { return outline(made(build)); };
  CHECK(left([](auto& b, auto x) {  // two axes
          const TensorId e = b.unary("exp", x);
          return b.binary("div", e, b.reduce("sum", e, {1, 2}));
        }) == "unary:exp reduce binary:div");
  CHECK(left([](auto& b, auto x) {  // a mean
          const TensorId e = b.unary("exp", x);
          return b.binary("div", e, b.reduce("mean", e, {2}));
        }) == "unary:exp reduce binary:div");
  CHECK(left([](auto& b, auto x) {  // the sum of something else
          return b.binary("div", b.unary("exp", x), b.reduce("sum", b.unary("abs", x), {2}));
        })
            .find("softmax") == std::string::npos);
  CHECK(left([](auto& b, auto x) {  // the sum is read elsewhere
          const TensorId e = b.unary("exp", x);
          const TensorId s = b.reduce("sum", e, {2});
          return b.binary("mul", b.binary("div", e, s), s);
        }) == "unary:exp reduce binary:div binary:mul");
  CHECK(left([](auto& b, auto x) {  // shifted along another axis: still a softmax of the rest
          const TensorId e = b.unary("exp", b.binary("sub", x, b.reduce("max", x, {1})));
          return b.binary("div", e, b.reduce("sum", e, {2}));
        }) == "reduce binary:sub softmax");
}

TEST_CASE("fuse_softmax: dimensions that are not kept") {
  CHECK(outline(made(
            [](auto& b, auto x) {
              const TensorId e = b.unary("exp", x);
              return b.binary("div", e, b.reduce("sum", e, {2}, false));
            },
            {4, 4, 4})) == "unary:exp reduce binary:div");
}

TEST_CASE("fuse_softmax: the logarithm of a softmax") {
  const Graph graph = made([](auto& b, auto x) { return b.unary("log", b.layer("softmax", {x})); });
  CHECK(only(graph, "softmax").params.integer("log") == 1);
  CHECK(outline(made([](auto& b, auto x) {
          const TensorId s = b.layer("softmax", {x});
          return b.binary("mul", b.unary("log", s), s);
        })) == "softmax unary:log binary:mul");
}

// --- layer norm --------------------------------------------------------------------------------

namespace {

struct Spelling {
  bool power = true;        // d^2 by pow, else d · d
  bool twice = false;       // x − mean computed once for each use
  bool reciprocal = false;  // d · rsqrt, else d / sqrt
  double epsilon = 1e-5;
  std::vector<std::int64_t> axes = {-1};
};

TensorId normalized(GraphBuilder& b, TensorId x, const Spelling& s) {
  const TensorId mean = b.reduce("mean", x, s.axes);
  const TensorId d = b.binary("sub", x, mean);
  const TensorId e = s.twice ? b.binary("sub", x, b.reduce("mean", x, s.axes)) : d;
  const TensorId square = s.power ? b.binary("pow", e, b.scalar(2)) : b.binary("mul", e, e);
  const TensorId variance = b.reduce("mean", square, s.axes);
  const TensorId root = b.unary("sqrt", b.binary("add", variance, b.scalar(s.epsilon)));
  return s.reciprocal ? b.binary("mul", d, b.binary("div", b.scalar(1), root))
                      : b.binary("div", d, root);
}

}  // namespace

TEST_CASE("fuse_layer_norm: several spellings") {
  const auto check = [](const Spelling& s, std::int64_t axis) {
    const Layer layer =
        only(made([&](auto& b, auto x) { return normalized(b, x, s); }), "layer_norm");
    CHECK(layer.params.integer("axis") == axis);
    CHECK(layer.params.real("epsilon") == Approx(s.epsilon));
    CHECK(layer.inputs.size() == 1);
  };
  check({}, 2);
  check({.power = false}, 2);
  check({.twice = true}, 2);
  check({.reciprocal = true, .epsilon = 1e-12}, 2);
  check({.axes = {1, 2}}, 1);
  check({.axes = {-1, -2}}, 1);
}

TEST_CASE("fuse_layer_norm: scale and bias") {
  const Layer both =
      only(made([](auto& b, auto x) {
             const TensorId n = normalized(b, x, {});
             return b.binary("add", b.random({4}), b.binary("mul", n, b.random({4})));
           }),
           "layer_norm");
  CHECK(both.inputs.size() == 3);
  const Layer scale = only(made([](auto& b, auto x) {
                             return b.binary("mul", b.random({1, 1, 4}), normalized(b, x, {}));
                           }),
                           "layer_norm");
  CHECK(scale.inputs.size() == 2);
  const Layer bias = only(
      made([](auto& b, auto x) { return b.binary("add", normalized(b, x, {}), b.random({4})); }),
      "layer_norm");
  REQUIRE(bias.inputs.size() == 3);
  CHECK(bias.inputs[1] == kNoTensor);
}

TEST_CASE("fuse_layer_norm: scale and bias of a norm that was one already") {
  const Graph graph = made([](auto& b, auto x) {
    const TensorId n = b.layer("layer_norm", {x}, {{"axis", std::int64_t{1}}});
    return b.binary("add", b.binary("mul", n, b.random({3, 4})), b.random({4}));
  });
  CHECK(only(graph, "layer_norm").inputs.size() == 3);
}

TEST_CASE("fuse_layer_norm: operands that are no scale") {
  const auto left = [](const Build& build) { return outline(made(build)); };
  CHECK(left([](auto& b, auto x) {  // varies along an axis that is not normalised
          return b.binary("mul", normalized(b, x, {}), b.random({3, 1}));
        }) == "layer_norm binary:mul");
  CHECK(left([](auto& b, auto x) {  // enlarges the result
          return b.binary("mul", normalized(b, x, {}), b.random({2, 1, 1, 4}));
        }) == "layer_norm binary:mul");
  CHECK(left([](auto& b, auto x) {  // a scale behind the bias
          const TensorId n = b.binary("add", normalized(b, x, {}), b.random({4}));
          return b.binary("mul", n, b.random({4}));
        }) == "layer_norm binary:mul");
  CHECK(left([](auto& b, auto x) {  // a whole tensor
          return b.binary("add", normalized(b, x, {}), x);
        }) == "layer_norm binary:add");
}

TEST_CASE("fuse_layer_norm: TensorFlow's form") {
  const auto tensorflow = [](bool swapped) -> Build {
    return [=](GraphBuilder& b, TensorId x) {
      const TensorId m = b.reduce("mean", x, {2});
      const TensorId d = swapped ? b.binary("sub", m, x) : b.binary("sub", x, m);
      const TensorId v = b.reduce("mean", b.binary("mul", d, d), {2});
      const TensorId r = b.unary("reciprocal", b.unary("sqrt", b.binary("add", v, b.scalar(1e-3))));
      const TensorId s = b.binary("mul", r, b.random({4}));
      return b.binary("add", b.binary("mul", s, x),
                      b.binary("sub", b.random({4}), b.binary("mul", m, s)));
    };
  };
  CHECK(only(made(tensorflow(false)), "layer_norm").inputs.size() == 3);
  CHECK(only(made(tensorflow(true)), "layer_norm").params.real("epsilon") == Approx(1e-3));
}

TEST_CASE("fuse_layer_norm: near misses") {
  const auto has_norm = [](const Build& build) {
    return outline(made(build)).find("layer_norm") != std::string::npos;
  };
  CHECK_FALSE(has_norm([](auto& b, auto x) {  // not the last axis
    return normalized(b, x, {.axes = {1}});
  }));
  CHECK_FALSE(has_norm([](auto& b, auto x) {  // different axes
    const TensorId d = b.binary("sub", x, b.reduce("mean", x, {1, 2}));
    const TensorId v = b.reduce("mean", b.binary("mul", d, d), {2});
    return b.binary("div", d, b.unary("sqrt", b.unary("linear", v, 1, 1e-5)));
  }));
  CHECK_FALSE(has_norm([](auto& b, auto x) {  // sums
    const TensorId d = b.binary("sub", x, b.reduce("mean", x, {2}));
    const TensorId v = b.reduce("sum", b.binary("mul", d, d), {2});
    return b.binary("div", d, b.unary("sqrt", b.unary("linear", v, 1, 1e-5)));
  }));
  CHECK_FALSE(has_norm([](auto& b, auto x) {  // the variance is read elsewhere
    const TensorId d = b.binary("sub", x, b.reduce("mean", x, {2}));
    const TensorId v = b.reduce("mean", b.binary("mul", d, d), {2});
    const TensorId y = b.binary("div", d, b.unary("sqrt", b.unary("linear", v, 1, 1e-5)));
    return b.binary("add", y, v);
  }));
}

// --- RMS norm ----------------------------------------------------------------------------------

TEST_CASE("fuse_rms_norm: several spellings") {
  const auto mean_square = [](auto& b, auto x) {
    return b.binary("add", b.reduce("mean", b.binary("pow", x, b.scalar(2)), {-1}), b.scalar(1e-6));
  };
  const Layer scaled = only(made([&](auto& b, auto x) {
                              const TensorId r =
                                  b.binary("div", b.scalar(1), b.unary("sqrt", mean_square(b, x)));
                              return b.binary("mul", b.random({4}), b.binary("mul", x, r));
                            }),
                            "rms_norm");
  CHECK(scaled.inputs.size() == 2);
  CHECK(scaled.params.real("epsilon") == Approx(1e-6));
  only(
      made([&](auto& b, auto x) { return b.binary("div", x, b.unary("sqrt", mean_square(b, x))); }),
      "rms_norm");
  only(made([&](auto& b, auto x) {
         return b.binary("mul", b.binary("pow", mean_square(b, x), b.scalar(-0.5)), x);
       }),
       "rms_norm");
  only(made([&](auto& b, auto x) {
         return b.binary("mul", x, b.unary("sqrt", b.unary("reciprocal", mean_square(b, x))));
       }),
       "rms_norm");
}

TEST_CASE("fuse_rms_norm: near misses") {
  const auto left = [](const Build& build) { return outline(made(build)); };
  CHECK(left([](auto& b, auto x) {  // a factor in the variance
          const TensorId v = b.reduce("mean", b.binary("mul", x, x), {2});
          return b.binary("div", x, b.unary("sqrt", b.unary("linear", v, 2, 1e-5)));
        })
            .find("rms_norm") == std::string::npos);
  CHECK(left([](auto& b, auto x) {  // the squares of something else
          const TensorId z = b.unary("abs", x);
          const TensorId v = b.reduce("mean", b.binary("mul", z, z), {2});
          return b.binary("div", x, b.unary("sqrt", b.unary("linear", v, 1, 1e-5)));
        })
            .find("rms_norm") == std::string::npos);
  CHECK(left([](auto& b, auto x) {  // divided the other way round
          const TensorId v = b.reduce("mean", b.binary("mul", x, x), {2});
          return b.binary("div", b.unary("sqrt", b.unary("linear", v, 1, 1e-5)), x);
        })
            .find("rms_norm") == std::string::npos);
}
