#include "routines/conv2/depthwise.h"

#include <algorithm>

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would mean no vectors.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

// The kernel's rows that meet the input at one output row: `count` of them from `first` on.
struct KernelRows {
  std::int64_t first = 0, count = 0;
};

KernelRows kernel_rows(const WindowAxis& y, std::int64_t row) noexcept {
  const std::int64_t top = row * y.stride - y.pad_begin;
  KernelRows rows;
  while (rows.first < y.kernel && top + rows.first * y.dilation < 0) ++rows.first;
  while (rows.first + rows.count < y.kernel &&
         top + (rows.first + rows.count) * y.dilation < y.input)
    ++rows.count;
  return rows;
}

// Outputs whose whole window lies within the input's width: [first, last).
struct Interior {
  std::int64_t first, last;
};

Interior interior(const WindowAxis& x) noexcept {
  const std::int64_t first = std::min((x.pad_begin + x.stride - 1) / x.stride, x.output);
  const std::int64_t room = x.input + x.pad_begin - x.extent();
  const std::int64_t last = room < 0 ? 0 : room / x.stride + 1;
  return {first, std::clamp(last, first, x.output)};
}

// out[i] = bias + Σ weights · inputs for i < count; `in` is where the first window begins.
template <int Rows, int Width, int Stride>
void small_kernel(const float* __restrict in, std::int64_t row_step, const float* weights,
                  float bias, float* __restrict out, std::int64_t count) noexcept {
  float w[Rows * Width];
  for (int i = 0; i < Rows * Width; ++i) w[i] = weights[i];
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = bias;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int k = 0; k < Width; ++k) sum += w[r * Width + k] * in[r * row_step + i * Stride + k];
    out[i] = sum;
  }
}

using SmallKernel = void (*)(const float*, std::int64_t, const float*, float, float*,
                             std::int64_t) noexcept;

template <int Width, int Stride>
SmallKernel small_kernel_of(std::int64_t rows) noexcept {
  switch (rows) {
    case 1:
      return small_kernel<1, Width, Stride>;
    case 2:
      return small_kernel<2, Width, Stride>;
    case 3:
      return small_kernel<3, Width, Stride>;
    default:
      break;
  }
  if constexpr (Width > 3) {
    if (rows == 4) return small_kernel<4, Width, Stride>;
    if (rows == 5) return small_kernel<5, Width, Stride>;
  }
  return nullptr;
}

// Null where there is no unrolled code for that kernel.
SmallKernel find_small_kernel(const WindowAxis& x, std::int64_t rows) noexcept {
  if (x.dilation != 1) return nullptr;
  if (x.kernel == 3 && x.stride == 1) return small_kernel_of<3, 1>(rows);
  if (x.kernel == 3 && x.stride == 2) return small_kernel_of<3, 2>(rows);
  if (x.kernel == 5 && x.stride == 1) return small_kernel_of<5, 1>(rows);
  if (x.kernel == 5 && x.stride == 2) return small_kernel_of<5, 2>(rows);
  return nullptr;
}

// out[i] += weight · in[i·stride]
void add_scaled(const float* __restrict in, std::int64_t stride, float weight,
                float* __restrict out, std::int64_t count) noexcept {
  if (stride == 1)
    for (std::int64_t i = 0; i < count; ++i) out[i] += weight * in[i];
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] += weight * in[i * stride];
}

class Row {
 public:
  Row(const DepthwiseRows& task, std::int64_t row) noexcept
      : x_(task.x),
        rows_(kernel_rows(task.y, row)),
        step_(task.y.dilation * task.x.input),
        in_(task.input + (rows_.count == 0 ? 0
                                           : (row * task.y.stride - task.y.pad_begin +
                                              rows_.first * task.y.dilation) *
                                                 task.x.input)),
        weights_(task.weights + rows_.first * task.x.kernel),
        bias_(task.bias),
        out_(task.output + row * task.x.output) {}

  void run(const Interior& inside) const noexcept {
    border(0, inside.first);
    if (inside.first < inside.last) middle(inside.first, inside.last - inside.first);
    border(inside.last, x_.output);
  }

 private:
  // Outputs whose window sticks out at a side.
  void border(std::int64_t first, std::int64_t last) const noexcept {
    for (std::int64_t o = first; o < last; ++o) {
      float sum = bias_;
      for (std::int64_t r = 0; r < rows_.count; ++r)
        for (std::int64_t k = 0; k < x_.kernel; ++k) {
          const std::int64_t i = o * x_.stride + k * x_.dilation - x_.pad_begin;
          if (i >= 0 && i < x_.input) sum += weights_[r * x_.kernel + k] * in_[r * step_ + i];
        }
      out_[o] = sum;
    }
  }

  void middle(std::int64_t first, std::int64_t count) const noexcept {
    const std::int64_t begin = first * x_.stride - x_.pad_begin;
    float* const out = out_ + first;
    if (const SmallKernel kernel = find_small_kernel(x_, rows_.count); kernel != nullptr)
      return kernel(in_ + begin, step_, weights_, bias_, out, count);
    std::fill_n(out, count, bias_);
    for (std::int64_t r = 0; r < rows_.count; ++r)
      for (std::int64_t k = 0; k < x_.kernel; ++k)
        add_scaled(in_ + r * step_ + begin + k * x_.dilation, x_.stride,
                   weights_[r * x_.kernel + k], out, count);
  }

  const WindowAxis& x_;
  KernelRows rows_;
  std::int64_t step_;  // from one of the kernel's rows to the next, in the input
  const float* in_;    // row of the input that the first of them meets
  const float* weights_;
  float bias_;
  float* out_;
};

void depthwise_rows(const DepthwiseRows& task) noexcept {
  const Interior inside = interior(task.x);
  for (std::int64_t row = task.first; row < task.last; ++row) Row(task, row).run(inside);
}

}  // namespace

extern const DepthwiseOps kDepthwiseOps;
const DepthwiseOps kDepthwiseOps = {depthwise_rows};

}  // namespace softneuro::SN_ISA_NAMESPACE
