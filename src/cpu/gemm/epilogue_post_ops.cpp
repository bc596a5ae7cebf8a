#include "cpu/gemm/epilogue_post_ops.h"

#include <algorithm>
#include <limits>

#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

bool adds_like_output(const Problem& problem, const PostOp& op, DataType type) {
  if (op.kind != PostOp::Kind::binary || op.binary != BinaryOp::add) return false;
  const TensorSpec& operand = problem.inputs[op.input];
  const TensorSpec& output = problem.outputs[0];
  return operand.type == type && output.type == type && operand.layout == output.layout &&
         operand.shape == output.shape;
}

// Whether another input could be the same tensor as input `index`, or a view of it.
bool may_be_another(const Problem& problem, std::uint32_t index) {
  const TensorSpec& spec = problem.inputs[index];
  for (std::uint32_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorSpec& other = problem.inputs[i];
    if (i != index && !other.constant && other.present() &&
        other.shape.elements() == spec.shape.elements())
      return true;
  }
  return spec.constant;
}

bool is_clamp(const PostOp& op) {
  return op.kind == PostOp::Kind::unary && (op.unary == UnaryOp::relu || op.unary == UnaryOp::clip);
}

}  // namespace

Result<EpiloguePostOps> EpiloguePostOps::create(const Problem& problem, bool takes_addend,
                                                DataType type) {
  EpiloguePostOps ops;
  Problem rest = problem;
  auto& left = rest.post_ops;
  if (takes_addend && !left.empty() && adds_like_output(problem, left.front(), type)) {
    ops.addend_ = static_cast<int>(left.front().input);
    ops.in_place_ = !may_be_another(problem, left.front().input);
    left.erase(left.begin());
  }
  if (!left.empty() && is_clamp(left.front())) {
    const bool relu = left.front().unary == UnaryOp::relu;
    const float low = relu ? 0.0f : left.front().alpha;
    const float high = relu ? std::numeric_limits<float>::infinity() : left.front().beta;
    // The padding of blocked layouts must stay zero.
    if (block_of(problem.outputs[0].layout) == 1 || (low <= 0 && high >= 0)) {
      ops.clamp_ = true;
      ops.low_ = low;
      ops.high_ = high;
      left.erase(left.begin());
    }
  }
  if (!left.empty()) {
    SN_ASSIGN_OR_RETURN(ops.rest_, PostOpProgram::create(rest));
  }
  return ops;
}

Result<EpilogueBias> EpilogueBias::create(const Problem& problem, std::size_t input,
                                          std::int64_t matrices, std::int64_t columns) {
  EpilogueBias bias;
  if (!problem.has_input(input)) return bias;
  bias.input_ = input;
  bias.matrices_ = matrices;
  bias.columns_ = columns;
  const TensorSpec& spec = problem.inputs[input];
  bias.at_run_time_ = !spec.constant || spec.value.empty();
  if (bias.at_run_time_) return bias;
  SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(spec.value, default_allocator()));
  SN_ASSIGN_OR_RETURN(bias.constant_, Tensor::create(DataType::float32, Shape{bias.floats()}));
  bias.pad(static_cast<const float*>(floats.data()),
           static_cast<float*>(bias.constant_.mutable_data()));
  return bias;
}

void EpilogueBias::pad(const float* from, float* to) const noexcept {
  for (std::int64_t m = 0; m < matrices_; ++m, from += columns_, to += stride()) {
    std::copy_n(from, columns_, to);
    std::fill(to + columns_, to + stride(), 0.0f);
  }
}

const float* EpilogueBias::prepare(const Context& context, float* workspace) const noexcept {
  if (matrices_ == 0) return nullptr;
  if (!at_run_time_) return static_cast<const float*>(constant_.data());
  pad(context.input(input_).as<float>(), workspace);
  return workspace;
}

}  // namespace softneuro
