#include "plugins/cuda/chain_source.h"

#include <cstring>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

// Of x, a (alpha) and b (beta); null: there is no such function of float32.
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
      return "isinf(x) ? copysignf(1, x) : x / (1 + fabsf(x))";
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

// Of p and q.
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

constexpr const char* kFunctions = R"(
__device__ inline float clamp(float x, float low, float high) {
  if (x < low) x = low;
  if (x > high) x = high;
  return x;
}
__device__ inline float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}
__device__ inline float softplus(float x) {
  return isnan(x) ? x : (x > 0 ? x : 0) + log1pf(expf(-fabsf(x)));
}
__device__ inline float floor_mod(float p, float q) {
  const float r = fmodf(p, q);
  if (r == 0) return copysignf(0, q);
  return (r < 0) != (q < 0) ? r + q : r;
}
struct Walk {
  long long dims[8], strides[8];
};
template <int rank>
__device__ inline long long at(Index i, const Walk& walk) {
  long long offset = 0;
#pragma unroll
  for (int d = rank - 1; d > 0; --d) {
    const Index size = (Index)walk.dims[d];
    offset += (long long)(i % size) * walk.strides[d];
    i /= size;
  }
  return offset + (long long)i * walk.strides[0];
}
)";

std::string literal(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return fmt::format("__uint_as_float(0x{:08x}u)", bits);
}

std::string element(const ChainProgram& program, std::size_t operand) {
  const ChainOperand& form = program.operands[operand];
  switch (form.form) {
    case ChainOperand::Form::same:
      return fmt::format("args.x{}[i]", operand);
    case ChainOperand::Form::scalar:
      return fmt::format("args.x{}[0]", operand);
    case ChainOperand::Form::strided:
      break;
  }
  return fmt::format("args.x{0}[at<{1}>(i, args.walk{0})]", operand, form.rank);
}

std::string statement(const ChainProgram& program, const PostOp& op) {
  if (op.kind == PostOp::Kind::unary)
    return fmt::format("    {{ const float x = y, a = {}, b = {}; (void)a; (void)b; y = {}; }}\n",
                       literal(op.alpha), literal(op.beta), expression(op.unary));
  const std::string other = element(program, op.input);
  return fmt::format("    {{ const float p = {}, q = {}; y = {}; }}\n", op.swapped ? other : "y",
                     op.swapped ? "y" : other, expression(op.binary));
}

std::string arguments(const ChainProgram& program) {
  std::string text = "struct Arguments {\n  float* y;\n";
  for (std::size_t i = 0; i < program.operands.size(); ++i)
    text += fmt::format("  const float* x{};\n", i);
  text += "  long long count;\n";
  for (std::size_t i = 0; i < program.operands.size(); ++i)
    if (program.operands[i].form == ChainOperand::Form::strided)
      text += fmt::format("  Walk walk{};\n", i);
  return text + "};\n";
}

}  // namespace

static_assert(kMaxChainRank == 8, "struct Walk of the source has as many");

bool is_chain_op(const PostOp& op) {
  return (op.kind == PostOp::Kind::unary ? expression(op.unary) : expression(op.binary)) != nullptr;
}

std::string chain_source(const ChainProgram& program) {
  std::string text =
      fmt::format("typedef {} Index;\n", program.is_wide ? "unsigned long long" : "unsigned");
  text += kFunctions;
  text += arguments(program);
  text += fmt::format(
      "extern \"C\" __global__ void {}(const Arguments args) {{\n"
      "  const Index count = (Index)args.count, step = (Index)gridDim.x * blockDim.x;\n"
      "  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {{\n"
      "    float y = {};\n",
      kChainKernel, element(program, 0));
  for (const PostOp& op : program.ops) text += statement(program, op);
  return text + "    args.y[i] = y;\n  }\n}\n";
}

}  // namespace softneuro::cuda
