#include "verify/function_accuracy.h"

namespace softneuro {

FunctionAccuracy accuracy_of(UnaryOp op) noexcept {
  switch (op) {
    // Chosen, or rounded once.
    case UnaryOp::relu:
    case UnaryOp::leaky_relu:
    case UnaryOp::thresholded_relu:
    case UnaryOp::clip:
    case UnaryOp::shrink:
    case UnaryOp::abs:
    case UnaryOp::neg:
    case UnaryOp::sign:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::square:
    case UnaryOp::logical_not:
    case UnaryOp::bitwise_not:
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return {0, 0};
    // Of a few roundings.
    case UnaryOp::reciprocal:
    case UnaryOp::sqrt:
    case UnaryOp::softsign:
    case UnaryOp::fake_quantize:
      return {1, 0};
    // The product is rounded, or not, and the sum may cancel.
    case UnaryOp::linear:
    case UnaryOp::hard_sigmoid:
    case UnaryOp::hard_swish:
      return {2, 1};
    // 1 / (1 + exp(−x)), whose denominator overflows early; the argument is reduced without fused
    // multiplication where there is none.
    case UnaryOp::sigmoid:
      return {.result = 5, .argument = 1, .vanishing = 2};
    case UnaryOp::silu:
      return {.result = 8, .argument = 2, .vanishing = 2, .is_product = true};
    // An exponential of a rounded square, or of what is rounded several times.
    case UnaryOp::gelu:
    case UnaryOp::gelu_tanh:
    case UnaryOp::mish:
      return {8, 2};
    // Approximations; trigonometric functions are exact, since whole turns are taken off in double.
    default:
      return {5, 0};
  }
}

FunctionAccuracy accuracy_of(BinaryOp op) noexcept {
  switch (op) {
    case BinaryOp::div:
    case BinaryOp::pow:
      return {1, 0};
    default:
      return {0, 0};
  }
}

}  // namespace softneuro
