#include "cpu/post_ops/post_ops.h"

#include <algorithm>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "cpu/post_ops/pad_channels.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/quantize_rows.h"
#include "cpu/simd/span_ops.h"

namespace softneuro {
namespace {

// Elements of an 8 or 16 bit operand that are converted at a time.
constexpr std::int64_t kConverted = 512;

// Applies one post-op to one number, in double or in int64.
double apply_one(const PostOp& op, double y, double x) noexcept {
  if (op.kind == PostOp::Kind::unary) return apply(op.unary, y, op.alpha, op.beta);
  return op.swapped ? apply(op.binary, x, y) : apply(op.binary, y, x);
}
std::int64_t apply_one(const PostOp& op, std::int64_t y, std::int64_t x) noexcept {
  if (op.kind == PostOp::Kind::unary) return apply_integer(op.unary, y, op.alpha, op.beta);
  return op.swapped ? apply_integer(op.binary, x, y) : apply_integer(op.binary, y, x);
}
std::uint64_t apply_one(const PostOp& op, std::uint64_t y, std::uint64_t x) noexcept {
  if (op.kind == PostOp::Kind::unary) return apply_unsigned(op.unary, y, op.alpha, op.beta);
  return op.swapped ? apply_unsigned(op.binary, x, y) : apply_unsigned(op.binary, y, x);
}

}  // namespace

Applicability PostOpProgram::supports(const Problem& problem, bool (*takes)(DataType)) {
  if (problem.post_ops.empty()) return Applicability::yes();
  const TensorSpec& output = problem.outputs[0];
  if (!takes(output.type))
    return Applicability::no(
        fmt::format("post-ops on {} are not supported", to_string(output.type)));
  for (const PostOp& op : problem.post_ops) {
    if (op.kind == PostOp::Kind::unary ? !is_span_op(op.unary) : !is_span_op(op.binary))
      return Applicability::no("post-op " + op.str() + " does not work on floating-point tensors");
    if (op.kind == PostOp::Kind::unary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    if (!takes(operand.type))
      return Applicability::no("the operand of post-op " + op.str() + " is " +
                               to_string(operand.type));
    if (operand.layout != output.layout && !(operand.layout == Layout::plain && operand.constant))
      return Applicability::no("the operand of post-op " + op.str() + " has another layout");
    if (operand.layout != Layout::plain && operand.shape.rank() != output.shape.rank())
      return Applicability::no("the operand of post-op " + op.str() + " is " +
                               to_string(operand.layout) + " of another rank");
  }
  return Applicability::yes();
}

Applicability PostOpProgram::supports(const Problem& problem) {
  return supports(problem, [](DataType type) { return type == DataType::float32; });
}
Applicability PostOpProgram::supports_in_float32(const Problem& problem) {
  return supports(problem, is_span_float);
}

Applicability PostOpProgram::supports_quantized(const Problem& problem) {
  for (const PostOp& op : problem.post_ops) {
    if (op.kind == PostOp::Kind::unary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    if (operand.type == DataType::qint8 &&
        (!operand.quantization || operand.quantization->axis >= 0 || operand.constant))
      return Applicability::no("the operand of post-op " + op.str() +
                               " has no quantisation per tensor");
  }
  return supports(problem,
                  [](DataType type) { return type == DataType::qint8 || is_span_float(type); });
}

Result<PostOpProgram::Step> PostOpProgram::make_step(const Problem& problem, const PostOp& op) {
  Step step;
  step.op = op;
  if (op.kind == PostOp::Kind::unary) return step;
  if (op.input >= problem.inputs.size())
    return internal_error("post-op {} reads input {} of {}", op.str(), op.input,
                          problem.inputs.size());
  const TensorSpec& operand = problem.inputs[op.input];
  const Shape& output = problem.outputs[0].shape;
  const Layout layout = problem.outputs[0].layout;
  const int shift = output.rank() - operand.shape.rank();
  if (shift < 0)
    return unsupported("post-op {}: an operand of shape {} does not broadcast to {}", op.str(),
                       operand.shape.str(), output.str());
  if (operand.type == DataType::qint8) {
    if (!operand.quantization || operand.quantization->axis >= 0)
      return unsupported("post-op {}: input {} has no quantisation per tensor", op.str(), op.input);
    step.scale = operand.quantization->scales[0];
    step.zero_point = operand.quantization->zero_points[0];
    step.is_signed = operand.quantization->is_signed;
  }
  BroadcastWalk::Operand walked{operand.shape, operand.layout};
  if (operand.layout == Layout::plain && layout != Layout::plain) {
    if (!operand.constant || operand.value.empty())
      return unsupported("post-op {}: input {} is plain and not constant, the output is {}",
                         op.str(), op.input, to_string(layout));
    SN_ASSIGN_OR_RETURN(step.padded, pad_channels(operand, output, layout));
    if (!step.padded.empty()) walked.shape = step.padded.shape();
  }
  auto walk = BroadcastWalk::make(output, layout, {&walked, 1});
  if (!walk.ok()) return Status(walk.status()).with_context("post-op " + op.str());
  step.walk = *walk;
  return step;
}

Result<PostOpProgram> PostOpProgram::create(const Problem& problem) {
  PostOpProgram program;
  for (const PostOp& op : problem.post_ops) {
    SN_ASSIGN_OR_RETURN(Step step, make_step(problem, op));
    program.steps_.push_back(std::move(step));
  }
  program.padding_ = ChannelPadding(problem.outputs[0].shape, problem.outputs[0].layout);
  return program;
}

const float* PostOpProgram::read_operand(const Step& step, const TensorView& operand,
                                         std::int64_t offset, std::int64_t count,
                                         float* buffer) noexcept {
  if (operand.type != DataType::qint8)
    return read_floats(step.padded.empty() ? operand.data : step.padded.data(), operand.type,
                       offset, count, buffer);
  const ScaledRow row{&step.scale, &step.zero_point, false, count};
  quantize_rows().dequantize(step.is_signed ? DataType::int8 : DataType::uint8,
                             operand.as<std::uint8_t>() + offset, buffer, row);
  return buffer;
}

void PostOpProgram::apply_binary(const Step& step, std::span<const TensorView> inputs, float* data,
                                 std::int64_t offset, std::int64_t count) const noexcept {
  const BroadcastWalk& walk = step.walk;
  const bool swapped = step.op.swapped;
  const auto combine = [&](float* y, const float* x, std::int64_t rows, std::int64_t columns) {
    BinarySpan span;
    span.y = y;
    span.rows = rows;
    span.columns = columns;
    span.a = swapped ? x : y;
    span.b = swapped ? y : x;
    (swapped ? span.b_row_stride : span.a_row_stride) = columns;
    (swapped ? span.a_row_stride : span.b_row_stride) = walk.row_stride(0);
    (swapped ? span.a_is_row_constant : span.b_is_row_constant) = walk.is_row_constant(0);
    span_ops().binary(step.op.binary, span);
  };
  const DataType type = inputs[step.op.input].type;
  const void* operand = step.padded.empty() ? inputs[step.op.input].data : step.padded.data();
  walk.for_blocks(offset, count, [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
    float* y = data + (first - offset);
    if (type == DataType::float32)
      return combine(y, static_cast<const float*>(operand) + walk.at(0, first), rows, columns);
    float buffer[kConverted];
    const std::int64_t width = std::min(kConverted, columns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; c += width) {
        const std::int64_t chunk = std::min(width, columns - c), at = r * columns + c;
        const float* x = read_operand(step, inputs[step.op.input], walk.at(0, first + at),
                                      walk.is_row_constant(0) ? 1 : chunk, buffer);
        combine(y + at, x, 1, chunk);
      }
  });
}

void PostOpProgram::apply(std::span<const TensorView> inputs, float* data, std::int64_t offset,
                          std::int64_t count) const noexcept {
  for (const Step& step : steps_) {
    if (step.op.kind == PostOp::Kind::unary)
      span_ops().unary(step.op.unary, data, data, count, step.op.alpha, step.op.beta);
    else
      apply_binary(step, inputs, data, offset, count);
  }
  padding_.clear(data, offset, count);
}

void PostOpProgram::apply_any(std::span<const TensorView> inputs, const TensorView& output,
                              std::int64_t offset, std::int64_t count) const noexcept {
  const auto operand_of = [&](const Step& step) {
    if (step.op.kind == PostOp::Kind::unary) return TensorView{};
    TensorView view = inputs[step.op.input];
    if (!step.padded.empty()) view.data = const_cast<void*>(step.padded.data());
    return view;
  };
  const auto fold = [&](std::int64_t i, auto value, auto load_as) {
    for (const Step& step : steps_) {
      decltype(value) x = 0;
      if (step.op.kind == PostOp::Kind::binary) x = load_as(operand_of(step), step.walk.at(0, i));
      value = apply_one(step.op, value, x);
    }
    return value;
  };
  const auto load_unsigned = [](const TensorView& view, std::int64_t i) {
    return static_cast<std::uint64_t>(load_integer(view, i));
  };
  for (std::int64_t i = offset; i < offset + count; ++i) {
    if (is_float(output.type))
      store(output, i, fold(i, load(output, i), load));
    else if (output.type == DataType::uint64)
      store_integer(output, i,
                    static_cast<std::int64_t>(fold(i, load_unsigned(output, i), load_unsigned)));
    else
      store_integer(output, i, fold(i, load_integer(output, i), load_integer));
  }
  padding_.for_each(offset, count, [&](std::int64_t i) { store(output, offset + i, 0); });
}

bool post_ops_allow_in_place(const Problem& problem, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= problem.inputs.size()) return false;
  const TensorSpec& input = problem.inputs[static_cast<std::size_t>(index)];
  for (const PostOp& op : problem.post_ops) {
    if (op.kind != PostOp::Kind::binary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    if (!operand.constant && operand.type == input.type && operand.layout == input.layout &&
        operand.shape == input.shape)
      return false;
  }
  return true;
}

}  // namespace softneuro
