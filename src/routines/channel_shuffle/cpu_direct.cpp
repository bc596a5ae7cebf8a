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
class PositionsKernel final : public Kernel {
 public:
  PositionsKernel(const Shape& x, std::int64_t groups)
      : positions_(x[0] * x.elements(2, x.rank())), channels_(x[1]), groups_(groups) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::size_t bytes = size_of(x.type);
    const std::int64_t step = channels_ * static_cast<std::int64_t>(bytes);
    const std::int64_t members = channels_ / groups_;
    const TransposeTiles& moves = transpose_tiles();
    parallel_ranges(context.pool(), positions_, kGrain / std::max<std::int64_t>(channels_, 1),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t p = first; p < last; ++p)
                        moves.transpose(bytes, {x.as<std::byte>() + p * step,
                                                y.as_mutable<std::byte>() + p * step, members,
                                                groups_, groups_, members});
                    });
    return {};
  }

 private:
  std::int64_t positions_, channels_, groups_;
};

Result<std::unique_ptr<Kernel>> make_channel_shuffle(const Problem& problem) {
  if (problem.inputs[0].layout != Layout::channels_last) return make_channel_shuffle_move(problem);
  return make_kernel<PositionsKernel>(problem.inputs[0].shape, problem.params.integer("groups"));
}

}  // namespace

Status register_routine_channel_shuffle_cpu_direct(Registry& registry) {
  return register_moves(registry, "channel_shuffle", make_channel_shuffle, {.nhwc = true});
}

}  // namespace softneuro
