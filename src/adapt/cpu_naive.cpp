// adapt cpu/naive: the specification. Element by element: the real number that the input's element
// stands for, rounded to the output's type (to the nearest, ties to even) and put to its place.
// float → qint8: saturate(round(x / scale) + zero_point), the quotient in float32; NaN gives the
// zero point. The padding of blocked layouts is zero in the sense of bits.
#include <cmath>
#include <cstring>

#include "adapt/run_cast.h"
#include "core/base/element.h"
#include "core/base/level.h"
#include "core/routine/function_routine.h"
#include "cpu/tensor/element_place.h"

namespace softneuro {
namespace {

class NaiveAdaptKernel final : public Kernel {
 public:
  explicit NaiveAdaptKernel(const Problem& problem)
      : from_(problem.inputs[0].quantization), to_(problem.outputs[0].quantization) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    std::memset(y.data, 0, static_cast<std::size_t>(storage_bytes(y.type, y.shape, y.layout)));
    for (std::int64_t i = 0, count = x.elements(); i < count; ++i) {
      const std::int64_t from = element_place(i, x.shape, x.layout);
      const std::int64_t to = element_place(i, y.shape, y.layout);
      const double value = x.type == DataType::qint8 ? dequantized(x, i, from) : load(x, from);
      if (y.type == DataType::qint8)
        quantize(y, i, to, value);
      else
        store(y, to, value);
    }
    return {};
  }

 private:
  static std::size_t scale_of(const Quantization& q, const Shape& shape, std::int64_t i) {
    if (q.axis < 0 || q.scales.size() == 1) return 0;
    return static_cast<std::size_t>(i / shape.elements(q.axis + 1, shape.rank()) % shape[q.axis]);
  }
  double dequantized(const TensorView& x, std::int64_t i, std::int64_t place) const noexcept {
    const std::size_t s = scale_of(*from_, x.shape, i);
    const int q = from_->is_signed ? x.as<std::int8_t>()[place] : x.as<std::uint8_t>()[place];
    return static_cast<double>(from_->scales[s]) * (q - from_->zero_points[s]);
  }
  void quantize(const TensorView& y, std::int64_t i, std::int64_t place,
                double value) const noexcept {
    const std::size_t s = scale_of(*to_, y.shape, i);
    const float quotient = static_cast<float>(value) / to_->scales[s];
    const LevelRange range = levels_of(to_->is_signed ? DataType::int8 : DataType::uint8);
    y.as_mutable<std::uint8_t>()[place] = static_cast<std::uint8_t>(
        level_of(std::isnan(quotient) ? 0 : quotient, range, to_->zero_points[s]));
  }

  std::optional<Quantization> from_, to_;
};

Result<std::unique_ptr<Kernel>> make_naive_adapt(const Problem& problem) {
  return make_kernel<NaiveAdaptKernel>(problem);
}

}  // namespace

Status register_routine_adapt_cpu_naive(Registry& registry) {
  return add_routines(registry, {"adapt"}, {"cpu"}, "naive",
                      {.applicable = takes_formats, .create = make_naive_adapt});
}

}  // namespace softneuro
