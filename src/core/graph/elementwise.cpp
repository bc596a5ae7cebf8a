#include "core/graph/elementwise.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/element.h"

namespace softneuro {
namespace {

constexpr const char* kUnaryNames[] = {
    "relu",    "leaky_relu",    "elu",         "selu",       "celu",     "thresholded_relu",
    "sigmoid", "hard_sigmoid",  "tanh",        "softplus",   "softsign", "hard_swish",
    "silu",    "gelu",          "gelu_tanh",   "mish",       "clip",     "shrink",
    "abs",     "neg",           "sign",        "reciprocal", "sqrt",     "exp",
    "log",     "erf",           "floor",       "ceil",       "round",    "square",
    "linear",  "fake_quantize", "sin",         "cos",        "tan",      "asin",
    "acos",    "atan",          "sinh",        "cosh",       "asinh",    "acosh",
    "atanh",   "logical_not",   "bitwise_not", "is_nan",     "is_inf"};
constexpr const char* kBinaryNames[] = {
    "add",         "sub",        "mul",         "div",         "pow",          "max",
    "min",         "mod",        "fmod",        "prelu",       "bitwise_and",  "bitwise_or",
    "bitwise_xor", "shift_left", "shift_right", "logical_and", "logical_or",   "logical_xor",
    "equal",       "less",       "less_equal",  "greater",     "greater_equal"};
static_assert(std::size(kUnaryNames) == kUnaryOpCount);
static_assert(std::size(kBinaryNames) == kBinaryOpCount);

// The number of `name` among `names` as `op`; false if it is not there.
template <class Op, std::size_t n>
bool find_name(const char* const (&names)[n], std::string_view name, Op& op) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return false;
  op = static_cast<Op>(found - std::begin(names));
  return true;
}

double sigmoid(double x) {
  // Never exp of a positive number: no overflow, and no 1 − tiny.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double softplus(double x) {
  if (std::isnan(x)) return x;
  return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
}

// NaN passes through; an upper limit below the lower one wins.
double clamp(double x, double low, double high) {
  if (x < low) x = low;
  if (x > high) x = high;
  return x;
}

double activation(UnaryOp op, double x, double alpha, double beta) {
  switch (op) {
    case UnaryOp::relu:
      return x < 0 ? 0 : x;
    case UnaryOp::leaky_relu:
      return x < 0 ? alpha * x : x;
    case UnaryOp::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case UnaryOp::selu:
      return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case UnaryOp::celu:
      return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case UnaryOp::thresholded_relu:
      return x > alpha ? x : 0;  // NaN is not greater
    case UnaryOp::sigmoid:
      return sigmoid(x);
    case UnaryOp::hard_sigmoid:
      return clamp(alpha * x + beta, 0, 1);
    case UnaryOp::tanh:
      return std::tanh(x);
    case UnaryOp::softplus:
      return softplus(x);
    case UnaryOp::softsign:
      // x / (1 + |x|) is ∞/∞ at the ends.
      return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x));
    case UnaryOp::hard_swish:
      return x * clamp(alpha * x + beta, 0, 1);
    case UnaryOp::silu:
      return x * sigmoid(alpha * x);
    case UnaryOp::gelu:
      // erfc keeps the digits that 1 + erf loses for negative x.
      return 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case UnaryOp::gelu_tanh:
      // 0.5·(1 + tanh(u)) = sigmoid(2·u), without the cancellation for negative x.
      return x * sigmoid(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x));
    case UnaryOp::mish:
      return x * std::tanh(softplus(x));
    case UnaryOp::clip:
      return clamp(x, alpha, beta);
    default:  // shrink
      return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
  }
}

double transcendental(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::exp:
      return std::exp(x);
    case UnaryOp::log:
      return std::log(x);
    case UnaryOp::erf:
      return std::erf(x);
    case UnaryOp::sin:
      return std::sin(x);
    case UnaryOp::cos:
      return std::cos(x);
    case UnaryOp::tan:
      return std::tan(x);
    case UnaryOp::asin:
      return std::asin(x);
    case UnaryOp::acos:
      return std::acos(x);
    case UnaryOp::atan:
      return std::atan(x);
    case UnaryOp::sinh:
      return std::sinh(x);
    case UnaryOp::cosh:
      return std::cosh(x);
    case UnaryOp::asinh:
      return std::asinh(x);
    case UnaryOp::acosh:
      return std::acosh(x);
    default:
      return std::atanh(x);
  }
}

// Largest and smallest int64, or the limit itself, truncated.
std::int64_t integer_limit(double limit) {
  return from_double<std::int64_t>(limit);
}

std::int64_t wrap(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits);
}
std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

// By squaring; wraps modulo 2^64, of which every narrower type takes the low bits.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

std::int64_t signed_power(std::int64_t base, std::int64_t exponent) {
  if (exponent >= 0) return wrap(power(bits(base), bits(exponent)));
  // 1 / base^|exponent|, truncated.
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  return 0;
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap(0 - bits(a)) : a / b;
}

// Sign of the dividend.
std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = remainder_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOp::equal:
      return a == b;
    case BinaryOp::less:
      return a < b;
    case BinaryOp::less_equal:
      return a <= b;
    case BinaryOp::greater:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace

const char* to_string(UnaryOp op) noexcept {
  return kUnaryNames[static_cast<int>(op)];
}
const char* to_string(BinaryOp op) noexcept {
  return kBinaryNames[static_cast<int>(op)];
}

bool parse(std::string_view name, UnaryOp& op) noexcept {
  return find_name(kUnaryNames, name, op);
}
bool parse(std::string_view name, BinaryOp& op) noexcept {
  return find_name(kBinaryNames, name, op);
}

DataType result_type(UnaryOp op, DataType operand) noexcept {
  return op == UnaryOp::is_nan || op == UnaryOp::is_inf ? DataType::boolean : operand;
}

DataType result_type(BinaryOp op, DataType first_operand) noexcept {
  return op >= BinaryOp::logical_and ? DataType::boolean : first_operand;
}

double apply(UnaryOp op, double x, double alpha, double beta) noexcept {
  switch (op) {
    case UnaryOp::abs:
      return std::fabs(x);
    case UnaryOp::neg:
      return -x;
    case UnaryOp::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;  // NaN and ±0 stay
    case UnaryOp::reciprocal:
      return 1 / x;
    case UnaryOp::sqrt:
      return std::sqrt(x);
    case UnaryOp::floor:
      return std::floor(x);
    case UnaryOp::ceil:
      return std::ceil(x);
    case UnaryOp::round:
      return std::nearbyint(x);
    case UnaryOp::square:
      return x * x;
    case UnaryOp::linear:
      return alpha * x + beta;
    case UnaryOp::fake_quantize:
      // The quotient's bits decide ties: float32, as in a layer quantize.
      // Levels are integers, which have no -0.
      return alpha * (clamp(std::nearbyint(static_cast<float>(x) / static_cast<float>(alpha)), beta,
                            beta + 255) +
                      0.0);
    case UnaryOp::logical_not:
      return x == 0;
    case UnaryOp::bitwise_not:
      return static_cast<double>(~integer_limit(x));
    case UnaryOp::is_nan:
      return std::isnan(x);
    case UnaryOp::is_inf:
      return std::isinf(x) && (x < 0 ? alpha != 0 : beta != 0);
    default:
      return op <= UnaryOp::shrink ? activation(op, x, alpha, beta) : transcendental(op, x);
  }
}

double apply(BinaryOp op, double a, double b) noexcept {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::pow:
      return std::pow(a, b);
    case BinaryOp::max:  // NaN of either side wins, unlike std::fmax
      return std::isnan(a) || a > b ? a : b;
    case BinaryOp::min:
      return std::isnan(a) || a < b ? a : b;
    case BinaryOp::mod:
      return floor_mod(a, b);
    case BinaryOp::fmod:
      return std::fmod(a, b);
    case BinaryOp::prelu:
      return a < 0 ? a * b : a;
    case BinaryOp::bitwise_and:
    case BinaryOp::bitwise_or:
    case BinaryOp::bitwise_xor:
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      return static_cast<double>(apply_integer(op, integer_limit(a), integer_limit(b)));
    default:
      return compare(op, a, b);
  }
}

std::int64_t apply_integer(UnaryOp op, std::int64_t x, double alpha, double beta) noexcept {
  switch (op) {
    case UnaryOp::relu:
      return x < 0 ? 0 : x;
    case UnaryOp::abs:
      return x < 0 ? wrap(0 - bits(x)) : x;
    case UnaryOp::neg:
      return wrap(0 - bits(x));
    case UnaryOp::sign:
      return (x > 0) - (x < 0);
    case UnaryOp::square:
      return wrap(bits(x) * bits(x));
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
      return x;
    case UnaryOp::clip:
      if (x < integer_limit(alpha)) x = integer_limit(alpha);
      return x > integer_limit(beta) ? integer_limit(beta) : x;
    case UnaryOp::logical_not:
      return x == 0;
    case UnaryOp::bitwise_not:
      return ~x;
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return 0;
    default:
      return integer_limit(apply(op, static_cast<double>(x), alpha, beta));
  }
}

std::int64_t apply_integer(BinaryOp op, std::int64_t a, std::int64_t b) noexcept {
  switch (op) {
    case BinaryOp::add:
      return wrap(bits(a) + bits(b));
    case BinaryOp::sub:
      return wrap(bits(a) - bits(b));
    case BinaryOp::mul:
      return wrap(bits(a) * bits(b));
    case BinaryOp::div:
      return quotient(a, b);
    case BinaryOp::pow:
      return signed_power(a, b);
    case BinaryOp::max:
      return a > b ? a : b;
    case BinaryOp::min:
      return a < b ? a : b;
    case BinaryOp::mod:
      return floor_mod(a, b);
    case BinaryOp::fmod:
      return remainder_of(a, b);
    case BinaryOp::prelu:
      return a < 0 ? wrap(bits(a) * bits(b)) : a;
    case BinaryOp::bitwise_and:
      return a & b;
    case BinaryOp::bitwise_or:
      return a | b;
    case BinaryOp::bitwise_xor:
      return a ^ b;
    case BinaryOp::shift_left:
      return b < 0 || b > 63 ? 0 : wrap(bits(a) << b);
    case BinaryOp::shift_right:
      return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
    default:
      return compare(op, a, b);
  }
}

std::uint64_t apply_unsigned(UnaryOp op, std::uint64_t x, double alpha, double beta) noexcept {
  switch (op) {
    case UnaryOp::relu:
    case UnaryOp::abs:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
      return x;
    case UnaryOp::sign:
      return x != 0;
    case UnaryOp::clip:
      if (x < from_double<std::uint64_t>(alpha)) x = from_double<std::uint64_t>(alpha);
      return x > from_double<std::uint64_t>(beta) ? from_double<std::uint64_t>(beta) : x;
    case UnaryOp::neg:
    case UnaryOp::square:
    case UnaryOp::logical_not:
    case UnaryOp::bitwise_not:
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:  // the same bits, signed or not
      return bits(apply_integer(op, wrap(x), alpha, beta));
    default:
      return from_double<std::uint64_t>(apply(op, static_cast<double>(x), alpha, beta));
  }
}

std::uint64_t apply_unsigned(BinaryOp op, std::uint64_t a, std::uint64_t b) noexcept {
  switch (op) {
    case BinaryOp::div:
      return b == 0 ? 0 : a / b;
    case BinaryOp::pow:
      return power(a, b);
    case BinaryOp::max:
      return a > b ? a : b;
    case BinaryOp::min:
      return a < b ? a : b;
    case BinaryOp::mod:
    case BinaryOp::fmod:
      return b == 0 ? 0 : a % b;
    case BinaryOp::prelu:
      return a;
    case BinaryOp::shift_left:
      return b > 63 ? 0 : a << b;
    case BinaryOp::shift_right:
      return b > 63 ? 0 : a >> b;
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::bitwise_and:
    case BinaryOp::bitwise_or:
    case BinaryOp::bitwise_xor:  // the same bits, signed or not
      return bits(apply_integer(op, wrap(a), wrap(b)));
    default:
      return compare(op, a, b);
  }
}

}  // namespace softneuro
