// binary cpu/xnnpack and cpu:float32:nhwc/xnnpack: add and sub, operands broadcast as the library
// does. Its max and min may lose NaN; mul and div take denormals for zero, which makes a difference
// beside infinity.
#include <array>

#include "cpu/tensor/memory_order.h"
#include "plugins/partition/chunks.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

constexpr std::int64_t kCacheLine = 16;  // floats

using Create = xnn_status (*)(float, float, std::uint32_t, xnn_operator_t*);
using Setup = xnn_status (*)(xnn_operator_t, std::size_t, const std::size_t*, std::size_t,
                             const std::size_t*, const float*, const float*, float*, pthreadpool_t);
struct Function {
  Create create = nullptr;
  Setup setup = nullptr;
  BinaryOp op = BinaryOp::add;
};

Function function_of(const Problem& problem) {
  BinaryOp op;
  if (!parse(problem.params.text("op"), op)) return {};
  switch (op) {
    case BinaryOp::add:
      return {xnn_create_add_nd_f32, xnn_setup_add_nd_f32, op};
    case BinaryOp::sub:
      return {xnn_create_subtract_nd_f32, xnn_setup_subtract_nd_f32, op};
    default:
      return {};
  }
}

// The output's dimensions in memory and, opposite them, those of the operands: without leading
// ones, and all in one where nothing is broadcast.
struct Dims {
  std::vector<std::int64_t> y, a, b;
};

std::optional<Dims> dims_of(const Problem& problem) {
  const TensorSpec &a = problem.inputs[0], &b = problem.inputs[1], &y = problem.outputs[0];
  const auto a_dims = dims_opposite(a, y), b_dims = dims_opposite(b, y);
  if (!a_dims || !b_dims) return std::nullopt;
  if (*a_dims == *b_dims) {
    const std::vector<std::int64_t> all = {y.shape.elements()};
    return Dims{all, all, all};
  }
  const Shape stored = stored_shape(y.shape, y.layout);
  Dims dims;
  for (int d = 0; d < stored.rank(); ++d) {
    if (dims.y.empty() && stored[d] == 1) continue;
    dims.y.push_back(stored[d]);
    dims.a.push_back((*a_dims)[d]);
    dims.b.push_back((*b_dims)[d]);
  }
  if (dims.y.size() > XNN_MAX_TENSOR_DIMS) return std::nullopt;
  return dims;
}

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t first) {
  std::int64_t elements = 1;
  for (std::size_t d = first; d < dims.size(); ++d) elements *= dims[d];
  return elements;
}

using LibraryDims = std::array<std::size_t, XNN_MAX_TENSOR_DIMS>;
// Those of rows [first, last) of the outermost dimension.
LibraryDims library_dims(const std::vector<std::int64_t>& dims, std::int64_t rows) {
  LibraryDims made{};
  for (std::size_t d = 0; d < dims.size(); ++d) made[d] = static_cast<std::size_t>(dims[d]);
  if (made[0] != 1) made[0] = static_cast<std::size_t>(rows);
  return made;
}

// Where element i of y has its operand.
std::int64_t opposite(const std::vector<std::int64_t>& y, const std::vector<std::int64_t>& operand,
                      std::int64_t i) noexcept {
  std::int64_t at = 0, step = 1;
  for (std::size_t d = y.size(); d-- > 0;) {
    if (operand[d] != 1) at += i % y[d] * step;
    i /= y[d];
    step *= operand[d];
  }
  return at;
}

OperatorChunk chunk_of(const Dims& dims, Function function, std::int64_t first, std::int64_t rows) {
  const auto at = [&](const std::vector<std::int64_t>& operand) {
    return operand[0] == 1 ? 0 : first * product(operand, 1);
  };
  OperatorChunk chunk;
  chunk.create = [create = function.create](xnn_operator_t* op) {
    return create(-kUnlimited, kUnlimited, 0, op);
  };
  chunk.takes_two = true;
  chunk.setup = [setup = function.setup, rank = dims.y.size(), a_dims = library_dims(dims.a, rows),
                 b_dims = library_dims(dims.b, rows)](xnn_operator_t op, const float* a,
                                                      const float* b, float* y) {
    return setup(op, rank, a_dims.data(), rank, b_dims.data(), a, b, y, nullptr);
  };
  chunk.element = [=](const float* a, const float* b, std::int64_t i) {
    return apply(function.op, static_cast<double>(a[opposite(dims.y, dims.a, i)]),
                 static_cast<double>(b[opposite(dims.y, dims.b, i)]));
  };
  chunk.x_at = at(dims.a);
  chunk.second_at = at(dims.b);
  chunk.y_at = first * product(dims.y, 1);
  chunk.y_count = rows * product(dims.y, 1);
  return chunk;
}

Applicability applicable(const Problem& problem) {
  for (std::size_t i = 0; i < 2; ++i)
    if (problem.inputs[i].type != DataType::float32) return Applicability::no("needs float32");
  if (Applicability work = has_work(problem); !work) return work;
  if (function_of(problem).create == nullptr)
    return Applicability::no(
        "the library has no such function, or it does not propagate NaN or flushes denormals");
  return dims_of(problem) ? Applicability::yes()
                          : Applicability::no("this broadcast is not supported by the library");
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  const Dims dims = *dims_of(problem);
  const Function function = function_of(problem);
  const std::int64_t elements = problem.outputs[0].shape.elements();
  OperatorWork work;
  SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem));
  const std::int64_t outer = dims.y[0], inner = product(dims.y, 1);
  for_chunks(outer, chunk_count(context.threads(), elements), inner == 1 ? kCacheLine : 1,
             [&](std::int64_t first, std::int64_t last) {
               work.chunks.push_back(chunk_of(dims, function, first, last - first));
             });
  return make_operator_kernel(std::move(work));
}

}  // namespace

Status register_binary(Registry& registry) {
  return add_routines(registry, {"binary"}, {"cpu", "cpu:float32:nhwc"}, "xnnpack",
                      operator_routine(applicable, create));
}

}  // namespace softneuro::xnnpack
