// Runs of quantised elements (DataType::qint8): to float32, from it, and through tables. One
// variant per instruction set, all with the same bits.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/cpu.h"
#include "core/routine/routine.h"

namespace softneuro {

// What the elements of a run mean: one scale and zero point for all of them, or one for each.
struct Qint8Scale {
  const float* scales = nullptr;
  const std::int32_t* zero_points = nullptr;
  bool is_signed = false;
  bool per_element = false;
};

// The bytes of sums and products of two operands:
// y = saturate(round(a·A + b·B + ab·A·B + c) + zero_point), where A and B are the operands' bytes
// as numbers. Their zero points and all scales are in the coefficients.
struct Qint8Form {
  float a = 0, b = 0, ab = 0, c = 0;
  std::int32_t zero_point = 0;  // of y
  bool a_is_signed = false, b_is_signed = false, y_is_signed = false;

  // Per tensor, all of them.
  static Qint8Form sum(const Quantization& a, const Quantization& b, const Quantization& y,
                       float sign_of_b) noexcept;
  static Qint8Form product(const Quantization& a, const Quantization& b,
                           const Quantization& y) noexcept;
};

// y[i] = table[x[i]]: any function of one quantised element.
using Qint8Table = std::array<std::uint8_t, 256>;

struct Qint8Rows {
  // y = scale · (x − zero_point).
  void (*dequantize)(const void* x, float* y, std::int64_t count, const Qint8Scale& scale) noexcept;
  // y = saturate(round(x / scale) + zero_point), half to even; NaN gives the zero point.
  void (*quantize)(const float* x, void* y, std::int64_t count, const Qint8Scale& scale) noexcept;
  // y may be x.
  void (*map)(const Qint8Table& table, const std::uint8_t* x, std::uint8_t* y,
              std::int64_t count) noexcept;
  // An operand's step is 1, or 0 where one element stands for all. y may be a or b.
  void (*combine)(const Qint8Form& form, const void* a, std::int64_t a_step, const void* b,
                  std::int64_t b_step, void* y, std::int64_t count) noexcept;
};

// The best variant for this processor, or for one with these features.
SN_INTREE const Qint8Rows& qint8_rows() noexcept;
SN_INTREE const Qint8Rows& qint8_rows(CpuFeatures features) noexcept;

// Whether bytes mean the same under both.
SN_INTREE bool is_same_quantization(const Quantization& a, const Quantization& b) noexcept;

// One scale for the whole tensor. Precondition for those below.
inline bool is_per_tensor(const Quantization& q) noexcept {
  return q.axis < 0 || q.scales.size() == 1;
}
// The view of a quantisation per tensor, which must outlive it.
inline Qint8Scale scale_of(const Quantization& q) noexcept {
  return {q.scales.data(), q.zero_points.data(), q.is_signed, false};
}
// The table of y = f(x) for bytes that mean numbers: f is given what the byte means under `from`
// and its result is rounded as by Qint8Rows::quantize.
template <class F>
Qint8Table make_qint8_table(const Quantization& from, const Quantization& to, F&& f) {
  Qint8Table bytes;
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  float x[256], y[256];
  const Qint8Rows& rows = qint8_rows(CpuFeatures());
  rows.dequantize(bytes.data(), x, 256, scale_of(from));
  for (std::size_t i = 0; i < 256; ++i) y[i] = f(x[i]);
  Qint8Table table;
  rows.quantize(y, table.data(), 256, scale_of(to));
  return table;
}
// The same numbers under another quantisation.
inline Qint8Table make_requantize_table(const Quantization& from, const Quantization& to) {
  return make_qint8_table(from, to, [](float x) { return x; });
}

}  // namespace softneuro
