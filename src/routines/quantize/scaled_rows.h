// Partitions a tensor into rows of one scale, or of one scale per element, for quantize and
// dequantize cpu/direct.
#pragma once

#include <algorithm>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "core/routine/routine.h"
#include "cpu/simd/quantize_rows.h"
#include "routines/quantize/scale_index.h"

namespace softneuro {

class ScaledRows {
 public:
  // Inputs of the problem: x, float32 scales, zero points (optional). Not for blocked scales.
  ScaledRows(const Problem& problem, const ScaleIndex& index)
      : elements_(problem.inputs[0].shape.elements()),
        scales_(problem.inputs[1].shape.elements()),
        per_tensor_(index.per_tensor),
        per_element_(!index.per_tensor && index.inner == 1),
        row_(per_element_ ? index.dim : index.inner) {}

  // For the zero points as int32.
  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(scales_) * sizeof(std::int32_t);
  }

  // f(first element, row) for chunks of the tensor, in parallel.
  template <class F>
  void for_rows(Context& context, F&& f) const noexcept {
    auto* zero_points = reinterpret_cast<std::int32_t*>(context.workspace());
    for (std::int64_t i = 0; i < scales_; ++i)
      zero_points[i] =
          context.has_input(2) ? static_cast<std::int32_t>(load_integer(context.input(2), i)) : 0;
    const float* scales = context.input(1).as<float>();
    if (per_tensor_) {
      parallel_ranges(context.pool(), elements_, kElements,
                      [&](std::int64_t first, std::int64_t last) {
                        f(first, ScaledRow{scales, zero_points, false, last - first});
                      });
      return;
    }
    if (row_ == 0) return;
    parallel_ranges(context.pool(), elements_ / row_, kElements / row_,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t r = first; r < last; ++r) {
                        const std::int64_t s = per_element_ ? 0 : r % scales_;
                        f(r * row_, ScaledRow{scales + s, zero_points + s, per_element_, row_});
                      }
                    });
  }

 private:
  static constexpr std::int64_t kElements = 8192;  // per task, at least
  std::int64_t elements_, scales_;
  bool per_tensor_, per_element_;
  std::int64_t row_;
};

}  // namespace softneuro
