// unary cpu/direct: vector functions over pieces that fit the first-level cache, post-ops
// included. float16 and bfloat16 are computed in float32, functions of qint8 are tables. Layouts do
// not matter, but for the zeros that pad blocked channels.
#include <string>

#include "core/base/parallel.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/span_ops.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPiece = 4096;  // elements

class DirectUnaryKernel final : public Kernel {
 public:
  DirectUnaryKernel(const Problem& problem, UnaryOp op, PostOpProgram program)
      : op_(op),
        alpha_(static_cast<float>(problem.params.real("alpha"))),
        beta_(static_cast<float>(problem.params.real("beta"))),
        elements_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)),
        in_place_(post_ops_allow_in_place(problem, 0) ? 0 : -1),
        program_(std::move(program)) {}
  int in_place_input() const noexcept override { return in_place_; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    parallel_pieces(context.pool(), elements_, kPiece, [&](std::int64_t begin, std::int64_t count) {
      alignas(64) float buffer[kPiece];
      const float* source = read_floats(x.data, x.type, begin, count, buffer);
      float* target = target_floats(y.data, y.type, begin, buffer);
      span_ops().unary(op_, source, target, count, alpha_, beta_);
      program_.apply(context.inputs(), target, begin, count);
      write_floats(y.data, y.type, begin, count, target);
    });
    return {};
  }

 private:
  UnaryOp op_;
  float alpha_, beta_;
  std::int64_t elements_;
  int in_place_;
  PostOpProgram program_;
};

class TableUnaryKernel final : public Kernel {
 public:
  TableUnaryKernel(const Problem& problem, UnaryOp op)
      : bytes_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)) {
    const double alpha = problem.params.real("alpha"), beta = problem.params.real("beta");
    table_ = make_qint8_table(
        *problem.inputs[0].quantization, *problem.outputs[0].quantization, [&](float x) {
          const double y = softneuro::apply(op, static_cast<double>(x), alpha, beta);
          return apply_unary_post_ops(problem, static_cast<float>(y));
        });
  }
  int in_place_input() const noexcept override { return 0; }
  Status run(Context& context) const noexcept override {
    map_bytes(context.pool(), table_, context.input(0).data, context.output(0).data, bytes_);
    return {};
  }

 private:
  std::int64_t bytes_;
  Qint8Table table_{};
};

class DirectUnary final : public FusesPostOps<if_qint8_or<PostOpProgram::supports_in_float32>> {
 public:
  explicit DirectUnary(const std::string& descriptor) : FusesPostOps("unary", descriptor) {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }
  Applicability applicable(const Problem& problem) const override {
    UnaryOp op;
    if (!parse(problem.params.text("op"), op) || !is_span_op(op))
      return Applicability::no("the function's result is not floating-point");
    if (problem.inputs[0].type == DataType::qint8) return check_qint8(problem);
    if (problem.outputs[0].type != problem.inputs[0].type)
      return Applicability::no("input and output differ in type");
    if (!is_span_float(problem.inputs[0].type))
      return Applicability::no("input 0 is not float32, float16 or bfloat16");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    UnaryOp op;
    if (!parse(problem.params.text("op"), op))
      return invalid_model("there is no unary op '{}'", problem.params.text("op"));
    if (problem.inputs[0].type == DataType::qint8)
      return make_kernel<TableUnaryKernel>(problem, op);
    SN_ASSIGN_OR_RETURN(PostOpProgram program, PostOpProgram::create(problem));
    return make_kernel<DirectUnaryKernel>(problem, op, std::move(program));
  }
};

}  // namespace

Status register_routine_unary_cpu_direct(Registry& registry) {
  return add_each<DirectUnary>(registry, kSchemas, "/direct");
}

}  // namespace softneuro
