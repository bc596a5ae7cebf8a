// binary cpu/direct: vector functions over rows and constants (core/broadcast_walk.h), post-ops
// included. float16 and bfloat16 are computed in float32.
#include <algorithm>

#include "core/float_span.h"
#include "core/parallel.h"
#include "core/post_ops.h"
#include "core/registry.h"
#include "core/span_ops.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPiece = 4096;  // elements

Result<BroadcastWalk> walk_of(const Problem& problem) {
  const BroadcastWalk::Operand operands[] = {
      {problem.inputs[0].shape, problem.inputs[0].layout},
      {problem.inputs[1].shape, problem.inputs[1].layout},
  };
  return BroadcastWalk::make(problem.outputs[0].shape, problem.outputs[0].layout, operands);
}

// An operand that is read exactly where the result is written; −1 if there is none.
int in_place_of(const Problem& problem) {
  for (int i = 0; i < 2; ++i) {
    const TensorSpec& operand = problem.inputs[static_cast<std::size_t>(i)];
    if (operand.shape == problem.outputs[0].shape && operand.layout == problem.outputs[0].layout &&
        post_ops_allow_in_place(problem, i))
      return i;
  }
  return -1;
}

class DirectBinaryKernel final : public Kernel {
 public:
  DirectBinaryKernel(const Problem& problem, BinaryOp op, const BroadcastWalk& walk,
                     PostOpProgram program)
      : op_(op),
        walk_(walk),
        elements_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)),
        in_place_(in_place_of(problem)),
        program_(std::move(program)),
        padding_(problem.outputs[0].shape, problem.outputs[0].layout) {}
  int in_place_input() const noexcept override { return in_place_; }

  Status run(Context& context) const noexcept override {
    const bool converts = context.output(0).type != DataType::float32;
    const std::int64_t pieces = (elements_ + kPiece - 1) / kPiece;
    parallel_for(context.pool(), pieces, [&](std::int64_t piece) {
      const std::int64_t offset = piece * kPiece;
      const std::int64_t count = std::min(kPiece, elements_ - offset);
      if (converts)
        run_converted(context, offset, count);
      else
        run_float32(context, offset, count);
    });
    return {};
  }

 private:
  void run_float32(Context& context, std::int64_t offset, std::int64_t count) const noexcept {
    float* y = context.output(0).as_mutable<float>();
    const float* a = context.input(0).as<float>();
    const float* b = context.input(1).as<float>();
    walk_.for_blocks(offset, count,
                     [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
                       BinarySpan span;
                       span.a = a + walk_.at(0, first);
                       span.b = b + walk_.at(1, first);
                       span.y = y + first;
                       span.rows = rows;
                       span.columns = columns;
                       span.a_row_stride = walk_.row_stride(0);
                       span.b_row_stride = walk_.row_stride(1);
                       span.a_is_row_constant = walk_.is_row_constant(0);
                       span.b_is_row_constant = walk_.is_row_constant(1);
                       span_ops().binary(op_, span);
                     });
    if (program_.empty())
      padding_.clear(y + offset, offset, count);
    else
      program_.apply(context.inputs(), y + offset, offset, count);
  }

  // Row by row through float32 buffers.
  void run_converted(Context& context, std::int64_t offset, std::int64_t count) const noexcept {
    walk_.for_blocks(offset, count,
                     [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
                       for (std::int64_t r = 0; r < rows; ++r)
                         run_row(context, first + r * columns, columns);
                     });
  }

  void run_row(Context& context, std::int64_t first, std::int64_t columns) const noexcept {
    const TensorView& output = context.output(0);
    alignas(64) float a[kPiece], b[kPiece], y[kPiece];
    const auto read = [&](int i, float* buffer) {
      const TensorView& operand = context.input(static_cast<std::size_t>(i));
      return read_floats(operand.data, operand.type, walk_.at(i, first),
                         walk_.is_row_constant(i) ? 1 : columns, buffer);
    };
    BinarySpan span;
    span.a = read(0, a);
    span.b = read(1, b);
    span.y = y;
    span.columns = columns;
    span.a_is_row_constant = walk_.is_row_constant(0);
    span.b_is_row_constant = walk_.is_row_constant(1);
    span_ops().binary(op_, span);
    if (program_.empty())
      padding_.clear(y, first, columns);
    else
      program_.apply(context.inputs(), y, first, columns);
    write_floats(output.data, output.type, first, columns, y);
  }

  BinaryOp op_;
  BroadcastWalk walk_;
  std::int64_t elements_;
  int in_place_;
  PostOpProgram program_;
  ChannelPadding padding_;
};

class DirectBinary final : public Routine {
 public:
  explicit DirectBinary(const char* descriptor) : Routine("binary", descriptor) {}
  int default_rank() const override { return 20; }
  Applicability applicable(const Problem& problem) const override {
    BinaryOp op;
    if (!parse(problem.params.text("op"), op) || !is_span_op(op))
      return Applicability::no("the function gives no real numbers");
    const DataType type = problem.inputs[0].type;
    if (!is_span_float(type) || problem.inputs[1].type != type)
      return Applicability::no("the inputs are not both float32, float16 or bfloat16");
    // A plain constant would have to be padded to whole blocks.
    const TensorSpec& output = problem.outputs[0];
    for (std::size_t i = 0; i < 2; ++i)
      if (block_of(output.layout) > 1 && problem.inputs[i].layout == Layout::plain &&
          problem.inputs[i].shape.elements() != 1)
        return Applicability::no(fmt::format("input {} is not in blocks", i));
    if (const auto walk = walk_of(problem); !walk.ok())
      return Applicability::no(walk.status().message());
    return Applicability::yes();
  }
  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports_in_float32(problem).ok();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    BinaryOp op;
    if (!parse(problem.params.text("op"), op))
      return invalid_model("there is no binary op '{}'", problem.params.text("op"));
    SN_ASSIGN_OR_RETURN(const BroadcastWalk walk, walk_of(problem));
    SN_ASSIGN_OR_RETURN(PostOpProgram program, PostOpProgram::create(problem));
    return std::unique_ptr<Kernel>(
        std::make_unique<DirectBinaryKernel>(problem, op, walk, std::move(program)));
  }
};

}  // namespace

Status register_routine_binary_cpu_direct(Registry& registry) {
  for (const char* descriptor : {"cpu/direct", "cpu:float32:nhwc/direct",
                                 "cpu:float32:nchw8c/direct", "cpu:float32:nchw16c/direct"})
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<DirectBinary>(descriptor)));
  return {};
}

}  // namespace softneuro
