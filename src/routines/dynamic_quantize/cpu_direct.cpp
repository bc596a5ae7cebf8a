// dynamic_quantize cpu/direct: the range in chunks, then as quantize cpu/direct. The same bits as
// cpu/naive.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/simd/quantize_rows.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 16384;  // elements
constexpr std::int64_t kChunks = 64;    // at most

void range(ThreadPool& pool, const float* x, std::int64_t count, float* low, float* high) noexcept {
  float lows[kChunks] = {}, highs[kChunks] = {};
  const std::int64_t chunks = std::clamp<std::int64_t>(count / kChunk, 1, kChunks);
  parallel_for(pool, chunks, [&](std::int64_t p) {
    const std::int64_t first = count * p / chunks, last = count * (p + 1) / chunks;
    quantize_rows().range(x + first, last - first, &lows[p], &highs[p]);
  });
  *low = *std::min_element(lows, lows + chunks);
  *high = *std::max_element(highs, highs + chunks);
}

Result<std::unique_ptr<Kernel>> make_direct_dynamic_quantize(const Problem&) {
  return make_function_kernel([](Context& context) {
    const float* x = context.input(0).as<float>();
    const std::int64_t count = context.input(0).elements();
    float low = 0, high = 0;
    range(context.pool(), x, count, &low, &high);
    const float scale = high > low ? (high - low) / 255.0f : 1.0f;
    const std::int32_t zero_point = from_double<std::uint8_t>(std::nearbyint(-low / scale));
    if (context.has_output(0)) {
      auto* y = context.output(0).as_mutable<std::uint8_t>();
      parallel_ranges(context.pool(), count, kChunk, [&](std::int64_t first, std::int64_t last) {
        const ScaledRow row{&scale, &zero_point, false, last - first};
        quantize_rows().quantize(DataType::uint8, x + first, y + first, row);
      });
    }
    if (context.has_output(1)) *context.output(1).as_mutable<float>() = scale;
    if (context.has_output(2))
      *context.output(2).as_mutable<std::uint8_t>() = static_cast<std::uint8_t>(zero_point);
  });
}

}  // namespace

Status register_routine_dynamic_quantize_cpu_direct(Registry& registry) {
  return add_routines(registry, {"dynamic_quantize"}, {"cpu"}, "direct",
                      {.facts = {.default_rank = 20}, .create = make_direct_dynamic_quantize});
}

}  // namespace softneuro
