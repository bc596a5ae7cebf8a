#include "routines/max_pool2/pool_rows.h"

#include <algorithm>

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would mean no vectors.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

struct Range {
  std::int64_t first, last;
  std::int64_t count() const { return last - first; }
};

// Kernel positions that meet the input at output `o`.
Range kernel_range(const WindowAxis& axis, std::int64_t o) noexcept {
  const std::int64_t begin = o * axis.stride - axis.pad_begin;
  const std::int64_t first =
      begin >= 0 ? 0 : std::min((-begin + axis.dilation - 1) / axis.dilation, axis.kernel);
  const std::int64_t room = axis.input - 1 - begin;
  const std::int64_t last = room < 0 ? 0 : std::min(room / axis.dilation + 1, axis.kernel);
  return {first, std::max(first, last)};
}

// The same in the input with its padding: a window in ceil_mode may reach beyond that.
Range padded_range(const WindowAxis& axis, std::int64_t o) noexcept {
  const std::int64_t room = axis.input + axis.pad_end - 1 - (o * axis.stride - axis.pad_begin);
  return {0, room < 0 ? 0 : std::min(room / axis.dilation + 1, axis.kernel)};
}

// Outputs that meet the input at kernel position `k`.
Range output_range(const WindowAxis& axis, std::int64_t k) noexcept {
  const std::int64_t shift = k * axis.dilation - axis.pad_begin;  // input = output·stride + shift
  const std::int64_t first =
      shift >= 0 ? 0 : std::min((-shift + axis.stride - 1) / axis.stride, axis.output);
  const std::int64_t room = axis.input - 1 - shift;
  const std::int64_t last = room < 0 ? 0 : std::min(room / axis.stride + 1, axis.output);
  return {first, std::max(first, last)};
}

struct Max {
  static constexpr float start() { return -__builtin_inff(); }
  // The first of equals; NaN wins and stays.
  static float combine(float best, float x) { return x > best || x != x ? x : best; }
};
struct Sum {
  static constexpr float start() { return 0; }
  static float combine(float sum, float x) { return sum + x; }
};

template <class Op>
void combine_row(const float* __restrict in, std::int64_t stride, float* __restrict out,
                 std::int64_t count) noexcept {
  if (stride == 1)
    for (std::int64_t i = 0; i < count; ++i) out[i] = Op::combine(out[i], in[i]);
  else if (stride == 2)
    for (std::int64_t i = 0; i < count; ++i) out[i] = Op::combine(out[i], in[2 * i]);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = Op::combine(out[i], in[i * stride]);
}

template <class Op>
void combine_window(const Window& window, const float* input, std::int64_t oz, std::int64_t oy,
                    float* out) noexcept {
  const auto& [az, ay, ax] = window.axes;
  std::fill_n(out, ax.output, Op::start());
  const Range z = kernel_range(az, oz), y = kernel_range(ay, oy);
  for (std::int64_t kz = z.first; kz < z.last; ++kz)
    for (std::int64_t ky = y.first; ky < y.last; ++ky) {
      const std::int64_t iz = oz * az.stride + kz * az.dilation - az.pad_begin;
      const std::int64_t iy = oy * ay.stride + ky * ay.dilation - ay.pad_begin;
      const float* const row = input + (iz * ay.input + iy) * ax.input;
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
        const Range x = output_range(ax, kx);
        if (x.count() > 0)
          combine_row<Op>(row + x.first * ax.stride + kx * ax.dilation - ax.pad_begin, ax.stride,
                          out + x.first, x.count());
      }
    }
}

void max_rows(const PoolRows& task) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  for (std::int64_t row = task.first; row < task.last; ++row)
    combine_window<Max>(*task.window, task.input, row / ay.output, row % ay.output,
                        task.output + row * ax.output);
}

std::int64_t counted(const WindowAxis& axis, std::int64_t o, bool count_padding) noexcept {
  return (count_padding ? padded_range(axis, o) : kernel_range(axis, o)).count();
}

void mean_rows(const PoolRows& task) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  for (std::int64_t row = task.first; row < task.last; ++row) {
    const std::int64_t oz = row / ay.output, oy = row % ay.output;
    float* const out = task.output + row * ax.output;
    combine_window<Sum>(*task.window, task.input, oz, oy, out);
    const std::int64_t outer =
        counted(az, oz, task.count_padding) * counted(ay, oy, task.count_padding);
    for (std::int64_t x = 0; x < ax.output; ++x) {
      const std::int64_t count = outer * counted(ax, x, task.count_padding);
      out[x] = count == 0 ? 0 : out[x] / static_cast<float>(count);
    }
  }
}

}  // namespace

extern const PoolFunctions kPoolFunctions;
const PoolFunctions kPoolFunctions = {max_rows, mean_rows};

}  // namespace softneuro::SN_ISA_NAMESPACE
