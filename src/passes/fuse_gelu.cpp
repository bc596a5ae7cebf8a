// fuse_gelu: the two ways in which models spell out a GELU.
//
//   erf:   ½ · x · (1 + erf(x / √2))
//   tanh:  ½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
//
// The factors may stand anywhere, x³ may be a power or products. Constants may differ by what the
// data type rounds (is_close). Exact up to rounding; results that the long form loses in 1 + erf(x)
// keep their digits.
#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

constexpr double kInverseSqrt2 = 0.70710678118654752440;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

// a·x + b·x³ as the product (p·x) · (q + r·x²), in either order. What is matched is appended to
// `layers`.
bool match_product(const Rewriter& rewriter, TensorId id, TensorId x, double& a, double& b,
                   std::vector<int>& layers) {
  const int product = find_binary(rewriter, id, BinaryOp::mul);
  if (product < 0) return false;
  for (const std::size_t k : {0u, 1u}) {
    const auto plain = linear_in(rewriter, rewriter.layer(product).inputs[k], x);
    const Linear factor = strip_linear(rewriter, rewriter.layer(product).inputs[1 - k]);
    const int square = find_unary(rewriter, factor.x, UnaryOp::square);
    if (!plain || plain->beta != 0 || square < 0 || rewriter.layer(square).inputs[0] != x) continue;
    layers.insert(layers.end(), {product, square});
    if (plain->layer >= 0) layers.push_back(plain->layer);
    if (factor.layer >= 0) layers.push_back(factor.layer);
    a = plain->alpha * factor.beta;
    b = plain->alpha * factor.alpha;
    return true;
  }
  return false;
}

// factor · x³, as a power or as products.
bool match_cube(const Rewriter& rewriter, TensorId id, TensorId x, double& factor,
                std::vector<int>& layers) {
  const Linear scaled = strip_linear(rewriter, id);
  if (scaled.beta != 0) return false;
  factor = scaled.alpha;
  if (scaled.layer >= 0) layers.push_back(scaled.layer);
  if (const int power = find_binary(rewriter, scaled.x, BinaryOp::pow); power >= 0) {
    const Layer& layer = rewriter.layer(power);
    layers.push_back(power);
    return layer.inputs[0] == x && scalar_of(rewriter.graph(), layer.inputs[1]) == 3.0;
  }
  double a = 0, b = 0;
  if (!match_product(rewriter, scaled.x, x, a, b, layers) || a != 0) return false;
  factor *= b;
  return true;
}

// a·x + b·x³, as a sum or as x · (a + b·x²).
bool match_cubic(const Rewriter& rewriter, TensorId id, TensorId x, double& a, double& b,
                 std::vector<int>& layers) {
  const Linear scaled = strip_linear(rewriter, id);
  if (scaled.beta != 0) return false;
  if (scaled.layer >= 0) layers.push_back(scaled.layer);
  if (const int sum = find_binary(rewriter, scaled.x, BinaryOp::add); sum >= 0) {
    for (const std::size_t k : {0u, 1u}) {
      const auto plain = linear_in(rewriter, rewriter.layer(sum).inputs[k], x);
      std::vector<int> cube_layers;
      if (!plain || plain->beta != 0 ||
          !match_cube(rewriter, rewriter.layer(sum).inputs[1 - k], x, b, cube_layers))
        continue;
      layers.push_back(sum);
      if (plain->layer >= 0) layers.push_back(plain->layer);
      layers.insert(layers.end(), cube_layers.begin(), cube_layers.end());
      a = scaled.alpha * plain->alpha;
      b *= scaled.alpha;
      return true;
    }
    return false;
  }
  if (!match_product(rewriter, scaled.x, x, a, b, layers)) return false;
  a *= scaled.alpha;
  b *= scaled.alpha;
  return true;
}

std::optional<Params> match_gelu(const Rewriter& rewriter, GatedProduct& product, DataType type) {
  const Linear gate = strip_linear(rewriter, product.gate);  // ½ + ½·erf(…), or 1 + erf(…)
  if (gate.layer < 0 || !is_close(product.factor * gate.alpha, 0.5, type) ||
      !is_close(product.factor * gate.beta, 0.5, type))
    return std::nullopt;
  product.layers.push_back(gate.layer);
  if (const int erf = find_unary(rewriter, gate.x, UnaryOp::erf); erf >= 0) {
    const auto inner = linear_in(rewriter, rewriter.layer(erf).inputs[0], product.x);
    if (!inner || inner->beta != 0 || inner->layer < 0 ||
        !is_close(inner->alpha, kInverseSqrt2, type))
      return std::nullopt;
    product.layers.insert(product.layers.end(), {erf, inner->layer});
    return unary_params(UnaryOp::gelu);
  }
  if (const int tanh = find_unary(rewriter, gate.x, UnaryOp::tanh); tanh >= 0) {
    double a = 0, b = 0;
    product.layers.push_back(tanh);
    if (!match_cubic(rewriter, rewriter.layer(tanh).inputs[0], product.x, a, b, product.layers) ||
        !is_close(a, kSqrt2OverPi, type) || !is_close(b, kSqrt2OverPi * kCubic, type))
      return std::nullopt;
    return unary_params(UnaryOp::gelu_tanh);
  }
  return std::nullopt;
}

}  // namespace

Status fuse_gelu(Rewriter& rewriter, int i) {
  return fuse_gated_products(rewriter, i, match_gelu);
}

}  // namespace softneuro
