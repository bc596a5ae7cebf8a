#include "cpu/simd/qint8_rows.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Qint8Rows, kQint8Rows, qint8_rows)

bool is_same_quantization(const Quantization& a, const Quantization& b) noexcept {
  return a.is_signed == b.is_signed && a.scales == b.scales && a.zero_points == b.zero_points &&
         (a.axis == b.axis || (is_per_tensor(a) && is_per_tensor(b)));
}

Qint8Form Qint8Form::sum(const Quantization& a, const Quantization& b, const Quantization& y,
                         float sign_of_b) noexcept {
  Qint8Form form;
  form.a = a.scales[0] / y.scales[0];
  form.b = sign_of_b * b.scales[0] / y.scales[0];
  form.c = -(form.a * static_cast<float>(a.zero_points[0]) +
             form.b * static_cast<float>(b.zero_points[0]));
  form.zero_point = y.zero_points[0];
  form.a_is_signed = a.is_signed;
  form.b_is_signed = b.is_signed;
  form.y_is_signed = y.is_signed;
  return form;
}

Qint8Form Qint8Form::product(const Quantization& a, const Quantization& b,
                             const Quantization& y) noexcept {
  const auto zero_a = static_cast<float>(a.zero_points[0]);
  const auto zero_b = static_cast<float>(b.zero_points[0]);
  Qint8Form form;
  form.ab = a.scales[0] * b.scales[0] / y.scales[0];
  form.a = -form.ab * zero_b;
  form.b = -form.ab * zero_a;
  form.c = form.ab * zero_a * zero_b;
  form.zero_point = y.zero_points[0];
  form.a_is_signed = a.is_signed;
  form.b_is_signed = b.is_signed;
  form.y_is_signed = y.is_signed;
  return form;
}

}  // namespace softneuro
