#include "cpu/qint8/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/simd/qint8_rows.h"

namespace softneuro {

Result<QuantizedEpilogue> QuantizedEpilogue::create(const Problem& problem, bool with_addend) {
  QuantizedEpilogue epilogue;
  epilogue.to_bytes = problem.outputs[0].type == DataType::qint8;
  if (epilogue.to_bytes) {
    epilogue.scale = tensor_scale(problem.outputs[0]);
    epilogue.inverse = 1.0f / epilogue.scale.scale;
  }
  epilogue.folded = epilogue.fold(problem, with_addend);
  if (epilogue.folded) return epilogue;
  epilogue.addend_input = -1;
  epilogue.levels = {};
  SN_ASSIGN_OR_RETURN(epilogue.post_ops, PostOpProgram::create(problem));
  return epilogue;
}

bool QuantizedEpilogue::fold(const Problem& problem, bool with_addend) {
  if (!to_bytes) return problem.post_ops.empty();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float least = -kInfinity, most = kInfinity;  // where the functions so far have clamped, in levels
  const auto clamp = [&](float from, float to) {
    from = std::nearbyint(from * inverse);
    to = std::nearbyint(to * inverse);
    least = std::clamp(least, from, to);
    most = std::clamp(most, from, to);
  };
  for (std::size_t i = 0; i < problem.post_ops.size(); ++i) {
    const PostOp& op = problem.post_ops[i];
    const std::size_t first = levels.scale != 0 ? 1 : 0;  // that may be an addition
    if (op.kind == PostOp::Kind::binary) {
      if (!with_addend || i > first || !fold_addend(problem, op)) return false;
    } else if (op.unary == UnaryOp::fake_quantize && with_addend && i == 0) {
      levels = {op.alpha, 1.0f / op.alpha, op.beta};
    } else if (op.unary == UnaryOp::relu) {
      clamp(0, kInfinity);
    } else if (op.unary == UnaryOp::clip && op.alpha <= op.beta) {
      clamp(op.alpha, op.beta);
    } else {
      return false;
    }
  }
  const auto lowest = static_cast<float>(scale.low() - scale.zero_point);
  const auto highest = static_cast<float>(scale.high() - scale.zero_point);
  low = std::clamp(least, lowest, highest);
  high = std::clamp(most, lowest, highest);
  return true;
}

bool QuantizedEpilogue::fold_addend(const Problem& problem, const PostOp& op) {
  const TensorSpec& operand = problem.inputs[op.input];
  if (op.binary != BinaryOp::add || operand.type != DataType::qint8 ||
      !(operand.shape == problem.outputs[0].shape))
    return false;
  const TensorScale added = tensor_scale(operand);
  addend_input = static_cast<int>(op.input);
  addend.scale = added.scale;
  addend.zero_point = added.unsigned_zero_point();
  addend.flip = added.is_signed ? 0x80 : 0;
  return true;
}

void QuantizedEpilogue::apply(const Context& context, float* tile, std::int64_t offset,
                              std::int64_t count) const noexcept {
  const TensorView& y = context.output(0);
  post_ops.apply(context.inputs(), tile != nullptr ? tile : y.as_mutable<float>() + offset, offset,
                 count);
  if (tile != nullptr)
    qint8_rows().quantize(tile, y.as_mutable<std::uint8_t>() + offset, count,
                          {&scale.scale, &scale.zero_point, scale.is_signed, false});
}

}  // namespace softneuro
