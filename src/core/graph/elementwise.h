// The scalar functions behind the layer types `unary` and `binary` and behind post-ops.
#pragma once

#include <cstdint>
#include <string_view>

#include "softneuro/export.h"
#include "softneuro/types.h"

namespace softneuro {

// y = f(x; alpha, beta). Append only: the numbers are not stored, the names are.
enum class UnaryOp : std::uint8_t {
  // activations
  relu,
  leaky_relu /*alpha*/,
  elu /*alpha*/,
  selu /*alpha, beta=gamma*/,
  celu /*alpha*/,
  thresholded_relu /*alpha*/,
  sigmoid,
  hard_sigmoid /*alpha·x+beta clamped to [0,1]*/,
  tanh,
  softplus,
  softsign,
  hard_swish /*x·clamp(alpha·x+beta,0,1); usual 1/6, 1/2*/,
  silu /*x·sigmoid(alpha·x)*/,
  gelu /*erf form*/,
  gelu_tanh,
  mish,
  clip /*[alpha, beta]*/,
  shrink /*alpha=lambd, beta=bias*/,
  // arithmetic
  abs,
  neg,
  sign,
  reciprocal,
  sqrt,
  exp,
  log,
  erf,
  floor,
  ceil,
  round /*half to even*/,
  square,
  linear /*alpha·x+beta*/,
  // Rounding to the 256 levels of an 8-bit tensor, saturation included (quantize and dequantize in
  // one): alpha·clamp(round(x/alpha), beta, beta+255), where alpha is the scale and beta the lowest
  // level minus the zero point.
  fake_quantize,
  // trigonometry
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  // logic: isnan and isinf give boolean; is_inf: alpha≠0 detects −inf, beta≠0 detects +inf
  logical_not,
  bitwise_not,
  is_nan,
  is_inf,
};
inline constexpr int kUnaryOpCount = static_cast<int>(UnaryOp::is_inf) + 1;

// c = f(a, b).
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div /*integers truncate*/,
  pow,
  max,
  min,
  mod /*sign of the divisor*/,
  fmod /*sign of the dividend*/,
  prelu /*a>=0 ? a : a·b*/,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  // these give boolean
  logical_and,
  logical_or,
  logical_xor,
  equal,
  less,
  less_equal,
  greater,
  greater_equal,
};
inline constexpr int kBinaryOpCount = static_cast<int>(BinaryOp::greater_equal) + 1;

// "hard_swish", …
SN_INTREE const char* to_string(UnaryOp op) noexcept;
SN_INTREE const char* to_string(BinaryOp op) noexcept;
// False if there is none of that name.
SN_INTREE bool parse(std::string_view name, UnaryOp& op) noexcept;
SN_INTREE bool parse(std::string_view name, BinaryOp& op) noexcept;

// Data type of the result: boolean for the predicates, else the (first) operand's.
SN_INTREE DataType result_type(UnaryOp op, DataType operand) noexcept;
SN_INTREE DataType result_type(BinaryOp op, DataType first_operand) noexcept;

// The specification of each function, in double for real types and int64 for integers.
SN_INTREE double apply(UnaryOp op, double x, double alpha, double beta) noexcept;
SN_INTREE double apply(BinaryOp op, double a, double b) noexcept;
// Integer arithmetic wraps in the operand's own width (the caller narrows); division by zero
// and INT64_MIN / −1 give 0 and INT64_MIN: never a trap.
SN_INTREE std::int64_t apply_integer(UnaryOp op, std::int64_t x, double alpha,
                                     double beta) noexcept;
SN_INTREE std::int64_t apply_integer(BinaryOp op, std::int64_t a, std::int64_t b) noexcept;
// For uint64, whose upper half int64 does not hold.
SN_INTREE std::uint64_t apply_unsigned(UnaryOp op, std::uint64_t x, double alpha,
                                       double beta) noexcept;
SN_INTREE std::uint64_t apply_unsigned(BinaryOp op, std::uint64_t a, std::uint64_t b) noexcept;

}  // namespace softneuro
