#include "cpu/post_ops/unfused_post_ops.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

// What the base sees: its layer inputs only, so that variadic layers count them right.
class LayerInputsContext final : public Context {
 public:
  LayerInputsContext(Context& outer, std::size_t layer_inputs) noexcept
      : Context(outer.inputs().first(std::min(layer_inputs, outer.input_count())), outer.outputs(),
                outer.workspace(), outer.pool()),
        outer_(outer) {
    set_state(outer.state());
  }
  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return outer_.allocate_output(i, shape);
  }

 private:
  Context& outer_;
};

// Elements that all ops pass over before the next chunk: they stay in the first-level cache.
constexpr std::int64_t kChunk = 4096;

class UnfusedKernel final : public Kernel {
 public:
  UnfusedKernel(std::unique_ptr<Kernel> base, PostOpProgram program, std::size_t layer_inputs,
                std::int64_t elements, bool fast, int in_place)
      : base_(std::move(base)),
        program_(std::move(program)),
        layer_inputs_(layer_inputs),
        elements_(elements),
        fast_(fast),
        in_place_(in_place) {}

  std::size_t workspace_bytes() const noexcept override { return base_->workspace_bytes(); }
  int in_place_input() const noexcept override { return in_place_; }
  Result<std::unique_ptr<KernelState>> make_state() const override { return base_->make_state(); }

  Status run(Context& context) const noexcept override {
    LayerInputsContext inner(context, layer_inputs_);
    SN_RETURN_IF_ERROR(base_->run(inner));
    const TensorView& output = context.output(0);
    parallel_chunks(context.pool(), elements_, kChunk, [&](std::int64_t begin, std::int64_t count) {
      if (!fast_) return program_.apply_any(context.inputs(), output, begin, count);
      alignas(64) float buffer[kChunk];
      const float* results = read_floats(output.data, output.type, begin, count, buffer);
      program_.apply(context.inputs(), const_cast<float*>(results), begin, count);
      write_floats(output.data, output.type, begin, count, results);
    });
    return {};
  }

 private:
  std::unique_ptr<Kernel> base_;
  PostOpProgram program_;
  std::size_t layer_inputs_;
  std::int64_t elements_;  // of output 0 in memory, padding included
  bool fast_;
  int in_place_;
};

// The ops work on numbers as they are stored, which the bytes of qint8 are not, and in its
// order.
Applicability supports_unfused(const Problem& problem) {
  const TensorSpec& output = problem.outputs[0];
  bool quantized = output.type == DataType::qint8;
  for (const PostOp& op : problem.post_ops) {
    if (op.kind == PostOp::Kind::unary) continue;
    const TensorSpec& operand = problem.inputs[op.input];
    quantized = quantized || operand.type == DataType::qint8;
    const bool is_known = operand.constant && !operand.value.empty();
    const bool has_layout =
        operand.layout == Layout::plain
            ? output.layout == Layout::plain || is_known
            : operand.layout == output.layout && operand.shape.rank() == output.shape.rank();
    if (!has_layout)
      return Applicability::no("the operand of post-op " + op.str() + " has another layout");
  }
  return quantized ? Applicability::no(
                         "the routine cannot apply these post-ops to quantised tensors itself")
                   : Applicability::yes();
}

}  // namespace

UnfusedPostOps cpu_unfused_post_ops() {
  return {.supports = supports_unfused, .append = append_post_ops};
}

Result<std::unique_ptr<Kernel>> append_post_ops(std::unique_ptr<Kernel> base,
                                                const Problem& problem) {
  if (problem.type->data_dependent_output)
    return unsupported("post-ops behind {}, whose output depends on data", problem.type->name);
  const TensorSpec& output = problem.outputs[0];
  for (const PostOp& op : problem.post_ops) {
    const DataType type = op.kind == PostOp::Kind::unary ? result_type(op.unary, output.type)
                                                         : result_type(op.binary, output.type);
    if (type != output.type)
      return unsupported("post-op {} would turn {} into {}", op.str(), to_string(output.type),
                         to_string(type));
  }
  SN_ASSIGN_OR_RETURN(PostOpProgram program, PostOpProgram::create(problem));
  const std::int64_t elements = stored_elements(output.shape, output.layout);
  int in_place = base->in_place_input();
  if (!post_ops_allow_in_place(problem, in_place)) in_place = -1;
  return make_kernel<UnfusedKernel>(std::move(base), std::move(program), problem.layer_inputs,
                                    elements, PostOpProgram::supports_in_float32(problem).ok(),
                                    in_place);
}

}  // namespace softneuro
