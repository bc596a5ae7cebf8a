#include "cpu/gemm/epilogue.h"

#include <algorithm>
#include <type_traits>

#include "cpu/gemm/packed_panel.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

// Bias, addition and clamp.
template <class T>
void store_panels(const EpilogueRows<T>& r, std::span<const TensorView> inputs,
                  const EpiloguePostOps& post_ops, bool as_floats,
                  EpilogueStoreFunction<T> store) noexcept {
  const T* const addend = post_ops.addend<T>(inputs, r.offset);
  const std::int64_t step = r.panel_stride == kTilePanel ? r.columns : kTilePanel;
  EpilogueStore<T> task;
  task.sums_stride = r.row_stride;
  task.rows = r.rows;
  task.clamp = post_ops.clamps();
  task.low = post_ops.low();
  task.high = post_ops.high();
  task.y_stride = r.c_row_stride;
  task.floats_stride = r.floats_stride;
  for (std::int64_t j = 0; j < r.columns; j += step) {
    task.sums = r.sums + j / kTilePanel * r.panel_stride;
    task.columns = std::min(step, r.columns - j);
    task.bias = r.bias == nullptr ? nullptr : r.bias + j;
    task.addend = addend == nullptr ? nullptr : addend + j;
    task.y = r.c + r.offset + j;
    task.floats = as_floats ? r.floats + j : nullptr;
    store(task);
  }
}

}  // namespace

template <class T>
void apply_epilogue(const EpilogueRows<T>& r, std::span<const TensorView> inputs,
                    const EpiloguePostOps& post_ops, EpilogueStoreFunction<T> store) noexcept {
  constexpr bool kRounds = !std::is_same_v<T, float>;
  const PostOpProgram& rest = post_ops.rest();
  store_panels(r, inputs, post_ops, kRounds && !rest.empty(), store);
  if (rest.empty()) return;
  const auto apply = [&](int row, std::int64_t count) {
    const std::int64_t at = r.offset + row * r.c_row_stride;
    if constexpr (kRounds) {
      float* const results = r.floats + row * r.floats_stride;
      rest.apply(inputs, results, at, count);
      float_spans().store(data_type_of<T>(), results, r.c + at, count);
    } else {
      rest.apply(inputs, r.c + at, at, count);
    }
  };
  if (r.columns == r.c_row_stride && (!kRounds || r.columns == r.floats_stride))
    return apply(0, r.rows * r.columns);  // whole rows, one behind the other
  for (int row = 0; row < r.rows; ++row) apply(row, r.columns);
}

template void apply_epilogue(const EpilogueRows<Half>&, std::span<const TensorView>,
                             const EpiloguePostOps&, EpilogueStoreFunction<Half>) noexcept;
template void apply_epilogue(const EpilogueRows<BFloat16>&, std::span<const TensorView>,
                             const EpiloguePostOps&, EpilogueStoreFunction<BFloat16>) noexcept;
template void apply_epilogue(const EpilogueRows<float>&, std::span<const TensorView>,
                             const EpiloguePostOps&, EpilogueStoreFunction<float>) noexcept;

}  // namespace softneuro
