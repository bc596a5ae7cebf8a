#include "plugins/cuda/generate/expression.h"

namespace softneuro::cuda {

const char* expression(UnaryOp op) {
  switch (op) {
    case UnaryOp::relu:
      return "x < 0 ? 0 : x";
    case UnaryOp::leaky_relu:
      return "x < 0 ? a * x : x";
    case UnaryOp::elu:
      return "x < 0 ? a * expm1f(x) : x";
    case UnaryOp::selu:
      return "b * (x < 0 ? a * expm1f(x) : x)";
    case UnaryOp::celu:
      return "x < 0 ? a * expm1f(x / a) : x";
    case UnaryOp::thresholded_relu:
      return "x > a ? x : 0";
    case UnaryOp::sigmoid:
      return "sigmoid(x)";
    case UnaryOp::hard_sigmoid:
      return "clamp(a * x + b, 0, 1)";
    case UnaryOp::tanh:
      return "tanhf(x)";
    case UnaryOp::softplus:
      return "softplus(x)";
    case UnaryOp::softsign:
      return "isinf(x) ? copysignf(1.0f, x) : x / (1 + fabsf(x))";
    case UnaryOp::hard_swish:
      return "x * clamp(a * x + b, 0, 1)";
    case UnaryOp::silu:
      return "x * sigmoid(a * x)";
    case UnaryOp::gelu:
      return "0.5f * x * erfcf(-x * 0.70710678118654752440f)";
    case UnaryOp::gelu_tanh:
      return "x * sigmoid(2 * 0.79788456080286535588f * (x + 0.044715f * x * x * x))";
    case UnaryOp::mish:
      return "x * tanhf(softplus(x))";
    case UnaryOp::clip:
      return "clamp(x, a, b)";
    case UnaryOp::shrink:
      return "x < -a ? x + b : x > a ? x - b : 0";
    case UnaryOp::abs:
      return "fabsf(x)";
    case UnaryOp::neg:
      return "-x";
    case UnaryOp::sign:
      return "x > 0 ? 1 : x < 0 ? -1 : x";
    case UnaryOp::reciprocal:
      return "1 / x";
    case UnaryOp::sqrt:
      return "sqrtf(x)";
    case UnaryOp::exp:
      return "expf(x)";
    case UnaryOp::log:
      return "logf(x)";
    case UnaryOp::erf:
      return "erff(x)";
    case UnaryOp::floor:
      return "floorf(x)";
    case UnaryOp::ceil:
      return "ceilf(x)";
    case UnaryOp::round:
      return "rintf(x)";
    case UnaryOp::square:
      return "x * x";
    case UnaryOp::linear:
      return "a * x + b";
    case UnaryOp::fake_quantize:
      return "a * (clamp(rintf(x / a), b, b + 255) + 0.0f)";
    case UnaryOp::sin:
      return "sinf(x)";
    case UnaryOp::cos:
      return "cosf(x)";
    case UnaryOp::tan:
      return "tanf(x)";
    case UnaryOp::asin:
      return "asinf(x)";
    case UnaryOp::acos:
      return "acosf(x)";
    case UnaryOp::atan:
      return "atanf(x)";
    case UnaryOp::sinh:
      return "sinhf(x)";
    case UnaryOp::cosh:
      return "coshf(x)";
    case UnaryOp::asinh:
      return "asinhf(x)";
    case UnaryOp::acosh:
      return "acoshf(x)";
    case UnaryOp::atanh:
      return "atanhf(x)";
    case UnaryOp::logical_not:
    case UnaryOp::bitwise_not:
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return nullptr;
  }
  return nullptr;
}

const char* expression(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "p + q";
    case BinaryOp::sub:
      return "p - q";
    case BinaryOp::mul:
      return "p * q";
    case BinaryOp::div:
      return "p / q";
    case BinaryOp::pow:
      return "powf(p, q)";
    case BinaryOp::max:
      return "isnan(p) || p > q ? p : q";
    case BinaryOp::min:
      return "isnan(p) || p < q ? p : q";
    case BinaryOp::mod:
      return "floor_mod(p, q)";
    case BinaryOp::fmod:
      return "fmodf(p, q)";
    case BinaryOp::prelu:
      return "p < 0 ? p * q : p";
    default:  // of integers, or with boolean results
      return nullptr;
  }
}

}  // namespace softneuro::cuda
