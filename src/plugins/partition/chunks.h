// How layers that go along memory are partitioned into chunks for libraries that run on one thread.
#pragma once

#include <optional>

#include "core/routine/routine.h"

namespace softneuro {

// In how many chunks `elements` of work are partitioned for `threads`: each has enough of them to
// be worth a thread's while.
std::int64_t chunk_count(int threads, std::int64_t elements);

// Multiply-accumulates of a layer that is not expected to be faster on one thread than partitioned:
// some twenty microseconds of its time, where waking the others takes five. Of a thousand
// convolutions with more, none was.
inline constexpr double kWorthPartitioning = 1e6;

// f(first, last) on that many parts of [0, count), as equal as they can be; bounds between parts
// are multiples of `step`.
template <class F>
void for_chunks(std::int64_t count, std::int64_t chunks, std::int64_t step, F&& f) {
  const std::int64_t steps = (count + step - 1) / step;
  chunks = chunks < steps ? chunks : steps;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t first = steps * i / chunks * step, last = steps * (i + 1) / chunks * step;
    f(first, last < count ? last : count);
  }
}

// Whether there is something to compute, and every tensor has the dimensions that its layout speaks
// of.
Applicability has_work(const Problem& problem);

// The dimensions of an operand that broadcasts to `y`, as many as y's stored ones and in their
// order (cpu/tensor/memory_order.h); nothing if it is stored otherwise. y is plain or nhwc.
std::optional<Shape> dims_opposite(const TensorSpec& operand, const TensorSpec& y);

// Elements along the parameter `axis` of input 0; unsupported if there are further ones behind it
// in memory.
Result<std::int64_t> columns_along_axis(const Problem& problem);

// NaN in all of a row where there is one, or infinity if `infinite`: for softmax of libraries whose
// largest element passes over NaN, or which clamp.
void spread_nan(float* y, std::int64_t rows, std::int64_t columns, bool infinite = false) noexcept;

}  // namespace softneuro
