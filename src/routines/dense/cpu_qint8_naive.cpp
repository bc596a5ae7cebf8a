// dense cpu:qint8/naive: the specification of the quantised matrix product, in integers;
// cpu/qint8/weights.h says what is computed.
#include "routines/dense/naive_quantized.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_quantized_dense(const Problem& problem) {
  return make_naive_quantized(
      problem, 1,
      [](const QuantizedWeights& weights, const auto& level, std::int64_t i, std::int64_t m) {
        const std::int64_t row = i / weights.outputs;
        const std::int8_t* const w = weights.values.data() + m * weights.depth;
        std::int32_t sum = 0;
        for (std::int64_t k = 0; k < weights.depth; ++k)
          sum += level(row * weights.depth + k) * w[k];
        return sum;
      });
}

}  // namespace

Status register_routine_dense_cpu_qint8_naive(Registry& registry) {
  return add_routines(registry, {"dense"}, {"cpu:qint8"}, "naive",
                      naive_quantized(make_naive_quantized_dense));
}

}  // namespace softneuro
