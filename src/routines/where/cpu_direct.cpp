// where cpu/direct: rows of elements of 1, 2, 4 or 8 bytes.

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/tensor/broadcast_walk.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 8192;  // elements

Result<BroadcastWalk> walk_of(const Problem& problem) {
  const BroadcastWalk::Operand operands[] = {
      {problem.inputs[0].shape}, {problem.inputs[1].shape}, {problem.inputs[2].shape}};
  return BroadcastWalk::make(problem.outputs[0].shape, Layout::plain, operands);
}

// T: any type of the elements' size; bits are moved, never interpreted.
template <class T>
void choose(const BroadcastWalk& walk, const TypedConstants& constants, Context& context,
            std::int64_t offset, std::int64_t count) noexcept {
  const auto* condition = context.input(0).as<std::uint8_t>();
  const T* const x = constants.input(context, 1).as<T>();
  const T* const y = constants.input(context, 2).as<T>();
  T* output = context.output(0).as_mutable<T>();
  const std::int64_t c_step = walk.is_row_constant(0) ? 0 : 1;
  const std::int64_t x_step = walk.is_row_constant(1) ? 0 : 1;
  const std::int64_t y_step = walk.is_row_constant(2) ? 0 : 1;
  walk.for_blocks(offset, count, [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r, first += columns) {
      const std::uint8_t* c_row = condition + walk.at(0, first);
      const T *x_row = x + walk.at(1, first), *y_row = y + walk.at(2, first);
      for (std::int64_t i = 0; i < columns; ++i) {
        const T yes = x_row[i * x_step], no = y_row[i * y_step];
        output[first + i] = c_row[i * c_step] != 0 ? yes : no;
      }
    }
  });
}

Result<std::unique_ptr<Kernel>> make_direct_where(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const BroadcastWalk walk, walk_of(problem));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& output = context.output(0);
    const std::int64_t elements = output.elements();
    parallel_chunks(context.pool(), elements, kChunk, [&](std::int64_t begin, std::int64_t count) {
      switch (size_of(output.type)) {
        case 1:
          return choose<std::uint8_t>(walk, constants, context, begin, count);
        case 2:
          return choose<std::uint16_t>(walk, constants, context, begin, count);
        case 4:
          return choose<std::uint32_t>(walk, constants, context, begin, count);
        default:
          return choose<std::uint64_t>(walk, constants, context, begin, count);
      }
    });
  });
}

}  // namespace

Status register_routine_where_cpu_direct(Registry& registry) {
  return add_routines(registry, {"where"}, {"cpu"}, "direct",
                      {.facts = {.default_rank = 20}, .create = make_direct_where});
}

}  // namespace softneuro
