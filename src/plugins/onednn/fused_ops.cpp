#include "plugins/onednn/fused_ops.h"

#include <algorithm>
#include <cmath>

namespace softneuro::onednn {
namespace {

using dnnl::algorithm;
using Extent = FusedStep::Extent;

// Generated code of 2.6.3 keeps the constants of one step of a kind only (linear, clip, relu with a
// slope…): a second one would take the first's.
bool can_follow(const std::vector<FusedStep>& done, const FusedStep& next) {
  if constexpr (!workarounds::kOneStepOfAKind) return true;
  return std::none_of(done.begin(), done.end(), [&](const FusedStep& step) {
    return step.extent == Extent::none && next.extent == Extent::none &&
           step.algorithm == next.algorithm && (step.alpha != next.alpha || step.beta != next.beta);
  });
}

bool is_library_float(DataType type) {
  return type == DataType::float32 || type == DataType::bfloat16;
}

Extent extent_of(const Shape& operand, const Shape& output, int channel) {
  if (operand.elements() == 1) return Extent::scalar;
  if (operand == output) return Extent::whole;
  const int shift = output.rank() - operand.rank();
  if (channel - shift < 0) return Extent::none;
  for (int i = 0; i < operand.rank(); ++i)
    if (operand[i] != (i + shift == channel ? output[channel] : 1)) return Extent::none;
  return Extent::channel;
}

std::optional<FusedStep> operand_step(const Problem& problem, const PostOp& op, int channel) {
  const TensorSpec& operand = problem.inputs[op.input];
  const TensorSpec& output = problem.outputs[0];
  const auto function = algorithm_of(op.binary);
  const bool commutes = op.binary == BinaryOp::add || op.binary == BinaryOp::mul;
  if (!function || (op.swapped && !commutes)) return std::nullopt;
  FusedStep step;
  step.algorithm = *function;
  step.input = op.input;
  step.type = element_type(operand);
  step.extent = extent_of(operand.shape, output.shape, channel);
  if (step.extent == Extent::none) return std::nullopt;
  if (step.extent == Extent::whole && operand.layout != output.layout) return std::nullopt;
  return step;
}

// Follows real = unit · r + shift, where r is what the primitive has in hand.
class QuantizedChain {
 public:
  QuantizedChain(const Problem& problem, int channel_axis)
      : problem_(problem), channel_axis_(channel_axis) {}

  std::optional<FusedOps> build() {
    ops_.unit = unit_ = first_unit();
    for (const PostOp& op : problem_.post_ops)
      if (!(op.kind == PostOp::Kind::unary ? add_unary(op) : add_binary(op))) return std::nullopt;
    const TensorSpec& output = problem_.outputs[0];
    if (output.type == DataType::qint8) {
      const float scale = output.quantization->scales[0];
      const std::int32_t zero_point = output.quantization->zero_points[0];
      // The library rounds what it stores: behind an odd zero point ties would go the other way.
      if (zero_point % 2 != 0) {
        become(scale, 0);
        round();
      }
      become(scale, -scale * static_cast<float>(zero_point));
    } else {
      become(1, 0);
    }
    if (!possible_) return std::nullopt;
    ops_.taken = problem_.post_ops.size();
    return std::move(ops_);
  }

 private:
  static bool is_homogeneous(const PostOp& op) {
    return op.kind == PostOp::Kind::unary &&
           (op.unary == UnaryOp::relu || op.unary == UnaryOp::leaky_relu ||
            op.unary == UnaryOp::clip || op.unary == UnaryOp::abs);
  }

  // The unit that is wanted first, so that the primitive's own scale can give it.
  float first_unit() const {
    for (const PostOp& op : problem_.post_ops) {
      if (is_homogeneous(op)) continue;
      if (op.kind == PostOp::Kind::unary) return op.unary == UnaryOp::fake_quantize ? op.alpha : 1;
      const TensorSpec& operand = problem_.inputs[op.input];
      return operand.type == DataType::qint8 ? operand.quantization->scales[0] : 1;
    }
    const TensorSpec& output = problem_.outputs[0];
    return output.type == DataType::qint8 ? output.quantization->scales[0] : 1;
  }

  void push(const FusedStep& step) {
    possible_ = possible_ && can_follow(ops_.steps, step);
    ops_.steps.push_back(step);
  }

  void become(float unit, float shift) {
    if (unit == unit_ && shift == shift_) return;
    FusedStep step;
    step.algorithm = algorithm::eltwise_linear;
    step.alpha = unit_ / unit;
    step.beta = (shift_ - shift) / unit;
    push(step);
    unit_ = unit;
    shift_ = shift;
  }

  // Takes no step: r stands for other numbers from here on. `factor`: above 0.
  void scale_and_shift(float factor, float addend) {
    unit_ *= factor;
    shift_ = factor * shift_ + addend;
  }

  // r to whole numbers, half to even.
  void round() {
    FusedStep step;
    step.algorithm = algorithm::eltwise_round;
    push(step);
  }

  void add_clip(float low, float high) {
    FusedStep step;
    step.algorithm = algorithm::eltwise_clip;
    step.alpha = (low - shift_) / unit_;
    step.beta = (high - shift_) / unit_;
    push(step);
  }

  void add_fake_quantize(float scale, float lowest) {
    become(scale, 0);
    round();
    add_clip(scale * lowest, scale * (lowest + 255));
  }

  bool add_unary(const PostOp& op) {
    if (op.unary == UnaryOp::fake_quantize) {
      add_fake_quantize(op.alpha, op.beta);
      return true;
    }
    // Accepted in descriptors, but some primitives then fail to be made (2.6.3, grouped ones).
    if (workarounds::kNoSiluOfBytes && op.unary == UnaryOp::silu) return false;
    const auto steps = activation_steps(op);
    if (!steps) return false;
    if (problem_.outputs[0].type != DataType::qint8 &&
        std::any_of(steps->begin(), steps->end(), loses_tail))
      return false;
    for (const FusedStep& step : *steps) {
      if (step.algorithm == algorithm::eltwise_linear && step.alpha > 0) {
        scale_and_shift(step.alpha, step.beta);
      } else if (step.algorithm == algorithm::eltwise_clip) {
        add_clip(step.alpha, step.beta);
      } else {
        become(is_homogeneous(op) ? unit_ : 1, 0);
        push(step);
      }
    }
    return true;
  }

  bool add_binary(const PostOp& op) {
    const auto step = operand_step(problem_, op, channel_axis_);
    if (!step) return false;
    const TensorSpec& operand = problem_.inputs[op.input];
    float scale = 1, zero = 0;
    if (operand.type == DataType::qint8) {
      if (operand.quantization->scales.size() != 1) return false;
      scale = operand.quantization->scales[0];
      zero = static_cast<float>(operand.quantization->zero_points[0]);
    } else if (operand.type != DataType::float32) {
      return false;
    }
    if (op.binary == BinaryOp::add) {
      become(scale, shift_);
      ops_.steps.push_back(*step);
      shift_ -= scale * zero;
      return true;
    }
    if (op.binary != BinaryOp::mul || zero != 0) return false;
    become(unit_, 0);
    ops_.steps.push_back(*step);
    unit_ *= scale;
    return true;
  }

  const Problem& problem_;
  int channel_axis_;
  FusedOps ops_;
  float unit_ = 1, shift_ = 0;
  bool possible_ = true;
};

}  // namespace

std::optional<dnnl::algorithm> algorithm_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return algorithm::binary_add;
    case BinaryOp::sub:
      return algorithm::binary_sub;
    case BinaryOp::mul:
      return algorithm::binary_mul;
    case BinaryOp::div:
      return algorithm::binary_div;
    default:
      return std::nullopt;
  }
}

bool loses_nan(const FusedStep& step) {
  return step.algorithm == algorithm::eltwise_clip ||
         (step.algorithm == algorithm::eltwise_relu && step.alpha == 0);
}

bool loses_tail(const FusedStep& step) {
  return step.algorithm == algorithm::eltwise_elu ||
         step.algorithm == algorithm::eltwise_gelu_erf ||
         step.algorithm == algorithm::eltwise_gelu_tanh ||
         step.algorithm == algorithm::eltwise_mish ||
         step.algorithm == algorithm::eltwise_soft_relu;
}

std::optional<std::vector<FusedStep>> activation_steps(const PostOp& op) {
  const auto step = [](algorithm kind, float alpha = 0, float beta = 0) {
    FusedStep made;
    made.algorithm = kind;
    made.alpha = alpha;
    made.beta = beta;
    return made;
  };
  const auto one = [&](algorithm kind, float alpha = 0, float beta = 0) {
    return std::vector<FusedStep>{step(kind, alpha, beta)};
  };
  switch (op.unary) {
    case UnaryOp::relu:
      return one(algorithm::eltwise_relu);
    case UnaryOp::leaky_relu:
      return one(algorithm::eltwise_relu, op.alpha);
    case UnaryOp::elu:
      return one(algorithm::eltwise_elu, op.alpha);
    case UnaryOp::sigmoid:
      return one(algorithm::eltwise_logistic);
    case UnaryOp::tanh:
      return one(algorithm::eltwise_tanh);
    case UnaryOp::softplus:
      return one(algorithm::eltwise_soft_relu, 1);
    case UnaryOp::silu:
      return one(algorithm::eltwise_swish, op.alpha);
    case UnaryOp::gelu:
      return one(algorithm::eltwise_gelu_erf);
    case UnaryOp::gelu_tanh:
      return one(algorithm::eltwise_gelu_tanh);
    case UnaryOp::mish:
      return one(algorithm::eltwise_mish);
    case UnaryOp::hard_sigmoid:
      return std::vector<FusedStep>{step(algorithm::eltwise_linear, op.alpha, op.beta),
                                    step(algorithm::eltwise_clip, 0, 1)};
    case UnaryOp::hard_swish:  // the library's has the usual numbers built in
      if (std::fabs(op.alpha - 1.0f / 6) > 1e-7f || op.beta != 0.5f) return std::nullopt;
      return one(algorithm::eltwise_hardswish, op.alpha, op.beta);
    case UnaryOp::clip:
      return one(algorithm::eltwise_clip, op.alpha, op.beta);
    case UnaryOp::abs:
      return one(algorithm::eltwise_abs);
    case UnaryOp::square:
      return one(algorithm::eltwise_square);
    case UnaryOp::linear:
      return one(algorithm::eltwise_linear, op.alpha, op.beta);
    default:
      return std::nullopt;
  }
}

FusedOps fuse_float(const Problem& problem, int channel_axis, std::size_t most) {
  FusedOps ops;
  if (!is_library_float(problem.outputs[0].type)) return ops;
  for (const PostOp& op : problem.post_ops) {
    if (ops.taken == most) break;
    if (op.kind == PostOp::Kind::unary) {
      const auto steps = activation_steps(op);
      const auto fits = [&](const FusedStep& step) {
        return !loses_nan(step) && !loses_tail(step) && can_follow(ops.steps, step);
      };
      if (!steps || !std::all_of(steps->begin(), steps->end(), fits)) break;
      ops.steps.insert(ops.steps.end(), steps->begin(), steps->end());
    } else {
      const auto step = operand_step(problem, op, channel_axis);
      if (!step || !is_library_float(problem.inputs[op.input].type)) break;
      ops.steps.push_back(*step);
    }
    ++ops.taken;
  }
  return ops;
}

std::optional<FusedOps> fuse_quantized(const Problem& problem, int channel_axis) {
  return QuantizedChain(problem, channel_axis).build();
}

dnnl::memory::desc desc_of(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                           Layout layout) {
  using tag = dnnl::memory::format_tag;
  const std::size_t rank = dims.size();
  if (layout == Layout::plain) {
    constexpr tag kPlain[] = {tag::undef, tag::a,     tag::ab,    tag::abc,
                              tag::abcd,  tag::abcde, tag::abcdef};
    return {dims, type, kPlain[rank]};
  }
  constexpr tag kLast[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  constexpr tag kBlocked8[] = {tag::nCw8c, tag::nChw8c, tag::nCdhw8c};
  constexpr tag kBlocked16[] = {tag::nCw16c, tag::nChw16c, tag::nCdhw16c};
  const auto& tags = layout == Layout::channels_last ? kLast
                     : layout == Layout::nchw8c      ? kBlocked8
                                                     : kBlocked16;
  return {dims, type, tags[rank - 3]};
}

dnnl::memory::data_type library_type(DataType type) {
  return type == DataType::bfloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::data_type element_type(const TensorSpec& spec) {
  if (spec.type != DataType::qint8) return library_type(spec.type);
  return spec.quantization->is_signed ? dnnl::memory::data_type::s8 : dnnl::memory::data_type::u8;
}

}  // namespace softneuro::onednn
