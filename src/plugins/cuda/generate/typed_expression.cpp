#include "plugins/cuda/generate/typed_expression.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "plugins/cuda/generate/expression.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {
namespace {

// Sums and products wrap: of unsigned numbers of the same width.
constexpr const char* kIntegerFunctions = R"(
__device__ inline unsigned bits_of(int x) { return (unsigned)x; }
__device__ inline unsigned long long bits_of(long long x) { return (unsigned long long)x; }
__device__ inline unsigned long long bits_of(unsigned long long x) { return x; }
template <class W>
__device__ inline bool is_minus_one(W x) { return (W)-1 < (W)0 && x == (W)-1; }
template <class W>
__device__ inline W integer_div(W p, W q) {
  if (q == 0) return 0;
  return is_minus_one(q) ? (W)(0 - bits_of(p)) : p / q;
}
template <class W>
__device__ inline W integer_fmod(W p, W q) {
  return q == 0 || is_minus_one(q) ? 0 : p % q;
}
template <class W>
__device__ inline W integer_mod(W p, W q) {
  const W r = integer_fmod(p, q);
  return r != 0 && (r < 0) != (q < 0) ? r + q : r;
}
template <class W>
__device__ inline W integer_pow(W p, W q) {
  if (q < 0) return p == 1 ? 1 : is_minus_one(p) ? (q % 2 == 0 ? 1 : -1) : 0;
  auto result = bits_of((W)1), base = bits_of(p);
  for (auto n = bits_of(q); n != 0; n >>= 1, base *= base)
    if (n & 1) result *= base;
  return (W)result;
}
template <class W>
__device__ inline W shift_left(W p, W q) {
  return q < 0 || q >= (W)(8 * sizeof(W)) ? 0 : (W)(bits_of(p) << (int)q);
}
template <class W>
__device__ inline W shift_right(W p, W q) {
  return q < 0 || q >= (W)(8 * sizeof(W)) ? (p < 0 ? (W)-1 : (W)0) : p >> (int)q;
}
)";

// Towards zero; beyond the type the nearest number of it, NaN is 0.
constexpr const char* kTruncated = R"(
template <class T, class R>
__device__ inline T truncated(R x) {
  constexpr bool is_signed = (T)-1 < (T)0;
  constexpr unsigned long long half = 1ull << (8 * sizeof(T) - 1);
  constexpr R beyond = (R)half * (is_signed ? 1 : 2), low = is_signed ? -(R)half : (R)0;
  if (isnan(x)) return 0;
  if (x <= low) return is_signed ? (T)half : (T)0;
  if (x >= beyond) return is_signed ? (T)(half - 1) : (T)-1;
  return (T)x;
}
)";

// The float that rounds to the same number of 16 bits: where a float is not exact, the neighbour
// with an odd last bit, so that rounding twice does as well as rounding once.
constexpr const char* kToOdd = R"(
__device__ inline float to_odd(double x) {
  const float nearest = (float)x;
  if ((double)nearest == x || isnan(x)) return nearest;
  unsigned bits = __float_as_uint(nearest);
  if ((bits & 1) == 0) bits += fabs((double)nearest) > fabs(x) ? ~0u : 1u;
  return __uint_as_float(bits);
}
)";

bool fits_int(DataType type) {
  return type == DataType::boolean || size_of(type) < 4 || type == DataType::int32;
}

// The text of a float function for double: expf( is exp(, 0.5f is 0.5.
std::string of_double(const char* text) {
  if (text == nullptr) return {};
  const std::string_view from = text;
  std::string to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool is_suffix =
        from[i] == 'f' && i > 0 &&
        (std::isdigit(static_cast<unsigned char>(from[i - 1])) != 0 || from.substr(i, 2) == "f(");
    const bool is_isinf = i >= 4 && from.substr(i - 4, 5) == "isinf";
    if (!is_suffix || is_isinf) to += from[i];
  }
  return to;
}

}  // namespace

const char* integer_type(DataType type) {
  if (fits_int(type)) return "int";
  return type == DataType::uint64 ? "unsigned long long" : "long long";
}

const char* integer_type(DataType first, DataType second) {
  if (first == DataType::uint64) return "unsigned long long";
  return fits_int(first) && fits_int(second) ? "int" : "long long";
}

const char* integer_expression(UnaryOp op) {
  switch (op) {
    case UnaryOp::relu:
      return "x < 0 ? 0 : x";
    case UnaryOp::abs:
      return "x < 0 ? (W)(0 - bits_of(x)) : x";
    case UnaryOp::neg:
      return "(W)(0 - bits_of(x))";
    case UnaryOp::sign:
      return "(x > 0) - (x < 0)";
    case UnaryOp::square:
      return "(W)(bits_of(x) * bits_of(x))";
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
      return "x";
    case UnaryOp::logical_not:
      return "x == 0";
    case UnaryOp::bitwise_not:
      return "~x";
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return "0";
    default:
      return nullptr;
  }
}

const char* integer_expression(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "(W)(bits_of(p) + bits_of(q))";
    case BinaryOp::sub:
      return "(W)(bits_of(p) - bits_of(q))";
    case BinaryOp::mul:
      return "(W)(bits_of(p) * bits_of(q))";
    case BinaryOp::div:
      return "integer_div(p, q)";
    case BinaryOp::pow:
      return "integer_pow(p, q)";
    case BinaryOp::max:
      return "p > q ? p : q";
    case BinaryOp::min:
      return "p < q ? p : q";
    case BinaryOp::mod:
      return "integer_mod(p, q)";
    case BinaryOp::fmod:
      return "integer_fmod(p, q)";
    case BinaryOp::prelu:
      return "p < 0 ? (W)(bits_of(p) * bits_of(q)) : p";
    case BinaryOp::bitwise_and:
      return "p & q";
    case BinaryOp::bitwise_or:
      return "p | q";
    case BinaryOp::bitwise_xor:
      return "p ^ q";
    case BinaryOp::shift_left:
      return "shift_left(p, q)";
    case BinaryOp::shift_right:
      return "shift_right(p, q)";
    default:
      return predicate(op);
  }
}

const char* integer_functions() {
  return kIntegerFunctions;
}

const char* predicate(UnaryOp op) {
  if (op == UnaryOp::is_nan) return "isnan(x)";
  return op == UnaryOp::is_inf ? "isinf(x) && (x < 0 ? a != 0 : b != 0)" : nullptr;
}

const char* predicate(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_and:
      return "p != 0 && q != 0";
    case BinaryOp::logical_or:
      return "p != 0 || q != 0";
    case BinaryOp::logical_xor:
      return "(p != 0) != (q != 0)";
    case BinaryOp::equal:
      return "p == q";
    case BinaryOp::less:
      return "p < q";
    case BinaryOp::less_equal:
      return "p <= q";
    case BinaryOp::greater:
      return "p > q";
    case BinaryOp::greater_equal:
      return "p >= q";
    default:
      return nullptr;
  }
}

std::string double_expression(UnaryOp op) {
  if (op == UnaryOp::fake_quantize) return {};  // its quotient is a float
  return of_double(expression(op));
}

std::string double_expression(BinaryOp op) {
  return of_double(expression(op));
}

std::string double_functions() {
  std::string text = of_double(float_functions());
  for (std::size_t at = 0; (at = text.find("float", at)) != std::string::npos;)
    text.replace(at, 5, "double");
  return text;
}

std::string conversion(KernelSource& source, const std::string& x, DataType from, DataType to) {
  if (to == DataType::boolean) return fmt::format("({} != 0)", x);
  const bool is_half = to == DataType::float16 || to == DataType::bfloat16;
  if (is_half && (from == DataType::float64 || (!is_float(from) && size_of(from) > 2))) {
    source.add_function(kToOdd);
    return fmt::format("to_odd((double)({}))", x);
  }
  if (is_float(to) || !is_float(from)) return fmt::format("({})({})", number_type(to), x);
  source.add_function(kTruncated);
  return fmt::format("truncated<{}>({})", stored_type(to), x);
}

}  // namespace softneuro::cuda
