// The vector functions against their double specification, in every instruction set that this
// processor has.
#include "cpu/simd/span_ops.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/isa_variants.h"

namespace softneuro {
namespace {

std::vector<IsaSet> usable_variants() {
  std::vector<IsaSet> variants;
  for (const IsaSet& set : kIsaSets)
    if (set.is_variant && usable_features().has(set.needs)) variants.push_back(set);
  return variants;
}

// All magnitudes from subnormal to huge, both signs, and a dense net around zero.
std::vector<float> probes() {
  std::vector<float> values = {0.0f, -0.0f};
  for (float magnitude = 1e-41f; magnitude < 3e38f; magnitude *= 1.0137f)
    for (const float sign : {1.0f, -1.0f}) values.push_back(sign * magnitude);
  for (float x = -110.0f; x < 110.0f; x += 0.00931f) values.push_back(x);
  return values;
}

// Distance in units of the last place of `expected` (of the smallest normal number below that).
double ulps(float actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual) ? 0 : INFINITY;
  const auto rounded = static_cast<float>(expected);
  if (actual == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(actual) || std::isnan(actual)) {
    // One step before the overflow counts as one step.
    const float largest = std::numeric_limits<float>::max();
    return std::fabs(actual) == largest || std::fabs(rounded) == largest ? 1 : INFINITY;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  return std::fabs(actual - expected) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct Bound {
  UnaryOp op;
  double ulps;
  float alpha = 0, beta = 0;
  float low = -INFINITY, high = INFINITY;  // where the bound holds
};

double worst(const SpanOps& ops, const Bound& bound, const std::vector<float>& x, float* where) {
  std::vector<float> y(x.size());
  ops.unary(bound.op, x.data(), y.data(), static_cast<std::int64_t>(x.size()), bound.alpha,
            bound.beta);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < bound.low || x[i] > bound.high) continue;
    const double error = ulps(y[i], apply(bound.op, x[i], bound.alpha, bound.beta));
    if (error <= most) continue;
    most = error;
    *where = x[i];
  }
  return most;
}

TEST_CASE("span ops: accuracy of the vector functions", "[span_ops]") {
  const std::vector<Bound> bounds = {
      {UnaryOp::exp, 2},
      {UnaryOp::log, 2},
      {UnaryOp::sigmoid, 3},
      {UnaryOp::tanh, 4},
      {UnaryOp::softplus, 4},
      {UnaryOp::erf, 3},
      {UnaryOp::elu, 4, 0.7f},
      {UnaryOp::selu, 5, 1.67326319f, 1.05070102f},
      {UnaryOp::celu, 5, 1.3f},
      {UnaryOp::silu, 4, 1.0f, 0, -87.0f},  // below, exp is subnormal
      {UnaryOp::mish, 6, 0, 0, -87.0f},
      {UnaryOp::gelu, 8, 0, 0, -2.0f},
      {UnaryOp::gelu, 90, 0, 0, -9.0f},  // z² ulp: exp(−z²)
      {UnaryOp::gelu_tanh, 18, 0, 0, -4.0f},
      {UnaryOp::relu, 0},
      {UnaryOp::leaky_relu, 1, 0.01f},
      {UnaryOp::thresholded_relu, 0, 1.5f},
      {UnaryOp::hard_sigmoid, 2, 0.2f, 0.5f, -2.0f},
      {UnaryOp::softsign, 2},
      {UnaryOp::hard_swish, 4, 1.0f / 6, 0.5f, -2.5f},
      {UnaryOp::clip, 0, -1.5f, 6.0f},
      {UnaryOp::shrink, 0, 0.5f, 0.0f},
      {UnaryOp::abs, 0},
      {UnaryOp::neg, 0},
      {UnaryOp::sign, 0},
      {UnaryOp::reciprocal, 1},
      {UnaryOp::sqrt, 1},
      {UnaryOp::floor, 0},
      {UnaryOp::ceil, 0},
      {UnaryOp::round, 0},
      {UnaryOp::square, 1},
      {UnaryOp::linear, 1, 1.5f, 0.0f},
      {UnaryOp::sin, 1},
      {UnaryOp::atan, 1},
      {UnaryOp::logical_not, 0},
  };
  const std::vector<float> x = probes();
  for (const IsaSet& set : usable_variants())
    for (const Bound& bound : bounds) {
      float where = 0;
      const double error = worst(span_ops(set.needs), bound, x, &where);
      INFO(set.name << " " << to_string(bound.op) << ": " << error << " ulp at " << where);
      CHECK(error <= bound.ulps);
    }
}

TEST_CASE("span ops: infinities and NaN", "[span_ops]") {
  const std::vector<float> x = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f};
  for (const IsaSet& set : usable_variants())
    for (int op = 0; op < kUnaryOpCount; ++op) {
      const auto unary = static_cast<UnaryOp>(op);
      if (!is_span_op(unary)) continue;
      std::vector<float> y(x.size());
      span_ops(set.needs).unary(unary, x.data(), y.data(), 5, 0.5f, 1.0f);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto expected = static_cast<float>(apply(unary, x[i], 0.5, 1.0));
        INFO(set.name << " " << to_string(unary) << "(" << x[i] << ") = " << y[i] << ", not "
                      << expected);
        CHECK((std::isnan(expected) ? std::isnan(y[i]) : y[i] == Approx(expected)));
      }
    }
}

TEST_CASE("span ops: a result does not depend on the place in the run", "[span_ops]") {
  std::vector<float> x, y(67), shifted(67);
  for (int i = 0; i < 67; ++i) x.push_back(0.37f * static_cast<float>(i - 33));
  for (const IsaSet& set : usable_variants())
    for (int op = 0; op < kUnaryOpCount; ++op) {
      const auto unary = static_cast<UnaryOp>(op);
      if (!is_span_op(unary)) continue;
      span_ops(set.needs).unary(unary, x.data(), y.data(), 67, 0.5f, 1.0f);
      for (const int first : {1, 3, 8, 15, 17}) {
        shifted = x;
        const int count = 67 - first - first / 2;
        span_ops(set.needs).unary(unary, shifted.data() + first, shifted.data() + first, count,
                                  0.5f, 1.0f);
        for (int i = 0; i < 67; ++i) {
          const auto n = static_cast<std::size_t>(i);
          const float expected = i >= first && i < first + count ? y[n] : x[n];
          INFO(set.name << " " << to_string(unary) << " " << i << " of [" << first << ", "
                        << first + count << ")");
          CHECK((shifted[n] == expected || (std::isnan(expected) && std::isnan(shifted[n]))));
        }
      }
    }
}

float element(const float* data, std::int64_t stride, bool constant, std::int64_t r,
              std::int64_t c) {
  return data[r * stride + (constant ? 0 : c)];
}

TEST_CASE("span ops: binary functions with rows and constants", "[span_ops]") {
  std::vector<float> a, b;
  for (int i = 0; i < 400; ++i) {
    a.push_back(0.25f * static_cast<float>(i % 37) - 3.0f);
    b.push_back(0.5f * static_cast<float>(i % 23) - 5.0f);
  }
  a[5] = NAN;
  b[9] = NAN;
  for (const IsaSet& set : usable_variants())
    for (int op = 0; op <= static_cast<int>(BinaryOp::prelu); ++op)
      for (const std::int64_t columns : {1, 3, 16, 21, 33})
        for (int form = 0; form < 4; ++form) {
          const auto binary = static_cast<BinaryOp>(op);
          std::vector<float> y(static_cast<std::size_t>(3 * columns));
          BinarySpan span;
          span.a = a.data();
          span.b = b.data();
          span.y = y.data();
          span.rows = 3;
          span.columns = columns;
          span.a_is_row_constant = (form & 1) != 0;
          span.b_is_row_constant = (form & 2) != 0;
          span.a_row_stride = span.a_is_row_constant ? 1 : columns;
          span.b_row_stride = span.b_is_row_constant ? 7 : columns + 2;
          span_ops(set.needs).binary(binary, span);
          for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t c = 0; c < columns; ++c) {
              const float va = element(span.a, span.a_row_stride, span.a_is_row_constant, r, c);
              const float vb = element(span.b, span.b_row_stride, span.b_is_row_constant, r, c);
              const float actual = y[static_cast<std::size_t>(r * columns + c)];
              INFO(set.name << " " << to_string(binary) << "(" << va << ", " << vb
                            << ") = " << actual);
              CHECK(ulps(actual, apply(binary, va, vb)) <= 1);
            }
        }
}

}  // namespace
}  // namespace softneuro
