// Where positions lie side by side (plain layout), a window's rows are combined first, into a
// buffer with neutral elements at both ends, then that buffer's columns. Where channels do, each
// position combines vectors of channels.
#include "routines/max_pool2/pool_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/vector_element.h"

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

// Steps of the dilation that fit into `room` >= 0. Divisions are slow, dilations rare.
std::int64_t steps(const WindowAxis& axis, std::int64_t room) noexcept {
  return axis.dilation == 1 ? room : room / axis.dilation;
}

// Kernel positions that meet the input at output `o`.
Range kernel_range(const WindowAxis& axis, std::int64_t o) noexcept {
  const std::int64_t begin = o * axis.stride - axis.pad_begin;
  const std::int64_t first =
      begin >= 0 ? 0 : std::min(steps(axis, axis.dilation - 1 - begin), axis.kernel);
  const std::int64_t room = axis.input - 1 - begin;
  const std::int64_t last = room < 0 ? 0 : std::min(steps(axis, room) + 1, axis.kernel);
  return {first, std::max(first, last)};
}

// The same in the input with its padding: a window in ceil_mode may reach beyond that.
Range padded_range(const WindowAxis& axis, std::int64_t o) noexcept {
  const std::int64_t room = axis.input + axis.pad_end - 1 - (o * axis.stride - axis.pad_begin);
  return {0, room < 0 ? 0 : std::min(steps(axis, room) + 1, axis.kernel)};
}

std::int64_t counted(const WindowAxis& axis, std::int64_t o, bool count_padding) noexcept {
  return (count_padding ? padded_range(axis, o) : kernel_range(axis, o)).count();
}

// Input index of kernel position `k` at output `o`.
std::int64_t place(const WindowAxis& axis, std::int64_t o, std::int64_t k) noexcept {
  return o * axis.stride + k * axis.dilation - axis.pad_begin;
}

struct Max {
  SN_INLINE static FloatV start() { return splat(-__builtin_inff()); }
  // NaN wins and stays.
  SN_INLINE static FloatV combine(FloatV best, FloatV x) {
    return select(is_nan(best), best, max(best, x));  // max gives x where either is NaN
  }
};
struct Sum {
  SN_INLINE static FloatV start() { return FloatV{}; }
  SN_INLINE static FloatV combine(FloatV sum, FloatV x) { return sum + x; }
};

// How many elements one output is the mean of, and which of those lie in the input.
struct Share {
  std::int64_t addends = 0, count = 0;
};

Share share_of(const PoolRows& task, std::int64_t oz, std::int64_t oy, std::int64_t ox) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  const auto product = [&](bool padding) {
    return counted(az, oz, padding) * counted(ay, oy, padding) * counted(ax, ox, padding);
  };
  return {product(false), product(task.count_padding)};
}

// The mean as sum · factor + shift. Exact division where there is no scale.
SN_INLINE FloatV mean_of(FloatV sum, const PoolRows& task, FloatV addends, FloatV count) {
  const FloatV mean = (sum - addends * task.zero_point) * task.scale / count + task.shift;
  return select(count == 0.0f, splat(task.shift), mean);
}

// --- channels side by side
// ------------------------------------------------------------------------

// `vectors` vectors of the channels at `input` (of the whole plane) for one output.
template <class Op, class T, int vectors>
SN_INLINE void combine_channels(const PoolRows& task, const T* input, std::int64_t oz,
                                std::int64_t oy, std::int64_t ox, const Range (&ranges)[3],
                                std::int64_t lanes, FloatV (&result)[vectors]) {
  const auto& [az, ay, ax] = task.window->axes;
  for (int v = 0; v < vectors; ++v) result[v] = Op::start();
  for (std::int64_t kz = ranges[0].first; kz < ranges[0].last; ++kz)
    for (std::int64_t ky = ranges[1].first; ky < ranges[1].last; ++ky) {
      const T* row =
          input + (place(az, oz, kz) * ay.input + place(ay, oy, ky)) * ax.input * task.inner;
      for (std::int64_t kx = ranges[2].first; kx < ranges[2].last; ++kx) {
        const T* p = row + place(ax, ox, kx) * task.inner;
        if constexpr (vectors == 1) {
          const FloatV x = lanes < kLanes ? load_elements(p, lanes) : load_element(p);
          result[0] = Op::combine(result[0], x);
        } else {
          for (int v = 0; v < vectors; ++v)
            result[v] = Op::combine(result[v], load_element(p + v * kLanes));
        }
      }
    }
}

template <class Op, class T, int vectors>
SN_INLINE void pool_channels(const PoolRows& task, std::int64_t channel, std::int64_t oz,
                             std::int64_t oy, std::int64_t ox, const Range (&ranges)[3],
                             const Share& share, T* to, std::int64_t lanes = kLanes) {
  FloatV result[vectors];
  combine_channels<Op, T, vectors>(task, static_cast<const T*>(task.input) + channel, oz, oy, ox,
                                   ranges, lanes, result);
  for (int v = 0; v < vectors; ++v) {
    if constexpr (std::is_same_v<Op, Sum>)
      result[v] = mean_of(result[v], task, splat(static_cast<float>(share.addends)),
                          splat(static_cast<float>(share.count)));
    if (lanes < kLanes)
      store_elements(to + channel, result[v], lanes);
    else
      store_element(to + channel + v * kLanes, result[v]);
  }
}

template <class Op, class T>
void pool_positions(const PoolRows& task) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  for (std::int64_t row = task.first; row < task.last; ++row) {
    const std::int64_t oz = row / ay.output, oy = row % ay.output;
    Range ranges[3] = {kernel_range(az, oz), kernel_range(ay, oy), {}};
    for (std::int64_t ox = 0; ox < ax.output; ++ox) {
      ranges[2] = kernel_range(ax, ox);
      const Share share = std::is_same_v<Op, Sum> ? share_of(task, oz, oy, ox) : Share{};
      T* to = static_cast<T*>(task.output) + (row * ax.output + ox) * task.inner;
      std::int64_t c = 0;
      for (; c + 4 * kLanes <= task.inner; c += 4 * kLanes)
        pool_channels<Op, T, 4>(task, c, oz, oy, ox, ranges, share, to);
      for (; c + kLanes <= task.inner; c += kLanes)
        pool_channels<Op, T, 1>(task, c, oz, oy, ox, ranges, share, to);
      if (c == task.inner) continue;
      if (task.inner >= kLanes)  // the last whole vector, some of it once more
        pool_channels<Op, T, 1>(task, task.inner - kLanes, oz, oy, ox, ranges, share, to);
      else
        pool_channels<Op, T, 1>(task, c, oz, oy, ox, ranges, share, to, task.inner - c);
    }
  }
}

// The largest of bytes, without detours. `low`: the least of them.
template <class T>
void max_bytes(const PoolRows& task) noexcept {
  constexpr std::int64_t kBytes = 4 * kLanes;
  using Bytes __attribute__((vector_size(kBytes))) = T;
  const auto& [az, ay, ax] = task.window->axes;
  const Bytes low = Bytes{} + std::numeric_limits<T>::lowest();
  for (std::int64_t row = task.first; row < task.last; ++row)
    for (std::int64_t ox = 0; ox < ax.output; ++ox) {
      const std::int64_t oz = row / ay.output, oy = row % ay.output;
      const Range z = kernel_range(az, oz), y = kernel_range(ay, oy), x = kernel_range(ax, ox);
      T* to = static_cast<T*>(task.output) + (row * ax.output + ox) * task.inner;
      for (std::int64_t c = 0; c < task.inner; c += kBytes) {
        const std::int64_t at = std::min(c, task.inner - kBytes);
        Bytes best = low;
        for (std::int64_t kz = z.first; kz < z.last; ++kz)
          for (std::int64_t ky = y.first; ky < y.last; ++ky)
            for (std::int64_t kx = x.first; kx < x.last; ++kx) {
              const std::int64_t p =
                  (place(az, oz, kz) * ay.input + place(ay, oy, ky)) * ax.input + place(ax, ox, kx);
              Bytes v;
              __builtin_memcpy(&v, static_cast<const T*>(task.input) + p * task.inner + at,
                               sizeof v);
              best = v > best ? v : best;
            }
        __builtin_memcpy(to + at, &best, sizeof best);
      }
    }
}

// --- positions side by side
// -----------------------------------------------------------------------

constexpr std::int64_t kBuffer = 2048;  // elements of a combined row, with its padding

// The window's rows for the columns [first, first + count) of the input, into `buffer`.
template <class Op, class T>
void combine_rows(const PoolRows& task, std::int64_t oz, std::int64_t oy, std::int64_t first,
                  std::int64_t count, float* buffer) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  const Range z = kernel_range(az, oz), y = kernel_range(ay, oy);
  const std::int64_t rows = y.count();
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t lanes = std::min<std::int64_t>(kLanes, count - i);
    // A last vector that is not whole begins earlier, if it can.
    const std::int64_t at = lanes < kLanes && count >= kLanes ? count - kLanes : i;
    FloatV result = Op::start();
    for (std::int64_t kz = z.first; kz < z.last; ++kz) {
      const T* p = static_cast<const T*>(task.input) +
                   (place(az, oz, kz) * ay.input + place(ay, oy, y.first)) * ax.input + first + at;
      for (std::int64_t r = 0; r < rows; ++r, p += ay.dilation * ax.input)
        result = Op::combine(result, count < kLanes ? load_elements(p, count) : load_element(p));
    }
    if (count < kLanes)
      store_first(buffer + at, result, count);
    else
      store(buffer + at, result);
  }
}

// Every other one of 2·kLanes elements.
SN_INLINE FloatV load_even(const float* p) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(load(p), load(p + kLanes), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
  return __builtin_shufflevector(load(p), load(p + kLanes), 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(load(p), load(p + kLanes), 0, 2, 4, 6);
#endif
}
SN_INLINE FloatV load_strided(const float* p, std::int64_t stride) {
  if (stride == 1) return load(p);
  if (stride == 2) return load_even(p);
  FloatV v;
  for (int i = 0; i < kLanes; ++i) v[i] = p[i * stride];
  return v;
}

// The stride of a single output does not matter.
std::int64_t stride_of(const WindowAxis& axis) noexcept {
  return axis.output == 1 ? 1 : axis.stride;
}

// Outputs [first, last) of one row from a buffer whose element 0 belongs to the first one.
template <class Op, class T>
void combine_columns(const PoolRows& task, const float* buffer, std::int64_t row,
                     std::int64_t first, std::int64_t last) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  const std::int64_t oz = row / ay.output, oy = row % ay.output;
  T* to = static_cast<T*>(task.output) + row * ax.output;
  const auto outer = [&](bool padding) {
    return static_cast<float>(counted(az, oz, padding) * counted(ay, oy, padding));
  };
  const float addends = outer(false), count = outer(task.count_padding);
  const std::int64_t stride = stride_of(ax);
  // Outputs whose windows lie within the input: the others' shares are counted one by one.
  const std::int64_t whole_first = (ax.pad_begin + ax.stride - 1) / ax.stride;
  const std::int64_t whole_last = ax.input + ax.pad_begin < ax.extent()
                                      ? 0
                                      : (ax.input + ax.pad_begin - ax.extent()) / ax.stride + 1;
  for (std::int64_t o = first; o < last; o += kLanes) {
    const float* p = buffer + (o - first) * stride;
    FloatV result = Op::start();
    for (std::int64_t k = 0; k < ax.kernel; ++k)
      result = Op::combine(result, load_strided(p + k * ax.dilation, stride));
    const std::int64_t lanes = std::min<std::int64_t>(kLanes, last - o);
    if constexpr (std::is_same_v<Op, Sum>) {
      FloatV own = splat(addends * static_cast<float>(ax.kernel));
      FloatV all = splat(count * static_cast<float>(ax.kernel));
      if (o < whole_first || o + lanes > whole_last)
        for (std::int64_t i = 0; i < lanes; ++i) {
          own[i] = addends * static_cast<float>(counted(ax, o + i, false));
          all[i] = count * static_cast<float>(counted(ax, o + i, task.count_padding));
        }
      result = mean_of(result, task, own, all);
    }
    if (lanes < kLanes)
      store_elements(to + o, result, lanes);
    else
      store_element(to + o, result);
  }
}

// One output at a time, for windows that are wider than the buffer.
template <class Op, class T>
void pool_one(const PoolRows& task, std::int64_t row, std::int64_t ox) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  const std::int64_t oz = row / ay.output, oy = row % ay.output;
  const Range ranges[3] = {kernel_range(az, oz), kernel_range(ay, oy), kernel_range(ax, ox)};
  FloatV result[1];
  combine_channels<Op, T, 1>(task, static_cast<const T*>(task.input), oz, oy, ox, ranges, 1,
                             result);
  if constexpr (std::is_same_v<Op, Sum>) {
    const Share share = share_of(task, oz, oy, ox);
    result[0] = mean_of(result[0], task, splat(static_cast<float>(share.addends)),
                        splat(static_cast<float>(share.count)));
  }
  store_elements(static_cast<T*>(task.output) + row * ax.output + ox, result[0], 1);
}

template <class Op, class T>
void pool_lines(const PoolRows& task) noexcept {
  const WindowAxis& ax = task.window->axes[2];
  const std::int64_t extent = ax.extent(), stride = stride_of(ax);
  const std::int64_t room = kBuffer - 2 * kLanes * stride;  // the last vector may reach beyond
  if (extent > room) {
    for (std::int64_t row = task.first; row < task.last; ++row)
      for (std::int64_t ox = 0; ox < ax.output; ++ox) pool_one<Op, T>(task, row, ox);
    return;
  }
  const std::int64_t outputs = std::min((room - extent) / stride + 1, ax.output);
  alignas(64) float buffer[kBuffer];
  for (int i = 0; i < kBuffer; i += kLanes) store(buffer + i, Op::start());
  for (std::int64_t row = task.first; row < task.last; ++row)
    for (std::int64_t o = 0; o < ax.output; o += outputs) {
      const std::int64_t last = std::min(o + outputs, ax.output);
      // The input's columns that these outputs see, and where they begin in the buffer.
      const std::int64_t begin = o * ax.stride - ax.pad_begin;
      const std::int64_t end = (last - 1) * ax.stride - ax.pad_begin + extent;
      const std::int64_t from = std::max<std::int64_t>(begin, 0), to = std::min(end, ax.input);
      if (outputs < ax.output)
        for (int i = 0; i < kBuffer; i += kLanes) store(buffer + i, Op::start());
      const std::int64_t oy_axis = task.window->axes[1].output;
      if (to > from)
        combine_rows<Op, T>(task, row / oy_axis, row % oy_axis, from, to - from,
                            buffer + (from - begin));
      combine_columns<Op, T>(task, buffer, row, o, last);
    }
}

// --- by type and layout
// ---------------------------------------------------------------------------

template <class Op, class T>
void pool(const PoolRows& task) noexcept {
  if (task.inner == 1)
    pool_lines<Op, T>(task);
  else
    pool_positions<Op, T>(task);
}

template <class Op>
void pool_type(const PoolRows& task) noexcept {
  switch (task.type) {
    case DataType::float16:
      return pool<Op, Half>(task);
    case DataType::bfloat16:
      return pool<Op, BFloat16>(task);
    case DataType::uint8:
      return pool<Op, std::uint8_t>(task);
    case DataType::int8:
      return pool<Op, std::int8_t>(task);
    default:
      return pool<Op, float>(task);
  }
}

void max_of(const PoolRows& task) noexcept {
  const bool wide = task.inner >= 4 * kLanes;
  if (wide && task.type == DataType::uint8) return max_bytes<std::uint8_t>(task);
  if (wide && task.type == DataType::int8) return max_bytes<std::int8_t>(task);
  pool_type<Max>(task);
}

}  // namespace

extern const PoolFunctions kPoolFunctions;
const PoolFunctions kPoolFunctions = {max_of, pool_type<Sum>};

}  // namespace softneuro::SN_ISA_NAMESPACE
