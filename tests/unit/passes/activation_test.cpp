// canonicalize_elementwise and the passes that recognise activations.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Build = std::function<TensorId(GraphBuilder&, TensorId)>;

// What the passes make of y = build(x) for x[n,3,4].
Graph made(const std::vector<std::string>& passes, const Build& build,
           DataType type = DataType::float32) {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 3, 4}, type);
  return after_passes(b.finish({build(b, x)}), passes, {{"n", 2}});
}

std::string canonical(const Build& build, DataType type = DataType::float32) {
  return outline(made({"canonicalize_elementwise"}, build, type));
}

// alpha and beta of the only layer.
std::pair<double, double> numbers(const Graph& graph) {
  REQUIRE(graph.layers().size() == 1);
  const Params& params = graph.layers()[0].params;
  return {params.real("alpha"), params.real("beta")};
}

Build fold(std::vector<Build> steps) {
  return [steps](GraphBuilder& b, TensorId x) {
    for (const Build& step : steps) x = step(b, x);
    return x;
  };
}
Build with_scalar(const char* op, double c) {
  return [=](GraphBuilder& b, TensorId x) { return b.binary(op, x, b.scalar(c)); };
}
Build scalar_with(const char* op, double c) {
  return [=](GraphBuilder& b, TensorId x) { return b.binary(op, b.scalar(c), x); };
}
Build function(const char* op, double alpha = 0, double beta = 0) {
  return [=](GraphBuilder& b, TensorId x) { return b.unary(op, x, alpha, beta); };
}

}  // namespace

// --- canonicalize_elementwise ------------------------------------------------------------------

TEST_CASE("canonicalize_elementwise: arithmetic with scalars is linear") {
  const auto linear = [](const Build& build) {
    const Graph graph = made({"canonicalize_elementwise"}, build);
    CHECK(outline(graph) == "unary:linear");
    return numbers(graph);
  };
  using P = std::pair<double, double>;
  CHECK(linear(with_scalar("add", 3)) == P(1, 3));
  CHECK(linear(scalar_with("add", 3)) == P(1, 3));
  CHECK(linear(with_scalar("sub", 3)) == P(1, -3));
  CHECK(linear(scalar_with("sub", 3)) == P(-1, 3));
  CHECK(linear(with_scalar("mul", 3)) == P(3, 0));
  CHECK(linear(with_scalar("div", 4)) == P(0.25, 0));
  CHECK(linear(fold({with_scalar("mul", 2), with_scalar("add", 3)})) == P(2, 3));
  CHECK(linear(fold({with_scalar("add", 3), with_scalar("mul", 0.5)})) == P(0.5, 1.5));
  CHECK(linear(fold({function("neg"), with_scalar("mul", 2)})) == P(-2, 0));
  CHECK(linear([](auto& b, auto x) { return b.binary("add", x, x); }) == P(2, 0));
}

TEST_CASE("canonicalize_elementwise: powers and reciprocals") {
  CHECK(canonical(with_scalar("pow", 2)) == "unary:square");
  CHECK(canonical([](auto& b, auto x) { return b.binary("mul", x, x); }) == "unary:square");
  CHECK(canonical(fold({function("abs"), with_scalar("pow", 0.5)})) == "unary:abs unary:sqrt");
  CHECK(canonical(fold({function("exp"), with_scalar("pow", -1)})) == "unary:exp unary:reciprocal");
  CHECK(canonical(fold({function("exp"), scalar_with("div", 1)})) == "unary:exp unary:reciprocal");
  CHECK(canonical(fold({function("exp"), scalar_with("div", 2)})) == "unary:exp binary:div");
  CHECK(canonical(with_scalar("pow", 3)) == "binary:pow");
  CHECK(canonical(scalar_with("pow", 2)) == "binary:pow");
}

TEST_CASE("canonicalize_elementwise: limits") {
  CHECK(canonical(with_scalar("max", 0)) == "unary:relu");
  CHECK(canonical(scalar_with("max", 0)) == "unary:relu");
  CHECK(canonical(fold({with_scalar("max", 0), with_scalar("min", 6)})) == "unary:clip");
  CHECK(canonical(fold({function("relu"), function("clip", -1, 2)})) == "unary:clip");
  CHECK(canonical(fold({function("clip", -1, 1), function("relu")})) == "unary:clip");
  CHECK(canonical(fold({function("clip", 2, 3), function("clip", -1, 1)})) == "unary:clip");
  CHECK(canonical([](auto& b, auto x) {
          return b.layer("clip", {x, b.scalar(0), b.scalar(6)});
        }) == "unary:clip");
  CHECK(canonical([](auto& b, auto x) {
          return b.layer("clip", {x, b.scalar(0)});
        }) == "unary:relu");
  CHECK(canonical([](auto& b, auto x) {
          return b.layer("clip", {x, kNoTensor, b.scalar(1)});
        }) == "unary:clip");
  const auto both = numbers(made({"canonicalize_elementwise"},
                                 fold({function("clip", -1, 0.5), function("clip", 0, 1)})));
  CHECK(both == std::pair<double, double>(0, 0.5));
}

TEST_CASE("canonicalize_elementwise: near misses stay") {
  // A constant that lends its dimensions, a vector, a division by (next to) zero.
  CHECK(canonical([](auto& b, auto x) {
          return b.binary("add", x, b.reals({1, 1, 1, 1}, {3}));
        }) == "binary:add");
  CHECK(canonical([](auto& b, auto x) { return b.binary("add", x, b.random({4})); }) ==
        "binary:add");
  CHECK(canonical(with_scalar("div", 0)) == "binary:div");
  // A chain that something else reads in between.
  CHECK(canonical([](auto& b, auto x) {
          const TensorId t = b.unary("linear", x, 2, 0);
          return b.binary("mul", b.unary("linear", t, 3, 0), t);
        }) == "unary:linear unary:linear binary:mul");
  // The trick that rounds to integers.
  CHECK(canonical(fold({with_scalar("add", 12582912), with_scalar("sub", 12582912)})) ==
        "unary:linear unary:linear");
}

TEST_CASE("canonicalize_elementwise: constants of one element and any rank up to x's") {
  CHECK(canonical([](auto& b, auto x) {
          return b.binary("mul", x, b.reals({1, 1, 1}, {3}));
        }) == "unary:linear");
  CHECK(canonical([](auto& b, auto x) { return b.binary("mul", b.reals({1}, {3}), x); }) ==
        "unary:linear");
}

TEST_CASE("canonicalize_elementwise: data types") {
  const Build f16 = [](auto& b, auto x) {
    return b.binary("mul", x, b.scalar(0.5, DataType::float16));
  };
  CHECK(canonical(f16, DataType::float16) == "unary:linear");
  const Build i32 = [](auto& b, auto x) {
    return b.binary("mul", x, b.scalar(2, DataType::int32));
  };
  CHECK(canonical(i32, DataType::int32) == "binary:mul");
}

// --- activations -------------------------------------------------------------------------------

namespace {

// Canonical form and the passes for activations, as in the real order.
const std::vector<std::string> kActivations = {
    "remove_no_ops",     "merge_duplicates", "canonicalize_elementwise",
    "fuse_hard_sigmoid", "fuse_hard_swish",  "fuse_silu",
    "fuse_gelu",         "fuse_softplus",    "fuse_mish"};

std::string activation(const Build& build, DataType type = DataType::float32) {
  return outline(made(kActivations, build, type));
}

// x + 3 clipped to [0, 6].
TensorId relu6_of_x_plus_3(GraphBuilder& b, TensorId x) {
  return b.unary("clip", b.binary("add", x, b.scalar(3)), 0, 6);
}

}  // namespace

TEST_CASE("fuse_hard_sigmoid") {
  const Build usual = [](auto& b, auto x) {
    return b.binary("div", relu6_of_x_plus_3(b, x), b.scalar(6));
  };
  CHECK(activation(usual) == "unary:hard_sigmoid");
  const auto [alpha, beta] = numbers(made(kActivations, usual));
  CHECK(alpha == Approx(1.0 / 6));
  CHECK(beta == Approx(0.5));
  CHECK(activation([](auto& b, auto x) {
          const TensorId line = b.binary("add", b.binary("mul", x, b.scalar(0.2)), b.scalar(0.5));
          return b.binary("min", b.binary("max", line, b.scalar(0)), b.scalar(1));
        }) == "unary:hard_sigmoid");
  CHECK(activation([](auto& b, auto x) {
          return b.binary(
              "mul", b.scalar(1.0 / 6),
              b.layer("clip", {b.binary("add", b.scalar(3), x), b.scalar(0), b.scalar(6)}));
        }) == "unary:hard_sigmoid");
}

TEST_CASE("fuse_hard_sigmoid: near misses") {
  CHECK(activation([](auto& b, auto x) {  // goes to 1.2
          return b.binary("div", relu6_of_x_plus_3(b, x), b.scalar(5));
        }) == "unary:linear unary:clip binary:div");
  CHECK(activation([](auto& b, auto x) {  // starts at −1
          return b.binary("div", b.unary("clip", b.binary("add", x, b.scalar(3)), -6, 6),
                          b.scalar(6));
        }) == "unary:linear unary:clip binary:div");
  CHECK(activation([](auto& b, auto x) { return b.unary("clip", x, 0, 1); }) == "unary:clip");
  CHECK(activation([](auto& b, auto x) {  // read in between
          const TensorId t = relu6_of_x_plus_3(b, x);
          return b.binary("add", b.binary("div", t, b.scalar(6)), t);
        }) == "unary:linear unary:clip binary:div binary:add");
}

TEST_CASE("fuse_hard_swish: in all its variants") {
  const auto check = [](const Build& build) {
    const Graph graph = made(kActivations, build);
    CHECK(outline(graph) == "unary:hard_swish");
    const auto [alpha, beta] = numbers(graph);
    CHECK(alpha == Approx(1.0 / 6));
    CHECK(beta == Approx(0.5));
  };
  check([](auto& b, auto x) {
    return b.binary("div", b.binary("mul", x, relu6_of_x_plus_3(b, x)), b.scalar(6));
  });
  check([](auto& b, auto x) {
    return b.binary("mul", b.binary("mul", relu6_of_x_plus_3(b, x), x), b.scalar(1.0 / 6));
  });
  check([](auto& b, auto x) {
    return b.binary("mul", x, b.binary("div", relu6_of_x_plus_3(b, x), b.scalar(6)));
  });
  check([](auto& b, auto x) {
    return b.binary("mul", b.binary("div", x, b.scalar(6)), relu6_of_x_plus_3(b, x));
  });
  check(
      [](auto& b, auto x) { return b.binary("mul", b.unary("hard_sigmoid", x, 1.0 / 6, 0.5), x); });
}

TEST_CASE("fuse_hard_swish: near misses") {
  CHECK(activation([](auto& b, auto x) {  // another factor
          return b.binary("div", b.binary("mul", x, relu6_of_x_plus_3(b, x)), b.scalar(5));
        }) == "unary:linear unary:clip binary:mul binary:div");
  CHECK(activation([](auto& b, auto x) {  // of another tensor
          const TensorId gate = b.unary("hard_sigmoid", x, 0.2, 0.5);
          return b.binary("mul", b.unary("exp", x), gate);
        }) == "unary:hard_sigmoid unary:exp binary:mul");
  CHECK(activation([](auto& b, auto x) {  // the gate is read elsewhere
          const TensorId gate = b.unary("hard_sigmoid", x, 0.2, 0.5);
          return b.binary("sub", b.binary("mul", x, gate), gate);
        }) == "unary:hard_sigmoid binary:mul binary:sub");
}

TEST_CASE("fuse_silu") {
  CHECK(activation([](auto& b, auto x) { return b.binary("mul", x, b.unary("sigmoid", x)); }) ==
        "unary:silu");
  CHECK(activation([](auto& b, auto x) { return b.binary("mul", b.unary("sigmoid", x), x); }) ==
        "unary:silu");
  const Build quick = [](auto& b, auto x) {
    return b.binary("mul", x, b.unary("sigmoid", b.binary("mul", b.scalar(1.702), x)));
  };
  CHECK(activation(quick) == "unary:silu");
  CHECK(numbers(made(kActivations, quick)).first == Approx(1.702));
}

TEST_CASE("fuse_silu: near misses") {
  CHECK(activation([](auto& b, auto x) {
          return b.binary("mul", x, b.unary("sigmoid", b.unary("linear", x, 1, 0.5)));
        }) == "unary:linear unary:sigmoid binary:mul");
  CHECK(activation([](auto& b, auto x) { return b.binary("add", x, b.unary("sigmoid", x)); }) ==
        "unary:sigmoid binary:add");
  CHECK(activation([](auto& b, auto x) {  // two different tensors
          const TensorId gate = b.unary("sigmoid", x);
          return b.binary("mul", b.unary("abs", x), gate);
        }) == "unary:sigmoid unary:abs binary:mul");
}

TEST_CASE("fuse_silu: an intermediate that is an output of the graph stays") {
  GraphBuilder b;
  const TensorId x = b.input("x", {2, 3});
  const TensorId gate = b.unary("sigmoid", x);
  const Graph graph = after_passes(b.finish({b.binary("mul", x, gate), gate}), {"fuse_silu"});
  CHECK(outline(graph) == "unary:sigmoid binary:mul");
}

namespace {

TensorId erf_part(GraphBuilder& b, TensorId x, DataType type = DataType::float32) {
  return b.unary("erf", b.binary("div", x, b.scalar(std::sqrt(2.0), type)));
}

// √(2/π) · (x + 0.044715 · x³) with x³ given.
TensorId tanh_part(GraphBuilder& b, TensorId x, TensorId cube, double cubic = 0.044715) {
  const TensorId sum = b.binary("add", x, b.binary("mul", b.scalar(cubic), cube));
  return b.unary("tanh", b.binary("mul", b.scalar(0.7978845608028654), sum));
}

}  // namespace

TEST_CASE("fuse_gelu: the erf form in its variants") {
  const auto one = [](auto& b, auto x) { return b.binary("add", x, b.scalar(1)); };
  CHECK(activation([&](auto& b, auto x) {  // (x · (1 + erf)) · ½
          return b.binary("mul", b.binary("mul", x, one(b, erf_part(b, x))), b.scalar(0.5));
        }) == "unary:gelu");
  CHECK(activation([&](auto& b, auto x) {  // (½ · x) · (1 + erf)
          return b.binary("mul", b.binary("mul", b.scalar(0.5), x), one(b, erf_part(b, x)));
        }) == "unary:gelu");
  CHECK(activation([&](auto& b, auto x) {  // x · (½ · (1 + erf))
          return b.binary("mul", x, b.binary("mul", one(b, erf_part(b, x)), b.scalar(0.5)));
        }) == "unary:gelu");
  CHECK(activation([&](auto& b, auto x) {  // erf(x · 0.7071)
          const TensorId e = b.unary("erf", b.binary("mul", x, b.scalar(0.7071067811865475)));
          return b.binary("div", b.binary("mul", one(b, e), x), b.scalar(2));
        }) == "unary:gelu");
}

TEST_CASE("fuse_gelu: the tanh form in its variants") {
  const auto finish = [](auto& b, auto x, auto t) {
    return b.binary("mul", b.binary("mul", b.scalar(0.5), x), b.binary("add", b.scalar(1), t));
  };
  CHECK(activation([&](auto& b, auto x) {
          return finish(b, x, tanh_part(b, x, b.binary("pow", x, b.scalar(3))));
        }) == "unary:gelu_tanh");
  CHECK(activation([&](auto& b, auto x) {
          return finish(b, x, tanh_part(b, x, b.binary("mul", b.binary("mul", x, x), x)));
        }) == "unary:gelu_tanh");
  CHECK(activation([&](auto& b, auto x) {  // √(2/π)·x · (1 + 0.044715·x²)
          const TensorId inner =
              b.binary("mul", b.binary("mul", x, b.scalar(0.7978845608028654)),
                       b.binary("add", b.scalar(1),
                                b.binary("mul", b.scalar(0.044715), b.binary("mul", x, x))));
          return finish(b, x, b.unary("tanh", inner));
        }) == "unary:gelu_tanh");
}

TEST_CASE("fuse_gelu: near misses") {
  CHECK(activation([](auto& b, auto x) {  // another constant under the erf
          const TensorId e = b.unary("erf", b.binary("div", x, b.scalar(1.4)));
          return b.binary("mul", b.unary("linear", x, 0.5, 0), b.unary("linear", e, 1, 1));
        }) == "binary:div unary:erf unary:linear unary:linear binary:mul");
  CHECK(activation([](auto& b, auto x) {  // not halved
          return b.binary("mul", x, b.unary("linear", erf_part(b, x), 1, 1));
        }) == "binary:div unary:erf unary:linear binary:mul");
  CHECK(activation([](auto& b, auto x) {  // another cubic term
          const TensorId t = tanh_part(b, x, b.binary("pow", x, b.scalar(3)), 0.05);
          return b.binary("mul", b.unary("linear", x, 0.5, 0), b.unary("linear", t, 1, 1));
        })
            .find("gelu") == std::string::npos);
  CHECK(activation([](auto& b, auto x) {  // of another tensor
          const TensorId z = b.unary("abs", x);
          return b.binary("mul", b.unary("linear", z, 0.5, 0),
                          b.unary("linear", erf_part(b, x), 1, 1));
        })
            .find("gelu") == std::string::npos);
}

TEST_CASE("fuse_gelu: float16 models hold rounded constants") {
  CHECK(activation(
            [](auto& b, auto x) {
              const TensorId e = erf_part(b, x, DataType::float16);
              const TensorId gate = b.binary("add", e, b.scalar(1, DataType::float16));
              return b.binary("mul", b.binary("mul", x, gate), b.scalar(0.5, DataType::float16));
            },
            DataType::float16) == "unary:gelu");
}

TEST_CASE("fuse_softplus and fuse_mish") {
  const auto softplus = [](auto& b, auto x) {
    return b.unary("log", b.binary("add", b.unary("exp", x), b.scalar(1)));
  };
  CHECK(activation(softplus) == "unary:softplus");
  CHECK(activation([&](auto& b, auto x) {
          return b.binary("mul", x, b.unary("tanh", softplus(b, x)));
        }) == "unary:mish");
  CHECK(activation([&](auto& b, auto x) {
          return b.binary("mul", b.unary("tanh", b.unary("softplus", x)), x);
        }) == "unary:mish");
  CHECK(activation([](auto& b, auto x) {
          return b.unary("log", b.binary("add", b.unary("exp", x), b.scalar(2)));
        }) == "unary:exp unary:linear unary:log");
  CHECK(activation([](auto& b, auto x) {
          return b.binary("mul", x, b.unary("sigmoid", b.unary("softplus", x)));
        }) == "unary:softplus unary:sigmoid binary:mul");
}
