// unary cpu/direct: vector functions over chunks that fit the first-level cache, post-ops
// included. float16 and bfloat16 are computed in float32, functions of qint8 are tables. Layouts do
// not matter, but for the zeros that pad blocked channels.
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/span_ops.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 4096;  // elements

// A table of qint8.
Result<std::unique_ptr<Kernel>> make_table_unary(const Problem& problem, UnaryOp op) {
  const std::int64_t bytes = stored_elements(problem.outputs[0].shape, problem.outputs[0].layout);
  const double alpha = problem.params.real("alpha"), beta = problem.params.real("beta");
  const Qint8Table table = make_qint8_table(
      *problem.inputs[0].quantization, *problem.outputs[0].quantization, [&](float x) {
        const double y = softneuro::apply(op, static_cast<double>(x), alpha, beta);
        return apply_unary_post_ops(problem, static_cast<float>(y));
      });
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    map_bytes(context.pool(), table, context.input(0).data, context.output(0).data, bytes);
  });
}

Applicability applicable(const Problem& problem) {
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

Result<std::unique_ptr<Kernel>> make_direct_unary(const Problem& problem) {
  UnaryOp op;
  if (!parse(problem.params.text("op"), op))
    return invalid_model("there is no unary op '{}'", problem.params.text("op"));
  if (problem.inputs[0].type == DataType::qint8) return make_table_unary(problem, op);
  SN_ASSIGN_OR_RETURN(PostOpProgram program, PostOpProgram::create(problem));
  const float alpha = static_cast<float>(problem.params.real("alpha"));
  const float beta = static_cast<float>(problem.params.real("beta"));
  const std::int64_t elements =
      stored_elements(problem.outputs[0].shape, problem.outputs[0].layout);
  const int in_place = post_ops_allow_in_place(problem, 0) ? 0 : -1;
  return make_function_kernel({.in_place_input = in_place}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    parallel_chunks(context.pool(), elements, kChunk, [&](std::int64_t begin, std::int64_t count) {
      alignas(64) float buffer[kChunk];
      const float* source = read_floats(x.data, x.type, begin, count, buffer);
      float* target = target_floats(y.data, y.type, begin, buffer);
      span_ops().unary(op, source, target, count, alpha, beta);
      program.apply(context.inputs(), target, begin, count);
      write_floats(y.data, y.type, begin, count, target);
    });
  });
}

}  // namespace

Status register_routine_unary_cpu_direct(Registry& registry) {
  return add_routines(registry, {"unary"}, kSchemas, "direct",
                      {.facts = {.default_rank = 20},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8_or<PostOpProgram::supports_in_float32>,
                       .create = make_direct_unary});
}

}  // namespace softneuro
