// unary cpu/xnnpack and cpu:float32:nhwc/xnnpack: the library's functions of one number, as far as
// they keep NaN and it does not matter that the library takes denormals for zero, as it does for
// ceil, floor, sqrt and sigmoid. Its clamp, which would be relu and clip, makes a number of NaN.
#include <optional>

#include "plugins/partition/chunks.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

constexpr std::int64_t kCacheLine = 16;  // floats

using Setup = xnn_status (*)(xnn_operator_t, std::size_t, const float*, float*, pthreadpool_t);

struct Function {
  std::function<xnn_status(xnn_operator_t*)> create;
  Setup setup;
};

using Create = xnn_status (*)(std::size_t, std::size_t, std::size_t, std::uint32_t,
                              xnn_operator_t*);

Function function(Create create, Setup setup) {
  return {[create](xnn_operator_t* op) { return create(1, 1, 1, 0, op); }, setup};
}

std::optional<Function> function_of(const Problem& problem) {
  UnaryOp op;
  if (!parse(problem.params.text("op"), op)) return std::nullopt;
  const auto alpha = static_cast<float>(problem.params.real("alpha"));
  switch (op) {
    case UnaryOp::abs:
      return function(xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32);
    case UnaryOp::neg:
      return function(xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32);
    case UnaryOp::square:
      return function(xnn_create_square_nc_f32, xnn_setup_square_nc_f32);
    case UnaryOp::round:
      return function(xnn_create_bankers_rounding_nc_f32, xnn_setup_bankers_rounding_nc_f32);
    case UnaryOp::elu:
      if (!(alpha > 0)) return std::nullopt;
      return Function{
          [alpha](xnn_operator_t* made) { return xnn_create_elu_nc_f32(1, 1, 1, alpha, 0, made); },
          xnn_setup_elu_nc_f32};
    case UnaryOp::leaky_relu:
      if (!(alpha > 0 && alpha <= 1)) return std::nullopt;
      return Function{[alpha](xnn_operator_t* made) {
                        return xnn_create_leaky_relu_nc_f32(1, 1, 1, alpha, 0, made);
                      },
                      xnn_setup_leaky_relu_nc_f32};
    default:
      return std::nullopt;
  }
}

Applicability applicable(const Problem& problem) {
  if (Applicability inputs = takes_inputs(problem); !inputs) return inputs;
  return function_of(problem) ? Applicability::yes()
                              : Applicability::no(
                                    "the library has no such function, or it does not propagate "
                                    "NaN or flushes denormals");
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  const Function function = *function_of(problem);
  const std::int64_t elements = problem.inputs[0].shape.elements();
  OperatorWork work;
  SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem));
  work.in_place_input = post_ops_allow_in_place(problem, 0) ? 0 : -1;
  for_chunks(elements, chunk_count(context.threads(), elements), kCacheLine,
             [&](std::int64_t first, std::int64_t last) {
               OperatorChunk& chunk = work.chunks.emplace_back();
               chunk.create = function.create;
               chunk.setup = [setup = function.setup,
                              count = static_cast<std::size_t>(last - first)](
                                 xnn_operator_t op, const float* x, const float*, float* y) {
                 return setup(op, count, x, y, nullptr);
               };
               chunk.x_at = chunk.y_at = first;
               chunk.y_count = last - first;
             });
  return make_operator_kernel(std::move(work));
}

}  // namespace

Status register_unary(Registry& registry) {
  return add_routines(registry, {"unary"}, {"cpu", "cpu:float32:nhwc"}, "xnnpack",
                      operator_routine(applicable, create));
}

}  // namespace softneuro::xnnpack
