#include "core/post_ops.h"

#include <algorithm>
#include <cstring>

#include "core/element.h"
#include "core/error.h"
#include "core/span_ops.h"

namespace softneuro {
namespace {

// Output dimensions in the order of memory, with the operand's strides.
struct Walk {
  std::vector<std::int64_t> dims, strides;
};

// The operand's strides over the output's logical dimensions.
struct LogicalStrides {
  Shape strides;          // 0 where broadcast; axis 1 counts blocks in a blocked operand
  std::int64_t lane = 0;  // blocked: stride between channels of one block
};

Shape stored_dims(const Shape& shape, Layout layout) {
  if (layout == Layout::plain) return shape;
  Shape stored;
  const int block = block_of(layout);
  stored.push_back(shape[0]);
  if (block > 1) stored.push_back((shape[1] + block - 1) / block);
  for (int i = 2; i < shape.rank(); ++i) stored.push_back(shape[i]);
  return stored;  // channels (channels_last) or lanes (blocked) follow, one more dimension
}

// Strides of an operand in the output's own, non-plain layout; ranks are equal.
LogicalStrides same_layout_strides(const Shape& shape, Layout layout) {
  LogicalStrides result;
  result.strides = shape;
  const std::int64_t block = block_of(layout);
  const Shape outer = stored_dims(shape, layout);
  const std::int64_t innermost = block > 1 ? block : shape[1];
  std::int64_t step = innermost;
  for (int i = shape.rank() - 1; i >= 2; --i) {
    result.strides[i] = shape[i] == 1 ? 0 : step;
    step *= shape[i];
  }
  if (block > 1) {
    result.strides[1] = shape[1] == 1 ? 0 : step;
    result.lane = shape[1] == 1 ? 0 : 1;
    step *= outer[1];
  } else {
    result.strides[1] = shape[1] == 1 ? 0 : 1;
  }
  result.strides[0] = shape[0] == 1 ? 0 : step;
  return result;
}

LogicalStrides plain_strides(const Shape& shape, const Shape& output, Layout layout) {
  LogicalStrides result;
  result.strides = broadcast_strides(shape, output);
  if (block_of(layout) > 1) {
    result.lane = result.strides[1];
    result.strides[1] *= block_of(layout);
  }
  return result;
}

Walk in_memory_order(const Shape& output, Layout layout, const LogicalStrides& logical) {
  Walk walk;
  const auto push = [&](std::int64_t dim, std::int64_t stride) {
    walk.dims.push_back(dim);
    walk.strides.push_back(stride);
  };
  const int rank = output.rank();
  if (layout == Layout::plain) {
    for (int i = 0; i < rank; ++i) push(output[i], logical.strides[i]);
    return walk;
  }
  const std::int64_t block = block_of(layout);
  push(output[0], logical.strides[0]);
  if (block > 1) push((output[1] + block - 1) / block, logical.strides[1]);
  for (int i = 2; i < rank; ++i) push(output[i], logical.strides[i]);
  if (block > 1)
    push(block, logical.lane);
  else
    push(output[1], logical.strides[1]);
  return walk;
}

// Joins neighbours that can be walked as one.
OperandWalk collapse(const Walk& walk) {
  OperandWalk result;
  for (std::size_t i = 0; i < walk.dims.size(); ++i) {
    if (walk.dims[i] == 1) continue;
    if (result.rank > 0) {
      std::int64_t& dim = result.dims[result.rank - 1];
      std::int64_t& stride = result.strides[result.rank - 1];
      if (stride == walk.strides[i] * walk.dims[i]) {
        dim *= walk.dims[i];
        stride = walk.strides[i];
        continue;
      }
    }
    result.dims[result.rank] = walk.dims[i];
    result.strides[result.rank++] = walk.strides[i];
  }
  // Rows of one element where the last dimension is neither dense nor broadcast.
  if (result.rank == 0 || result.strides[result.rank - 1] > 1) {
    result.dims[result.rank] = 1;
    result.strides[result.rank++] = 0;
  }
  return result;
}

// `spec`'s value (plain, constant) with its channels padded with zeros to `channels`.
Result<Tensor> pad_channels(const TensorSpec& spec, int axis, std::int64_t channels) {
  Shape shape = spec.shape;
  shape[axis] = channels;
  SN_ASSIGN_OR_RETURN(Tensor padded, Tensor::create(spec.type, shape));
  const auto rank = spec.shape.rank();
  const std::int64_t outer = spec.shape.elements(0, axis);
  const std::size_t inner =
      static_cast<std::size_t>(spec.shape.elements(axis + 1, rank)) * size_of(spec.type);
  const std::size_t from = inner * static_cast<std::size_t>(spec.shape[axis]);
  const std::size_t to = inner * static_cast<std::size_t>(channels);
  auto* target = static_cast<std::byte*>(padded.mutable_data());
  const auto* source = static_cast<const std::byte*>(spec.value.data());
  std::memset(target, 0, padded.bytes());
  for (std::int64_t o = 0; o < outer; ++o, target += to, source += from)
    std::memcpy(target, source, from);
  return padded;
}

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

std::int64_t OperandWalk::at(std::int64_t offset) const noexcept {
  std::int64_t element = 0;
  for (int i = rank - 1; i > 0; --i) {
    element += offset % dims[i] * strides[i];
    offset /= dims[i];
  }
  return rank > 0 ? element + offset * strides[0] : 0;
}

Applicability PostOpProgram::supports(const Problem& problem) {
  if (problem.post_ops.empty()) return Applicability::yes();
  if (problem.outputs[0].type != DataType::float32)
    return Applicability::no("post-ops on an output that is not float32");
  for (const PostOp& op : problem.post_ops) {
    if (op.kind == PostOp::Kind::unary ? !is_span_op(op.unary) : !is_span_op(op.binary))
      return Applicability::no("post-op " + op.str() + " does not work on float32");
    if (op.kind == PostOp::Kind::unary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    if (operand.type != DataType::float32)
      return Applicability::no("the operand of post-op " + op.str() + " is not float32");
    if (operand.layout != problem.outputs[0].layout &&
        !(operand.layout == Layout::plain && operand.constant))
      return Applicability::no("the operand of post-op " + op.str() + " has another layout");
  }
  return Applicability::yes();
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
  LogicalStrides strides;
  if (operand.layout == layout && (layout == Layout::plain || shift == 0)) {
    strides = layout == Layout::plain ? plain_strides(operand.shape, output, layout)
                                      : same_layout_strides(operand.shape, layout);
  } else if (operand.layout == Layout::plain && operand.constant && !operand.value.empty()) {
    Shape shape = operand.shape;
    const int axis = 1 - shift;
    const std::int64_t block = block_of(layout);
    if (axis >= 0 && shape[axis] > 1 && shape[axis] % block != 0) {
      const std::int64_t channels = (shape[axis] + block - 1) / block * block;
      SN_ASSIGN_OR_RETURN(step.padded, pad_channels(operand, axis, channels));
      shape = step.padded.shape();
    }
    Shape padded_output = output;
    if (output.rank() > 1) padded_output[1] = (output[1] + block - 1) / block * block;
    strides = plain_strides(shape, padded_output, layout);
  } else {
    return unsupported("post-op {}: input {} ({}, shape {}) does not fit an output that is {}",
                       op.str(), op.input, to_string(operand.layout), operand.shape.str(),
                       to_string(layout));
  }
  step.walk = collapse(in_memory_order(output, layout, strides));
  return step;
}

Result<PostOpProgram> PostOpProgram::create(const Problem& problem) {
  PostOpProgram program;
  for (const PostOp& op : problem.post_ops) {
    SN_ASSIGN_OR_RETURN(Step step, make_step(problem, op));
    program.steps_.push_back(std::move(step));
  }
  if (program.empty()) return program;
  const TensorSpec& output = problem.outputs[0];
  program.block_ = block_of(output.layout);
  if (program.block_ > 1) {
    program.used_ = output.shape[1] % program.block_;
    program.blocks_ = (output.shape[1] + program.block_ - 1) / program.block_;
    program.block_elements_ = program.block_ * output.shape.elements(2, output.shape.rank());
  }
  return program;
}

void PostOpProgram::apply_binary(const Step& step, std::span<const TensorView> inputs, float* data,
                                 std::int64_t offset, std::int64_t count) const noexcept {
  const float* operand = step.padded.empty() ? inputs[step.op.input].as<float>()
                                             : static_cast<const float*>(step.padded.data());
  const OperandWalk& walk = step.walk;
  const int last = walk.rank - 1;
  const std::int64_t columns = walk.dims[last];
  const std::int64_t rows = last > 0 ? walk.dims[last - 1] : 1;
  const std::int64_t row_stride = last > 0 ? walk.strides[last - 1] : 0;
  const bool row_constant = walk.strides[last] == 0;
  while (count > 0) {
    const std::int64_t column = offset % columns;
    const std::int64_t row = offset / columns % rows;
    BinarySpan span;
    span.y = data;
    if (column == 0 && count >= columns) {
      span.rows = std::min(rows - row, count / columns);
      span.columns = columns;
    } else {
      span.columns = std::min(columns - column, count);
    }
    const float* x = operand + walk.at(offset);
    span.a = step.op.swapped ? x : data;
    span.b = step.op.swapped ? data : x;
    (step.op.swapped ? span.b_row_stride : span.a_row_stride) = span.columns;
    (step.op.swapped ? span.a_row_stride : span.b_row_stride) = row_stride;
    (step.op.swapped ? span.a_is_row_constant : span.b_is_row_constant) = row_constant;
    span_ops().binary(step.op.binary, span);
    const std::int64_t done = span.rows * span.columns;
    data += done;
    offset += done;
    count -= done;
  }
}

template <class Zero>
void PostOpProgram::for_padding(std::int64_t offset, std::int64_t count, Zero zero) const noexcept {
  if (used_ == 0) return;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t at = offset + i;
    if (at / block_elements_ % blocks_ != blocks_ - 1) {
      i += block_elements_ - at % block_elements_;
      continue;
    }
    const std::int64_t lane = at % block_;
    if (lane >= used_) zero(i);
    i += lane + 1 < used_ ? used_ - lane : 1;
  }
}

void PostOpProgram::apply(std::span<const TensorView> inputs, float* data, std::int64_t offset,
                          std::int64_t count) const noexcept {
  for (const Step& step : steps_) {
    if (step.op.kind == PostOp::Kind::unary)
      span_ops().unary(step.op.unary, data, data, count, step.op.alpha, step.op.beta);
    else
      apply_binary(step, inputs, data, offset, count);
  }
  for_padding(offset, count, [&](std::int64_t i) { data[i] = 0; });
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
      if (step.op.kind == PostOp::Kind::binary) x = load_as(operand_of(step), step.walk.at(i));
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
  for_padding(offset, count, [&](std::int64_t i) { store(output, offset + i, 0); });
}

}  // namespace softneuro
