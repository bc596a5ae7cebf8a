// binary cpu/onednn, cpu:float32:nhwc/onednn, …: add, mul, sub and div of an operand of the
// output's shape and one that may be broadcast. The library's max and min lose NaN.
#include "core/routine/registry.h"
#include "cpu/tensor/memory_order.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t kCacheLine = 16;  // floats

BinaryOp function_of(const Problem& problem) {
  BinaryOp op;
  return parse(problem.params.text("op"), op) ? op : BinaryOp::pow;
}

// Which operand has the output's shape, and the dimensions that both share: neighbouring ones in
// memory joined where the other operand has all of them or none.
struct Operands {
  std::size_t whole = 0, other = 1;
  memory::dims dims, other_dims;
};

std::optional<Operands> operands_of(const Problem& problem) {
  const TensorSpec& y = problem.outputs[0];
  Operands operands;
  const auto is_whole = [&](std::size_t i) {
    return problem.inputs[i].shape == y.shape && problem.inputs[i].layout == y.layout;
  };
  if (!is_whole(0)) {
    const BinaryOp op = function_of(problem);
    if (!is_whole(1) || (op != BinaryOp::add && op != BinaryOp::mul)) return std::nullopt;
    std::swap(operands.whole, operands.other);
  }
  if (block_of(y.layout) > 1) {
    if (!is_whole(operands.other)) return std::nullopt;
    operands.dims = operands.other_dims = {y.shape.elements()};
    return operands;
  }
  const auto other = dims_opposite(problem.inputs[operands.other], y);
  if (!other) return std::nullopt;
  const Shape dims = stored_shape(y.shape, y.layout);
  int before = -1;  // whether the other operand has the dimension
  for (int d = 0; d < dims.rank(); ++d) {
    if (dims[d] == 1) continue;
    const int has = (*other)[d] == 1 ? 0 : 1;
    if (has == before) {
      operands.dims.back() *= dims[d];
      operands.other_dims.back() *= (*other)[d];
    } else {
      operands.dims.push_back(dims[d]);
      operands.other_dims.push_back((*other)[d]);
    }
    before = has;
  }
  if (operands.dims.empty()) operands.dims = operands.other_dims = {1};
  return operands;
}

memory::desc plain_desc(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * dims[d];
  return {dims, memory::data_type::f32, strides};
}

Applicability applicable(const Problem& problem) {
  const BinaryOp op = function_of(problem);
  if (op == BinaryOp::max || op == BinaryOp::min)
    return Applicability::no("oneDNN's implementation does not propagate NaN");
  if (!algorithm_of(op)) return Applicability::no("the library has no such function");
  if (Applicability types = takes_float32(problem); !types) return types;
  if (Applicability blocks = fills_blocks(problem.outputs[0]); !blocks) return blocks;
  const auto operands = operands_of(problem);
  if (!operands) return Applicability::no("this broadcast is not supported by the library");
  if (operands->dims.size() > 5) return Applicability::no("so many dimensions are not supported");
  return Applicability::yes();
}

// By the outermost dimension.
std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const Operands operands = *operands_of(problem);
  const std::int64_t elements = problem.outputs[0].shape.elements();
  const std::int64_t outer = operands.dims[0], other_outer = operands.other_dims[0];
  const std::int64_t inner = elements / outer;
  std::int64_t other_inner = 1;
  for (std::size_t d = 1; d < operands.other_dims.size(); ++d)
    other_inner *= operands.other_dims[d];
  std::vector<PlainPart> parts;
  for_chunks(
      outer, chunk_count(threads, elements), inner == 1 ? kCacheLine : 1,
      [&](std::int64_t first, std::int64_t last) {
        memory::dims dims = operands.dims, other_dims = operands.other_dims;
        dims[0] = last - first;
        if (other_outer > 1) other_dims[0] = last - first;
        const auto desc = plain_desc(dims), other = plain_desc(other_dims);
        const std::int64_t at = first * inner;
        parts.push_back(plain_part(
            Operation::of<dnnl::binary>(*algorithm_of(function_of(problem)), desc, other, desc),
            {input_argument(DNNL_ARG_SRC_0, operands.whole, at, desc),
             input_argument(DNNL_ARG_SRC_1, operands.other,
                            other_outer > 1 ? first * other_inner : 0, other),
             output_argument(at, desc)},
            at, (last - first) * inner));
      });
  return parts;
}

int in_place_input(const Problem& problem) {
  const auto operands = operands_of(problem);
  return operands ? static_cast<int>(operands->whole) : -1;
}

}  // namespace

Status register_binary(Registry& registry) {
  return add_plain_routines(registry,
                            {.layer_type = "binary",
                             .applicable = applicable,
                             .parts = parts,
                             .in_place_input = in_place_input},
                            kFloatLayouts);
}

}  // namespace softneuro::onednn
