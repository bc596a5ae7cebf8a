#include "routines/max_pool2/direct_pool.h"

#include <algorithm>

#include "core/parallel.h"

namespace softneuro {

DirectPoolKernel::DirectPoolKernel(const Window& window, std::int64_t planes, bool count_padding,
                                   void (*function)(const PoolRows&) noexcept,
                                   PostOpProgram post_ops)
    : window_(window),
      planes_(planes),
      count_padding_(count_padding),
      function_(function),
      post_ops_(std::move(post_ops)) {}

Status DirectPoolKernel::run(Context& context) const noexcept {
  constexpr std::int64_t kTaskOutputs = 4096;  // a task's rows make about that many elements
  const std::int64_t width = window_.axes[2].output;
  const std::int64_t rows = window_.axes[0].output * window_.axes[1].output;
  if (planes_ * rows * width == 0) return {};
  const std::int64_t grain = std::max<std::int64_t>(kTaskOutputs / width, 1);
  const std::int64_t pieces = (rows + grain - 1) / grain;
  const std::int64_t together = std::max<std::int64_t>(grain / rows, 1);  // small planes at a time
  const auto run_rows = [&](std::int64_t plane, std::int64_t first, std::int64_t last) {
    PoolRows task;
    task.window = &window_;
    task.input = context.input(0).as<float>() + plane * window_.input_elements();
    task.output = context.output(0).as_mutable<float>() + plane * rows * width;
    task.first = first;
    task.last = last;
    task.count_padding = count_padding_;
    function_(task);
    post_ops_.apply(context.inputs(), task.output + first * width, (plane * rows + first) * width,
                    (last - first) * width);
  };
  if (pieces > 1)
    parallel_for(context.pool(), planes_ * pieces, [&](std::int64_t i) {
      const std::int64_t first = i % pieces * grain;
      run_rows(i / pieces, first, std::min(first + grain, rows));
    });
  else
    parallel_for(context.pool(), (planes_ + together - 1) / together, [&](std::int64_t i) {
      for (std::int64_t p = i * together; p < std::min((i + 1) * together, planes_); ++p)
        run_rows(p, 0, rows);
    });
  return {};
}

}  // namespace softneuro
