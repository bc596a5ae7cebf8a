// The loops behind SpanOps. Each function is written once, for one vector (apply below); loops
// over memory are made of it.
#include "cpu/simd/span_ops.h"

#include "cpu/simd/vector_math.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

template <UnaryOp op>
SN_INLINE FloatV activate(FloatV x, float alpha, float beta) {
  if constexpr (op == UnaryOp::relu) return select(x < 0.0f, FloatV{}, x);
  if constexpr (op == UnaryOp::leaky_relu) return select(x < 0.0f, x * alpha, x);
  if constexpr (op == UnaryOp::elu) return select(x < 0.0f, expm1(x) * alpha, x);
  if constexpr (op == UnaryOp::selu) return select(x < 0.0f, expm1(x) * alpha, x) * beta;
  if constexpr (op == UnaryOp::celu) return select(x < 0.0f, expm1(x / alpha) * alpha, x);
  if constexpr (op == UnaryOp::thresholded_relu) return select(x > alpha, x, FloatV{});
  if constexpr (op == UnaryOp::sigmoid) return sigmoid(x);
  if constexpr (op == UnaryOp::hard_sigmoid) return clamp(x * alpha + beta, 0.0f, 1.0f);
  if constexpr (op == UnaryOp::tanh) return tanh(x);
  if constexpr (op == UnaryOp::softplus) return softplus(x);
  if constexpr (op == UnaryOp::softsign) {
    const FloatV magnitude = abs(x);
    return select(magnitude == __builtin_inff(), copysign(splat(1.0f), x), x / (magnitude + 1.0f));
  }
  if constexpr (op == UnaryOp::hard_swish) return x * clamp(x * alpha + beta, 0.0f, 1.0f);
  if constexpr (op == UnaryOp::silu) return silu(x, alpha);
  if constexpr (op == UnaryOp::gelu) return gelu(x);
  if constexpr (op == UnaryOp::gelu_tanh)
    return x * sigmoid((x * x * x * 0.044715f + x) * 1.59576912f);
  if constexpr (op == UnaryOp::mish) return mish(x);
  if constexpr (op == UnaryOp::clip) return clamp(x, alpha, beta);
  if constexpr (op == UnaryOp::shrink)
    return select(x < -alpha, x + beta, select(x > alpha, x - beta, FloatV{}));
}

template <UnaryOp op>
SN_INLINE FloatV compute(FloatV x, float alpha, float beta) {
  if constexpr (op == UnaryOp::abs) return abs(x);
  if constexpr (op == UnaryOp::neg) return -x;
  if constexpr (op == UnaryOp::sign)
    return select((x > 0.0f) | (x < 0.0f), copysign(splat(1.0f), x), x);
  if constexpr (op == UnaryOp::reciprocal) return 1.0f / x;
  if constexpr (op == UnaryOp::sqrt) return sqrt(x);
  if constexpr (op == UnaryOp::exp) return exp(x);
  if constexpr (op == UnaryOp::log) return log(x);
  if constexpr (op == UnaryOp::erf) return erf(x);
  if constexpr (op == UnaryOp::floor) return floor(x);
  if constexpr (op == UnaryOp::ceil) return ceil(x);
  if constexpr (op == UnaryOp::round) return round(x);
  if constexpr (op == UnaryOp::square) return x * x;
  if constexpr (op == UnaryOp::linear) return x * alpha + beta;
  if constexpr (op == UnaryOp::fake_quantize)
    return (clamp(round(x / alpha), beta, beta + 255.0f) + 0.0f) * alpha;  // no -0: an integer
}

template <UnaryOp op>
void unary_loop(const float* x, float* y, std::int64_t count, float alpha, float beta) noexcept {
  const auto apply_op = [=](FloatV v) __attribute__((always_inline)) {
    if constexpr (op <= UnaryOp::shrink)
      return activate<op>(v, alpha, beta);
    else
      return compute<op>(v, alpha, beta);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, apply_op(load(x + i)));
  if (i < count) store_first(y + i, apply_op(load_first(x + i, count - i)), count - i);
}

// What has no vector form: rare in nets, and exact to the last bit this way.
void unary_by_one(UnaryOp op, const float* x, float* y, std::int64_t count, float alpha,
                  float beta) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(apply(op, static_cast<double>(x[i]), static_cast<double>(alpha),
                                    static_cast<double>(beta)));
}

void unary(UnaryOp op, const float* x, float* y, std::int64_t count, float alpha,
           float beta) noexcept {
  switch (op) {
#define SN_CASE(name) \
  case UnaryOp::name: \
    return unary_loop<UnaryOp::name>(x, y, count, alpha, beta)
    SN_CASE(relu);
    SN_CASE(leaky_relu);
    SN_CASE(elu);
    SN_CASE(selu);
    SN_CASE(celu);
    SN_CASE(thresholded_relu);
    SN_CASE(sigmoid);
    SN_CASE(hard_sigmoid);
    SN_CASE(tanh);
    SN_CASE(softplus);
    SN_CASE(softsign);
    SN_CASE(hard_swish);
    SN_CASE(silu);
    SN_CASE(gelu);
    SN_CASE(gelu_tanh);
    SN_CASE(mish);
    SN_CASE(clip);
    SN_CASE(shrink);
    SN_CASE(abs);
    SN_CASE(neg);
    SN_CASE(sign);
    SN_CASE(reciprocal);
    SN_CASE(sqrt);
    SN_CASE(exp);
    SN_CASE(log);
    SN_CASE(erf);
    SN_CASE(floor);
    SN_CASE(ceil);
    SN_CASE(round);
    SN_CASE(square);
    SN_CASE(linear);
    SN_CASE(fake_quantize);
#undef SN_CASE
    default:
      return unary_by_one(op, x, y, count, alpha, beta);
  }
}

template <BinaryOp op>
SN_INLINE FloatV combine(FloatV a, FloatV b) {
  if constexpr (op == BinaryOp::add) return a + b;
  if constexpr (op == BinaryOp::sub) return a - b;
  if constexpr (op == BinaryOp::mul) return a * b;
  if constexpr (op == BinaryOp::div) return a / b;
  if constexpr (op == BinaryOp::max) return select((a > b) | is_nan(a), a, b);
  if constexpr (op == BinaryOp::min) return select((a < b) | is_nan(a), a, b);
  if constexpr (op == BinaryOp::prelu) return select(a < 0.0f, a * b, a);
}

// One row; an operand that is constant along it is loaded once.
template <BinaryOp op, bool a_constant, bool b_constant>
SN_INLINE void binary_row(const float* a, const float* b, float* y, std::int64_t count) {
  FloatV va = a_constant ? splat(*a) : FloatV{};
  FloatV vb = b_constant ? splat(*b) : FloatV{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if constexpr (!a_constant) va = load(a + i);
    if constexpr (!b_constant) vb = load(b + i);
    store(y + i, combine<op>(va, vb));
  }
  if (i == count) return;
  if constexpr (!a_constant) va = load_first(a + i, count - i);
  if constexpr (!b_constant) vb = load_first(b + i, count - i);
  store_first(y + i, combine<op>(va, vb), count - i);
}

// Rows may be as short as a block of channels.
template <BinaryOp op, bool a_constant, bool b_constant>
void binary_rows(const BinarySpan& s) noexcept {
  for (std::int64_t r = 0; r < s.rows; ++r)
    binary_row<op, a_constant, b_constant>(s.a + r * s.a_row_stride, s.b + r * s.b_row_stride,
                                           s.y + r * s.columns, s.columns);
}

template <BinaryOp op>
void binary_loop(const BinarySpan& s) noexcept {
  if (s.a_is_row_constant)
    s.b_is_row_constant ? binary_rows<op, true, true>(s) : binary_rows<op, true, false>(s);
  else
    s.b_is_row_constant ? binary_rows<op, false, true>(s) : binary_rows<op, false, false>(s);
}

void binary_by_one(BinaryOp op, const BinarySpan& s) noexcept {
  const std::int64_t a_step = s.a_is_row_constant ? 0 : 1, b_step = s.b_is_row_constant ? 0 : 1;
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t c = 0; c < s.columns; ++c) {
      const double a = static_cast<double>(s.a[r * s.a_row_stride + c * a_step]);
      const double b = static_cast<double>(s.b[r * s.b_row_stride + c * b_step]);
      s.y[r * s.columns + c] = static_cast<float>(apply(op, a, b));
    }
}

// One exponent for a whole row is nearly always a square, a cube or a root.
void power_row(const float* a, float exponent, float* y, std::int64_t count) noexcept {
  if (exponent == 1.0f) return unary_loop<UnaryOp::linear>(a, y, count, 1.0f, 0.0f);
  if (exponent == 2.0f) return unary_loop<UnaryOp::square>(a, y, count, 0.0f, 0.0f);
  if (exponent == -1.0f) return unary_loop<UnaryOp::reciprocal>(a, y, count, 0.0f, 0.0f);
  BinarySpan row;
  row.a = a;
  row.b = &exponent;
  row.y = y;
  row.columns = count;
  row.b_is_row_constant = true;
  binary_by_one(BinaryOp::pow, row);
}

void binary(BinaryOp op, const BinarySpan& s) noexcept {
  switch (op) {
#define SN_CASE(name)  \
  case BinaryOp::name: \
    return binary_loop<BinaryOp::name>(s)
    SN_CASE(add);
    SN_CASE(sub);
    SN_CASE(mul);
    SN_CASE(div);
    SN_CASE(max);
    SN_CASE(min);
    SN_CASE(prelu);
#undef SN_CASE
    case BinaryOp::pow:
      if (!s.b_is_row_constant || s.a_is_row_constant) return binary_by_one(op, s);
      for (std::int64_t r = 0; r < s.rows; ++r)
        power_row(s.a + r * s.a_row_stride, s.b[r * s.b_row_stride], s.y + r * s.columns,
                  s.columns);
      return;
    default:
      return binary_by_one(op, s);
  }
}

}  // namespace

extern const SpanOps kSpanOps;
const SpanOps kSpanOps = {unary, binary};

}  // namespace softneuro::SN_ISA_NAMESPACE
