// channel_shuffle cpu/direct: whole planes in the plain layout, a small transpose at each position
// in nhwc.
#include <algorithm>

#include "core/base/parallel.h"
#include "cpu/simd/transpose_tiles.h"
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements of a task, at least

// nhwc, elements of up to four bytes.
Result<std::unique_ptr<Kernel>> make_channel_shuffle(const Problem& problem) {
  if (problem.inputs[0].layout != Layout::channels_last) return make_channel_shuffle_move(problem);
  const Shape& shape = problem.inputs[0].shape;
  const std::int64_t positions = shape[0] * shape.elements(2, shape.rank());
  const std::int64_t channels = shape[1];
  const std::int64_t groups = problem.params.integer("groups");
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::size_t bytes = size_of(x.type);
    const std::int64_t step = channels * static_cast<std::int64_t>(bytes);
    const std::int64_t members = channels / groups;
    const TransposeTiles& moves = transpose_tiles();
    parallel_ranges(context.pool(), positions, kGrain / std::max<std::int64_t>(channels, 1),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t p = first; p < last; ++p)
                        moves.transpose(bytes, {x.as<std::byte>() + p * step,
                                                y.as_mutable<std::byte>() + p * step, members,
                                                groups, groups, members});
                    });
  });
}

}  // namespace

Status register_routine_channel_shuffle_cpu_direct(Registry& registry) {
  return register_moves<make_channel_shuffle>(registry, "channel_shuffle", {.nhwc = true});
}

}  // namespace softneuro
