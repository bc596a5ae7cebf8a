// binary cpu/direct: vector functions over rows and constants (cpu/tensor/broadcast_walk.h),
// post-ops included, in any layout. float16, bfloat16 and qint8 are computed in float32.
#include <optional>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/pad_channels.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/span_ops.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 4096;  // elements

bool is_blocked_constant(const Problem& problem, std::size_t i) {
  const TensorSpec& operand = problem.inputs[i];
  return block_of(problem.outputs[0].layout) > 1 && operand.layout == Layout::plain &&
         operand.constant && !operand.value.empty() &&
         operand.shape.rank() <= problem.outputs[0].shape.rank();
}

// `padded`: for each operand its value with padded channels, or empty.
Result<BroadcastWalk> make_walk(const Problem& problem, std::span<Tensor, 2> padded) {
  const TensorSpec& y = problem.outputs[0];
  BroadcastWalk::Operand operands[2];
  for (std::size_t i = 0; i < 2; ++i) {
    operands[i] = {problem.inputs[i].shape, problem.inputs[i].layout};
    if (!is_blocked_constant(problem, i)) continue;
    SN_ASSIGN_OR_RETURN(padded[i], pad_channels(problem.inputs[i], y.shape, y.layout));
    if (!padded[i].empty()) operands[i].shape = padded[i].shape();
  }
  return BroadcastWalk::make(y.shape, y.layout, operands);
}

// An operand that is read exactly where the result is written; −1 if there is none.
int in_place_of(const Problem& problem) {
  const TensorSpec& y = problem.outputs[0];
  for (int i = 0; i < 2; ++i) {
    const TensorSpec& operand = problem.inputs[static_cast<std::size_t>(i)];
    if (operand.type == y.type && operand.shape == y.shape && operand.layout == y.layout &&
        post_ops_allow_in_place(problem, i))
      return i;
  }
  return -1;
}

// A tensor of any real type, read and written as float32.
struct RealTensor {
  DataType type = DataType::float32;
  Quantization quantization;  // of qint8

  explicit RealTensor(const TensorSpec& spec) : type(spec.type) {
    if (type == DataType::qint8) quantization = *spec.quantization;
  }
  const float* read(const void* data, std::int64_t at, std::int64_t count,
                    float* buffer) const noexcept {
    if (type != DataType::qint8) return read_floats(data, type, at, count, buffer);
    qint8_rows().dequantize(static_cast<const std::byte*>(data) + at, buffer, count,
                            scale_of(quantization));
    return buffer;
  }
  void write(void* data, std::int64_t at, std::int64_t count, const float* y) const noexcept {
    if (type != DataType::qint8) return write_floats(data, type, at, count, y);
    qint8_rows().quantize(y, static_cast<std::byte*>(data) + at, count, scale_of(quantization));
  }
};

class DirectBinaryKernel final : public Kernel {
 public:
  DirectBinaryKernel(const Problem& problem, BinaryOp op, const BroadcastWalk& walk,
                     std::span<Tensor, 2> padded, PostOpProgram program)
      : op_(op),
        walk_(walk),
        elements_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)),
        in_place_(in_place_of(problem)),
        operands_{RealTensor(problem.inputs[0]), RealTensor(problem.inputs[1])},
        output_(problem.outputs[0]),
        padded_{padded[0], padded[1]},
        program_(std::move(program)) {
    if (output_.type == DataType::qint8) unary_ = problem.post_ops;
  }
  int in_place_input() const noexcept override { return in_place_; }

  Status run(Context& context) const noexcept override {
    parallel_chunks(context.pool(), elements_, kChunk, [&](std::int64_t begin, std::int64_t count) {
      const TensorView& y = context.output(0);
      if (y.type == DataType::float32)
        return run_chunk(context, begin, count, y.as_mutable<float>() + begin);
      alignas(64) float results[kChunk];
      run_chunk(context, begin, count, results);
      output_.write(y.data, begin, count, results);
    });
    return {};
  }

 private:
  struct Rows {
    const float* data;
    std::int64_t stride;
  };

  void run_chunk(Context& context, std::int64_t offset, std::int64_t count,
                 float* y) const noexcept {
    walk_.for_blocks(offset, count,
                     [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
                       alignas(64) float buffers[2][kChunk];
                       const Rows a = read(context, 0, first, rows, columns, buffers[0]);
                       const Rows b = read(context, 1, first, rows, columns, buffers[1]);
                       BinarySpan span;
                       span.a = a.data;
                       span.b = b.data;
                       span.y = y + (first - offset);
                       span.rows = rows;
                       span.columns = columns;
                       span.a_row_stride = a.stride;
                       span.b_row_stride = b.stride;
                       span.a_is_row_constant = walk_.is_row_constant(0);
                       span.b_is_row_constant = walk_.is_row_constant(1);
                       span_ops().binary(op_, span);
                     });
    for (const PostOp& op : unary_) span_ops().unary(op.unary, y, y, count, op.alpha, op.beta);
    program_.apply(context.inputs(), y, offset, count);
  }

  // An operand's elements opposite a block of the output, as float32: where they are, or converted
  // as few of them as there are.
  Rows read(Context& context, int i, std::int64_t first, std::int64_t rows, std::int64_t columns,
            float* buffer) const noexcept {
    const auto k = static_cast<std::size_t>(i);
    const RealTensor& operand = operands_[k];
    const void* data = padded_[k].empty() ? context.input(k).data : padded_[k].data();
    const std::int64_t at = walk_.at(i, first), stride = walk_.row_stride(i);
    const std::int64_t width = walk_.is_row_constant(i) ? 1 : columns;
    if (operand.type == DataType::float32) return {static_cast<const float*>(data) + at, stride};
    if (rows == 1 || stride == 0) return {operand.read(data, at, width, buffer), 0};
    if (stride == width) return {operand.read(data, at, rows * width, buffer), width};
    for (std::int64_t r = 0; r < rows; ++r)
      operand.read(data, at + r * stride, width, buffer + r * width);
    return {buffer, width};
  }

  BinaryOp op_;
  BroadcastWalk walk_;
  std::int64_t elements_;
  int in_place_;
  RealTensor operands_[2], output_;
  Tensor padded_[2];
  std::vector<PostOp> unary_;  // post-ops of qint8 outputs
  PostOpProgram program_;      // of others
};

// Sums and products of two qint8 tensors in one pass over the bytes.
class Qint8BinaryKernel final : public Kernel {
 public:
  Qint8BinaryKernel(const Problem& problem, const Qint8Form& form, const BroadcastWalk& walk)
      : form_(form),
        walk_(walk),
        elements_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)),
        in_place_(in_place_of(problem)) {
    const Quantization& q = *problem.outputs[0].quantization;
    table_ = make_qint8_table(q, q, [&](float x) { return apply_unary_post_ops(problem, x); });
    maps_ = !is_identity(table_);
  }
  int in_place_input() const noexcept override { return in_place_; }

  Status run(Context& context) const noexcept override {
    constexpr std::int64_t kBytes = 4 * kChunk;
    parallel_chunks(context.pool(), elements_, kBytes, [&](std::int64_t begin, std::int64_t count) {
      run_chunk(context, begin, count);
    });
    return {};
  }

 private:
  void run_chunk(Context& context, std::int64_t offset, std::int64_t count) const noexcept {
    const auto* a = context.input(0).as<std::byte>();
    const auto* b = context.input(1).as<std::byte>();
    auto* y = context.output(0).as_mutable<std::uint8_t>();
    const std::int64_t a_step = walk_.is_row_constant(0) ? 0 : 1;
    const std::int64_t b_step = walk_.is_row_constant(1) ? 0 : 1;
    walk_.for_blocks(offset, count,
                     [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
                       const std::byte* row_a = a + walk_.at(0, first);
                       const std::byte* row_b = b + walk_.at(1, first);
                       for (std::int64_t r = 0; r < rows; ++r)
                         qint8_rows().combine(form_, row_a + r * walk_.row_stride(0), a_step,
                                              row_b + r * walk_.row_stride(1), b_step,
                                              y + first + r * columns, columns);
                     });
    if (maps_) qint8_rows().map(table_, y + offset, y + offset, count);
  }

  Qint8Form form_;
  BroadcastWalk walk_;
  std::int64_t elements_;
  int in_place_;
  Qint8Table table_{};
  bool maps_;
};

// Nothing if there is no such form, or a post-op needs more than the bytes of its result.
std::optional<Qint8Form> form_of(const Problem& problem, BinaryOp op) {
  const TensorSpec &a = problem.inputs[0], &b = problem.inputs[1], &y = problem.outputs[0];
  for (const TensorSpec* spec : {&a, &b, &y})
    if (spec->type != DataType::qint8) return std::nullopt;
  if (!supports_qint8_bounds(problem)) return std::nullopt;
  if (op == BinaryOp::add || op == BinaryOp::sub)
    return Qint8Form::sum(*a.quantization, *b.quantization, *y.quantization,
                          op == BinaryOp::add ? 1.0f : -1.0f);
  if (op == BinaryOp::mul)
    return Qint8Form::product(*a.quantization, *b.quantization, *y.quantization);
  return std::nullopt;
}

Applicability applicable(const Problem& problem) {
  BinaryOp op;
  if (!parse(problem.params.text("op"), op) || !is_span_op(op))
    return Applicability::no("the function's result is not floating-point");
  const TensorSpec& output = problem.outputs[0];
  if (output.type == DataType::qint8)
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorSpec& input = problem.inputs[i];
    // Constants keep the model's type; whatever else has the output's.
    if (input.type != output.type && !(input.constant && is_span_float(input.type)))
      return Applicability::no(fmt::format("input {} is not of the output's type", i));
    if (!is_span_float(input.type) && input.type != DataType::qint8)
      return Applicability::no("the inputs are not float32, float16, bfloat16 or qint8");
    if (block_of(output.layout) > 1 && input.layout == Layout::plain &&
        input.shape.elements() != 1 && !is_blocked_constant(problem, i))
      return Applicability::no(fmt::format("input {} is not in blocks", i));
  }
  Tensor padded[2];
  if (const auto walk = make_walk(problem, padded); !walk.ok())
    return Applicability::no(walk.status().message());
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_binary(const Problem& problem) {
  BinaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no binary op '{}'", problem.params.text("op"));
  Tensor padded[2];
  SN_ASSIGN_OR_RETURN(const BroadcastWalk walk, make_walk(problem, padded));
  if (const auto form = form_of(problem, op))
    return make_kernel<Qint8BinaryKernel>(problem, *form, walk);
  PostOpProgram program;
  if (problem.outputs[0].type != DataType::qint8) {
    SN_ASSIGN_OR_RETURN(program, PostOpProgram::create(problem));
  }
  return make_kernel<DirectBinaryKernel>(problem, op, walk, padded, std::move(program));
}

}  // namespace

Status register_routine_binary_cpu_direct(Registry& registry) {
  return add_routines(registry, {"binary"}, kSchemas, "direct",
                      {.facts = {.default_rank = 20, .version = 3},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8_or<PostOpProgram::supports_in_float32>,
                       .create = make_direct_binary});
}

}  // namespace softneuro
