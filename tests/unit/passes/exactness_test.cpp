// Every pass that rewrites arithmetic, on numbers that arithmetic is bad at (exactness.h).
#include "unit/passes/exactness.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr DataType kTypes[] = {DataType::float32, DataType::float16, DataType::bfloat16,
                               DataType::float64};
constexpr std::uint32_t kSeeds = 200;

void check(const ExactnessCase& test) {
  for (const DataType type : kTypes) check_exactness(test, type, kSeeds);
}
// What passes compute with more digits is to be judged in float64, with more than the model has.
void check_more_exact(const ExactnessCase& test) {
  for (const DataType type : kTypes)
    if (type != DataType::float64) check_exactness(test, type, kSeeds);
}

TensorId input(GraphBuilder& b, Draw& d, DynamicShape shape) {
  return b.input("x", std::move(shape), d.type());
}

// A constant of one element, at times of more dimensions than what it meets.
TensorId one(GraphBuilder& b, Draw& d, double value) {
  const Shape shapes[] = {{}, {1}, {1, 1}, {1, 1, 1}};
  return b.reals(shapes[d.chance() ? 0 : d.below(4)], {value}, d.type());
}

TensorId ordered(GraphBuilder& b, Draw& d, const char* op, TensorId x, TensorId c) {
  return d.below(3) > 0 ? b.binary(op, x, c) : b.binary(op, c, x);
}

TensorId scalar_arithmetic(GraphBuilder& b, Draw& d, TensorId x) {
  const char* ops[] = {"add", "sub", "mul", "div", "div", "max", "min"};
  return ordered(b, d, ops[d.below(7)], x, one(b, d, d.number()));
}

std::vector<double> numbers(int count, const std::function<double()>& draw) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(draw());
  return values;
}

constexpr int kChannels = 4;

// One number per channel of x[n, channels] or x[n, channels, h, w], or one for all.
TensorId per_channel(GraphBuilder& b, Draw& d, int rank, const std::function<double()>& draw) {
  if (d.chance()) return one(b, d, draw());
  const Shape shape = rank == 2 ? Shape{kChannels} : Shape{kChannels, 1, 1};
  return b.reals(shape, numbers(kChannels, draw), d.type());
}

// (x − mean) / deviation [· factor] [+ shift] in some form, and inputs around the mean.
TensorId standardized(GraphBuilder& b, Draw& d, TensorId x, int rank) {
  d.spread = std::pow(10, d.uniform(-2, 2));
  d.center = d.spread * std::pow(10, d.uniform(-2, 4)) * (d.chance() ? 1 : -1);
  const double spread = d.spread, center = d.center;
  const auto constant = [&](double value) {
    return per_channel(b, d, rank, [=] { return value; });
  };
  if (d.chance())
    x = b.binary("div", b.binary("sub", x, constant(center)), constant(spread));
  else
    x = b.binary("add", b.binary("mul", x, constant(1 / spread)), constant(-center / spread));
  if (d.chance()) return x;
  x = b.binary("mul", x, per_channel(b, d, rank, [&] { return d.mild(); }));
  return b.binary("add", x, per_channel(b, d, rank, [&] { return d.mild(); }));
}

// A layer with random weights of some magnitude, of any that the type holds or of whole numbers.
TensorId weighted(GraphBuilder& b, Draw& d, TensorId x, int rank) {
  const int outputs = 3;
  const double size = d.type() == DataType::float16 ? std::pow(10, d.uniform(-5, 1))
                                                    : std::pow(10, d.uniform(-30, 10));
  const bool whole = d.below(3) == 0;
  const auto weight = [&] { return whole ? d.below(7) - 3 : size * d.normal(); };
  const TensorId w =
      b.reals(rank == 2 ? Shape{outputs, kChannels} : Shape{outputs, kChannels, 2, 2},
              numbers(outputs * kChannels * (rank == 2 ? 1 : 4), weight), d.type());
  const TensorId bias = b.reals({outputs}, numbers(outputs, weight), d.type());
  if (rank == 2) return b.layer("dense", {x, w, bias}, {{"transpose_weights", std::int64_t{1}}});
  return b.layer("conv2", {x, w, bias});
}

TensorId with_extra_dimensions(GraphBuilder& b, Draw& d, const char* op, TensorId x, double value) {
  return b.binary(op, x, one(b, d, value));
}

// x / sqrt(mean(x²) + ε), in some form.
TensorId rms_norm(GraphBuilder& b, Draw& d, TensorId x) {
  const TensorId mean = b.reduce("mean", b.binary("mul", x, x), {-1});
  const TensorId v = with_extra_dimensions(b, d, "add", mean, d.chance() ? 1e-3 : 0.25);
  if (d.chance()) return b.binary("mul", x, b.binary("pow", v, one(b, d, -0.5)));
  return b.binary("div", x, b.unary("sqrt", v));
}

}  // namespace

TEST_CASE("canonicalize_elementwise: arithmetic with scalars is exact") {
  check({"scalar",
         {"canonicalize_elementwise"},
         [](GraphBuilder& b, Draw& d) {
           const TensorId x = scalar_arithmetic(b, d, input(b, d, {2, 5}));
           return d.chance() ? x : b.unary("floor", x);
         },
         true});
}

TEST_CASE("canonicalize_elementwise: quotients of whole numbers stay whole") {
  check({"quotient",
         {"canonicalize_elementwise", "fuse_post_ops"},
         [](GraphBuilder& b, Draw& d) {
           const double divisor = 1 + d.below(200);
           d.center = divisor * d.below(20);
           d.spread = 1e-30;  // on top of it
           TensorId x = b.binary("div", input(b, d, {2, 5}), one(b, d, divisor));
           if (d.chance()) x = b.binary("sub", x, one(b, d, 1));
           return b.unary("floor", x);
         },
         true});
}

TEST_CASE("canonicalize_elementwise: limits are exact") {
  check({"limits",
         {"canonicalize_elementwise"},
         [](GraphBuilder& b, Draw& d) {
           TensorId x = input(b, d, {2, 5});
           for (int i = 1 + d.below(3); i > 0; --i)
             x = d.chance() ? b.binary(d.chance() ? "max" : "min", x, one(b, d, d.number()))
                            : b.layer("clip", {x, b.scalar(d.number(), d.type()),
                                               b.scalar(d.number(), d.type())});
           return x;
         },
         true});
}

TEST_CASE("canonicalize_elementwise: functions in a row lose no more than by rounding") {
  check({"row", {"canonicalize_elementwise"}, [](GraphBuilder& b, Draw& d) {
           TensorId x = input(b, d, {2, 5});
           for (int i = 2 + d.below(3); i > 0; --i)
             x = d.below(5) == 0 ? b.unary("neg", x) : scalar_arithmetic(b, d, x);
           return x;
         }});
}

TEST_CASE("canonicalize_elementwise: powers") {
  check({"powers", {"canonicalize_elementwise"}, [](GraphBuilder& b, Draw& d) {
           const double exponents[] = {2, 0.5, -1, 1, 3};
           return b.binary("pow", input(b, d, {2, 5}), one(b, d, exponents[d.below(5)]));
         }});
}

TEST_CASE("remove_no_ops: exact") {
  check({"neutral",
         {"remove_no_ops"},
         [](GraphBuilder& b, Draw& d) {
           const char* ops[] = {"add", "sub", "mul", "div", "pow"};
           const int op = d.below(5);
           const TensorId x = input(b, d, {2, 5});
           return b.unary("floor", b.binary(ops[op], x, one(b, d, op < 2 ? 0 : 1)));
         },
         true});
}

TEST_CASE("fold_affine: scales and shifts beside weights lose no more than by rounding") {
  for (const int rank : {2, 4})
    check({rank == 2 ? "dense" : "conv2",
           {"canonicalize_elementwise", "fold_affine"},
           [rank](GraphBuilder& b, Draw& d) {
             TensorId x = input(
                 b, d, rank == 2 ? DynamicShape{3, kChannels} : DynamicShape{1, kChannels, 3, 3});
             if (d.below(4) > 0) x = standardized(b, d, x, rank);
             x = weighted(b, d, x, rank);
             const char* ops[] = {"add", "sub", "mul", "div"};
             for (int i = d.below(3); i > 0; --i)
               x = ordered(b, d, ops[d.below(4)], x,
                           one(b, d, d.chance() ? d.mild() : d.nonzero()));
             return x;
           }});
}

TEST_CASE("fold_affine: layers of whole numbers stay exact") {
  check({"whole",
         {"canonicalize_elementwise", "fold_affine"},
         [](GraphBuilder& b, Draw& d) {
           const double divisor = 1 + d.below(60);
           d.center = divisor;
           d.spread = 1e-30;
           TensorId x = input(b, d, {2, kChannels});
           const bool before = d.chance();
           if (before) x = b.binary("div", x, one(b, d, divisor));
           const TensorId w = b.reals({kChannels, 2},
                                      numbers(2 * kChannels, [&] { return d.below(3); }), d.type());
           x = b.layer("dense", {x, w});
           return b.unary("floor", before ? x : b.binary("div", x, one(b, d, divisor)));
         },
         true});
}

TEST_CASE("fold_batch_norm: loses no more than by rounding") {
  check({"batch norm", {"fold_batch_norm"}, [](GraphBuilder& b, Draw& d) {
           TensorId x = input(b, d, {1, kChannels, 3, 3});
           const bool before = d.chance();
           const auto vector = [&](int count, const std::function<double()>& draw) {
             return b.reals({count}, numbers(count, draw), d.type());
           };
           const auto norm = [&](TensorId y, int count, double mean, double deviation) {
             return b.layer("batch_norm", {y, vector(count, [&] { return d.mild(); }),
                                           vector(count, [&] { return d.mild(); }),
                                           vector(count, [&] { return mean; }),
                                           vector(count, [&] { return deviation * deviation; })});
           };
           if (before) {
             d.spread = std::pow(10, d.uniform(-1, 2));
             d.center = d.spread * std::pow(10, d.uniform(-2, 4));
             x = norm(x, kChannels, d.center, d.spread);
           }
           x = weighted(b, d, x, 4);
           return before ? x : norm(x, 3, d.number(), d.mild());
         }});
}

TEST_CASE("raise_scales: exact") {
  check({"raise",
         {"raise_scales"},
         [](GraphBuilder& b, Draw& d) {
           const TensorId y = weighted(b, d, input(b, d, {2, kChannels}), 2);
           const TensorId wide = b.layer("reshape", {y, b.integers({2, 3, 1})});
           return d.chance() ? b.unary("linear", wide, d.nonzero(), 0)
                             : b.binary("div", wide, one(b, d, d.nonzero()));
         },
         true});
}

TEST_CASE("fold_pad: exact in convolutions and pools") {
  check({"pad",
         {"fold_pad"},
         [](GraphBuilder& b, Draw& d) {
           const std::vector<std::int64_t> pads = {0, 0, d.below(2), d.below(2),
                                                   0, 0, d.below(2), d.below(2)};
           const TensorId x = input(b, d, {1, kChannels, 3, 3});
           const TensorId padded = b.layer("pad", {x, b.integers(pads)});
           switch (d.below(3)) {
             case 0:
               return weighted(b, d, padded, 4);
             case 1:
               return b.layer("max_pool2", {padded}, {{"kernel", std::vector<std::int64_t>{2, 2}}});
             default:
               return b.layer("avg_pool2", {padded}, {{"kernel", std::vector<std::int64_t>{2, 2}}});
           }
         },
         true});
}

TEST_CASE("sink_transposes: exact") {
  check({"transposes",
         {"sink_transposes", "simplify_transposes"},
         [](GraphBuilder& b, Draw& d) {
           const std::vector<std::int64_t> perm = {0, 2, 3, 1};
           TensorId x = b.layer("transpose", {input(b, d, {1, kChannels, 2, 3})}, {{"perm", perm}});
           for (int i = 1 + d.below(3); i > 0; --i) switch (d.below(5)) {
               case 0:
                 x = scalar_arithmetic(b, d, x);
                 break;
               case 1:  // one number per channel
                 x = ordered(b, d, "mul", x,
                             b.reals({kChannels}, numbers(kChannels, [&] { return d.number(); }),
                                     d.type()));
                 break;
               case 2:
                 x = b.layer("softmax", {x}, {{"axis", std::int64_t{3}}});
                 break;
               case 3:
                 x = b.binary("add", x, x);
                 break;
               default:
                 x = b.unary("floor", x);
             }
           return d.chance() ? x : b.reduce(d.chance() ? "max" : "sum", x, {3});
         },
         true});
}

TEST_CASE("contract_einsums: sums in another order lose no more than by rounding") {
  check({"einsum", {"contract_einsums"}, [](GraphBuilder& b, Draw& d) {
           d.infinities = false;
           d.spread = d.type() == DataType::float16 ? 1 : std::pow(10, d.uniform(-6, 6));
           d.center = d.chance() ? 0 : d.spread;
           const TensorId a = input(b, d, {3, 4}), c = b.input("y", {4, 5}, d.type()),
                          e = b.input("z", {5, 2}, d.type());
           return b.layer("einsum", {a, c, e}, {{"equation", std::string("ij,jk,kl->il")}});
         }});
}

TEST_CASE("All passes: factors in front of a product stay in range") {
  check({"matmul", {}, [](GraphBuilder& b, Draw& d) {
           const TensorId x = input(b, d, {2, 3, 4}), y = b.input("y", {2, 4, 3}, d.type());
           const auto scaled = [&](TensorId t) {
             return ordered(b, d, d.below(4) ? "mul" : "div", t, one(b, d, d.nonzero()));
           };
           const TensorId product = b.layer("matmul", {scaled(x), d.chance() ? y : scaled(y)});
           return d.chance() ? product : scaled(product);
         }});
}

TEST_CASE("All passes: activations in their long forms") {
  check_more_exact({"activations", {}, [](GraphBuilder& b, Draw& d) {
                      const TensorId x = input(b, d, {2, 5});
                      const auto with = [&](const char* op, TensorId t, double value) {
                        return with_extra_dimensions(b, d, op, t, value);
                      };
                      switch (d.below(6)) {
                        case 0: {
                          const TensorId erf = b.unary("erf", with("div", x, std::sqrt(2)));
                          return b.binary("mul", with("mul", x, 0.5), with("add", erf, 1));
                        }
                        case 1:
                          return b.binary("mul", x, b.unary("sigmoid", with("mul", x, d.mild())));
                        case 2: {
                          const TensorId gate = b.unary("clip", with("add", x, 3), 0, 6);
                          return with("div", d.chance() ? gate : b.binary("mul", x, gate), 6);
                        }
                        case 3: {
                          const TensorId line =
                              with("add", with("div", x, 6), d.chance() ? 0.5 : d.number());
                          return b.unary("clip", line, 0, 1);
                        }
                        case 4:
                          return b.unary("log", with("add", b.unary("exp", x), 1));
                        default:
                          return b.binary("mul", x, b.unary("tanh", b.unary("softplus", x)));
                      }
                    }});
}

TEST_CASE("All passes: norms in their long forms") {
  check_more_exact({"norms", {}, [](GraphBuilder& b, Draw& d) {
                      TensorId x = d.chance() ? input(b, d, {5}) : input(b, d, {Dim("n"), 5});
                      d.spread = d.mild();
                      d.center = d.chance() ? 0 : 50;
                      if (d.chance()) x = b.binary("sub", x, b.reduce("mean", x, {-1}));
                      x = rms_norm(b, d, x);
                      if (d.chance()) x = with_extra_dimensions(b, d, "mul", x, d.mild());
                      return d.chance() ? x : with_extra_dimensions(b, d, "add", x, d.mild());
                    }});
}

TEST_CASE("All passes: softmax in its long forms") {
  check_more_exact({"softmax", {}, [](GraphBuilder& b, Draw& d) {
                      TensorId x = input(b, d, {2, 5});
                      d.infinities = false;
                      if (d.chance()) x = b.binary("sub", x, b.reduce("max", x, {-1}));
                      const TensorId e = b.unary("exp", x);
                      const TensorId y = b.binary("div", e, b.reduce("sum", e, {-1}));
                      return d.chance() ? y : b.unary("log", y);
                    }});
}
