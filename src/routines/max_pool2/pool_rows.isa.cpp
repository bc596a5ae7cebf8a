// Where positions are contiguous (plain layout), a window's rows are combined first, into a
// buffer with neutral elements at both ends, then that buffer's columns. Where channels do, each
// position combines vectors of channels.
#include "routines/max_pool2/pool_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "cpu/simd/vector_element.h"
#include "cpu/tensor/kernel_types.h"

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

// Input index of kernel position `k` at output `o`.
std::int64_t place(const WindowAxis& axis, std::int64_t o, std::int64_t k) noexcept {
  return o * axis.stride + k * axis.dilation - axis.pad_begin;
}

// An output row and where it is on the two outer axes; divisions are slow.
struct RowPlace {
  std::int64_t number, z, y;

  explicit RowPlace(const PoolRows& task) noexcept
      : number(task.first),
        z(task.first / task.window->axes[1].output),
        y(task.first % task.window->axes[1].output) {}
  void next(const PoolRows& task) noexcept {
    ++number;
    if (++y < task.window->axes[1].output) return;
    y = 0;
    ++z;
  }
};

struct Max {
  SN_INLINE static FloatV start() { return splat(-__builtin_inff()); }
  // NaN propagates.
  SN_INLINE static FloatV combine(FloatV best, FloatV x) {
    return select(is_nan(best), best, max(best, x));  // max gives x where either is NaN
  }
};
// The same of integers.
template <class T>
struct MaxOfWhole {
  using Whole __attribute__((vector_size(4 * kLanes))) = T;
  SN_INLINE static Whole start() { return Whole{} + std::numeric_limits<T>::lowest(); }
  SN_INLINE static Whole combine(Whole best, Whole x) { return x > best ? x : best; }
};
struct Sum {
  SN_INLINE static FloatV start() { return FloatV{}; }
  SN_INLINE static FloatV combine(FloatV sum, FloatV x) { return sum + x; }
};

// How many elements one output is the mean of, and which of those lie in the input: products over
// the axes.
struct Share {
  float addends = 1, count = 1;
};
SN_INLINE Share operator*(Share a, Share b) {
  return {a.addends * b.addends, a.count * b.count};
}
SN_INLINE Share share_of(const PoolRows& task, std::size_t axis, std::int64_t o) {
  const std::size_t at = task.shares->place(axis, o);
  return {task.shares->addends[axis][at], task.shares->counts[axis][at]};
}

// Exact division where there is no scale.
SN_INLINE FloatV mean_of(FloatV sum, const PoolRows& task, FloatV addends, FloatV count) {
  const FloatV mean = (sum - addends * task.zero_point) * task.scale / count;
  return select(count == 0.0f, FloatV{}, mean);
}

// Shares are asked for by the mean alone.
template <class Op>
SN_INLINE Share share_of_row(const PoolRows& task, std::int64_t oz, std::int64_t oy) {
  if constexpr (std::is_same_v<Op, Sum>) return share_of(task, 0, oz) * share_of(task, 1, oy);
  return {};
}
template <class Op>
SN_INLINE Share share_in_row(const PoolRows& task, Share row, std::int64_t ox) {
  if constexpr (std::is_same_v<Op, Sum>) return row * share_of(task, 2, ox);
  return {};
}

// --- channels side by side
// ------------------------------------------------------------------------

// How vectors of elements are read and written: as float32,
template <class T>
struct AsFloat {
  using Element = T;
  using Vector = FloatV;
  static constexpr std::int64_t kWidth = kLanes;
  SN_INLINE static FloatV load(const T* p) { return load_element(p); }
  SN_INLINE static void store(T* p, FloatV v, const PoolRows& task) {
    store_quotient(p, v, splat(task.to_zero_point));
  }
};
// as integers of the same bits (int8, uint8),
template <class T, class Lane = T>
struct AsWhole {
  using Element = T;
  using Vector = typename MaxOfWhole<Lane>::Whole;
  static constexpr std::int64_t kWidth = sizeof(Vector) / sizeof(T);
  SN_INLINE static Vector load(const T* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  SN_INLINE static void store(T* p, Vector v, const PoolRows& /*task*/) {
    __builtin_memcpy(static_cast<void*>(p), &v, sizeof v);
  }
};
// or, 16-bit real numbers, as integers in the same order: −∞ becomes 0, and NaN, of either sign,
// what is larger than ∞.
template <class T, std::uint16_t kMinusInfinity>
struct AsOrdered : AsWhole<T, std::uint16_t> {
  using Bits = AsWhole<T, std::uint16_t>;
  using Vector = typename Bits::Vector;
  static constexpr std::uint16_t kFirst = kMinusInfinity ^ 0x7fff;
  // Turns the order of negative numbers around, and back.
  SN_INLINE static Vector turn(Vector v) {
    using Signed = typename MaxOfWhole<std::int16_t>::Whole;
    return v ^ ((Vector)((Signed)v >> 15) & 0x7fff);
  }
  SN_INLINE static Vector load(const T* p) { return turn(Bits::load(p)) - kFirst; }
  SN_INLINE static void store(T* p, Vector v, const PoolRows& task) {
    Bits::store(p, turn(v + kFirst), task);
  }
};

// The elements of a window that lie in the input, as offsets from where the first of them is for
// one output: all outputs of a row whose windows lie within the width have the same.
constexpr std::int64_t kMaxTaps = 64;
struct Taps {  // NOLINT(cppcoreguidelines-pro-type-member-init): as many offsets as counted
  std::int64_t count = 0;  // 0: too many to list
  std::int64_t offsets[kMaxTaps];
};

Taps list_taps(const PoolRows& task, const Range& z, const Range& y) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  Taps taps;
  if (z.count() * y.count() * ax.kernel > kMaxTaps) return taps;
  for (std::int64_t kz = 0; kz < z.count(); ++kz)
    for (std::int64_t ky = 0; ky < y.count(); ++ky)
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx)
        taps.offsets[taps.count++] =
            ((kz * az.dilation * ay.input + ky * ay.dilation) * ax.input + kx * ax.dilation) *
            task.inner;
  return taps;
}

// `vectors` vectors that are `step` elements apart, of one position or of neighbouring ones.
template <class Op, class As, int vectors>
SN_INLINE void combine_taps(const typename As::Element* input, const Taps& taps, std::int64_t step,
                            typename As::Vector (&result)[vectors]) {
  for (int v = 0; v < vectors; ++v) result[v] = Op::start();
  for (std::int64_t t = 0; t < taps.count; ++t)
    for (int v = 0; v < vectors; ++v)
      result[v] = Op::combine(result[v], As::load(input + taps.offsets[t] + v * step));
}

// The same for one vector, whatever the window; `load` takes an element's address. The sum of a row
// first: the error of large windows grows with their sides, not their area.
template <class Op, class T, class Load>
SN_INLINE auto combine_window(const PoolRows& task, const T* input, std::int64_t oz,
                              std::int64_t oy, std::int64_t ox, Load load) {
  const auto& [az, ay, ax] = task.window->axes;
  const Range z = kernel_range(az, oz), y = kernel_range(ay, oy), x = kernel_range(ax, ox);
  auto result = Op::start();
  for (std::int64_t kz = z.first; kz < z.last; ++kz)
    for (std::int64_t ky = y.first; ky < y.last; ++ky) {
      const T* row =
          input + (place(az, oz, kz) * ay.input + place(ay, oy, ky)) * ax.input * task.inner;
      auto part = Op::start();
      for (std::int64_t kx = x.first; kx < x.last; ++kx)
        part = Op::combine(part, load(row + place(ax, ox, kx) * task.inner));
      result = Op::combine(result, part);
    }
  return result;
}

template <class Op, class V>
SN_INLINE V finished(V result, const PoolRows& task, const Share& share) {
  if constexpr (std::is_same_v<Op, Sum>)
    return mean_of(result, task, splat(share.addends), splat(share.count));
  else
    return result;
}

// All channels of one output, fewer than a vector or the general way.
template <class Op, class As>
void pool_position(const PoolRows& task, std::int64_t row, std::int64_t ox,
                   const Share& share) noexcept {
  using T = typename As::Element;
  const auto& [az, ay, ax] = task.window->axes;
  const std::int64_t oz = row / ay.output, oy = row % ay.output;
  const T* const from = static_cast<const T*>(task.input);
  T* const to = static_cast<T*>(task.output) + (row * ax.output + ox) * task.inner;
  if (task.inner < As::kWidth) {
    // Fewer elements than a vector are read as float32 only.
    if constexpr (std::is_same_v<As, AsFloat<T>>) {
      const auto some = [&](const T* p) { return load_elements(p, task.inner); };
      const FloatV result = combine_window<Op>(task, from, oz, oy, ox, some);
      store_quotients(to, finished<Op>(result, task, share), splat(task.to_zero_point), task.inner);
    }
    return;
  }
  for (std::int64_t c = 0; c < task.inner; c += As::kWidth) {
    const std::int64_t at = std::min(c, task.inner - As::kWidth);  // some of it once more
    As::store(to + at,
              finished<Op>(combine_window<Op>(task, from + at, oz, oy, ox, As::load), task, share),
              task);
  }
}

// `vectors` vectors from `input` on, `from_step` apart, to `to`, `to_step` apart.
template <class Op, class As, int vectors>
SN_INLINE void pool_vectors(const PoolRows& task, const typename As::Element* input,
                            const Taps& taps, std::int64_t from_step, typename As::Element* to,
                            std::int64_t to_step, const Share& share) {
  typename As::Vector result[vectors];
  combine_taps<Op, As, vectors>(input, taps, from_step, result);
  for (int v = 0; v < vectors; ++v)
    As::store(to + v * to_step, finished<Op>(result[v], task, share), task);
}

// The outputs [first, last) of a row, whose windows lie within the input's width; inner >=
// As::kWidth. `input`: the window's first element at output 0.
template <class Op, class As, class T = typename As::Element>
void pool_within(const PoolRows& task, const T* input, const Taps& taps, T* to, std::int64_t first,
                 std::int64_t last, const Share& share) noexcept {
  constexpr std::int64_t kWidth = As::kWidth;
  const std::int64_t from_step = task.window->axes[2].stride * task.inner;
  std::int64_t ox = first;
  if (task.inner == kWidth)  // several positions at a time
    for (; ox + 4 <= last; ox += 4)
      pool_vectors<Op, As, 4>(task, input + ox * from_step, taps, from_step, to + ox * kWidth,
                              kWidth, share);
  for (; ox < last; ++ox) {
    const T* from = input + ox * from_step;
    T* target = to + ox * task.inner;
    std::int64_t c = 0;
    for (; c + 4 * kWidth <= task.inner; c += 4 * kWidth)
      pool_vectors<Op, As, 4>(task, from + c, taps, kWidth, target + c, kWidth, share);
    for (; c + kWidth <= task.inner; c += kWidth)
      pool_vectors<Op, As, 1>(task, from + c, taps, kWidth, target + c, kWidth, share);
    if (c < task.inner) {  // the last whole vector, some of it once more
      c = task.inner - kWidth;
      pool_vectors<Op, As, 1>(task, from + c, taps, kWidth, target + c, kWidth, share);
    }
  }
}

// Outputs whose windows lie within the input along an axis.
Range whole_outputs(const WindowAxis& axis) noexcept {
  const std::int64_t first =
      std::min((axis.pad_begin + axis.stride - 1) / axis.stride, axis.output);
  const std::int64_t room = axis.input + axis.pad_begin - axis.extent();
  const std::int64_t last = room < 0 ? 0 : std::min(room / axis.stride + 1, axis.output);
  return {first, std::max(first, last)};
}

template <class Op, class As>
void pool_positions(const PoolRows& task) noexcept {
  using T = typename As::Element;
  const auto& [az, ay, ax] = task.window->axes;
  const Range whole = whole_outputs(ax);
  for (std::int64_t row = task.first; row < task.last; ++row) {
    const std::int64_t oz = row / ay.output, oy = row % ay.output;
    const Range z = kernel_range(az, oz), y = kernel_range(ay, oy);
    const Share outer = share_of_row<Op>(task, oz, oy);
    const Taps taps = list_taps(task, z, y);
    const bool listed = taps.count > 0 && task.inner >= As::kWidth && whole.count() > 0;
    const Range within = listed ? whole : Range{0, 0};
    const auto one_by_one = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t ox = first; ox < last; ++ox)
        pool_position<Op, As>(task, row, ox, share_in_row<Op>(task, outer, ox));
    };
    one_by_one(0, within.first);
    if (within.count() > 0) {
      const std::int64_t at =
          (place(az, oz, z.first) * ay.input + place(ay, oy, y.first)) * ax.input - ax.pad_begin;
      pool_within<Op, As>(task, static_cast<const T*>(task.input) + at * task.inner, taps,
                          static_cast<T*>(task.output) + row * ax.output * task.inner, within.first,
                          within.last, share_in_row<Op>(task, outer, within.first));
    }
    one_by_one(within.last, ax.output);
  }
}

// --- positions side by side
// -----------------------------------------------------------------------

constexpr std::int64_t kBuffer = 2048;  // elements of combined rows, with their padding
constexpr std::int64_t kRows = 8;       // rows at a time, at most

// The stride of a single output does not matter.
std::int64_t stride_of(const WindowAxis& axis) noexcept {
  return axis.output == 1 ? 1 : axis.stride;
}

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

// Outputs [first, last) of one row from a buffer whose element 0 belongs to the first one.
template <class Op, class T>
void combine_columns(const PoolRows& task, const float* buffer, const RowPlace& row,
                     std::int64_t first, std::int64_t last) noexcept {
  const WindowAxis& ax = task.window->axes[2];
  const std::int64_t stride = stride_of(ax);
  T* to = static_cast<T*>(task.output) + row.number * ax.output;
  const Share outer = share_of_row<Op>(task, row.z, row.y);
  for (std::int64_t o = first; o < last; o += kLanes) {
    const float* p = buffer + (o - first) * stride;
    FloatV result = Op::start();
    for (std::int64_t k = 0; k < ax.kernel; ++k)
      result = Op::combine(result, load_strided(p + k * ax.dilation, stride));
    if constexpr (std::is_same_v<Op, Sum>) {
      const std::size_t at = task.shares->place(2, o);
      result = mean_of(result, task, load(task.shares->addends[2].data() + at) * outer.addends,
                       load(task.shares->counts[2].data() + at) * outer.count);
    }
    const std::int64_t lanes = std::min<std::int64_t>(kLanes, last - o);
    if (lanes < kLanes)
      store_quotients(to + o, result, splat(task.to_zero_point), lanes);
    else
      store_quotient(to + o, result, splat(task.to_zero_point));
  }
}

// One output at a time, for windows that are wider than the buffer.
template <class Op, class T>
void pool_one_by_one(const PoolRows& task) noexcept {
  const auto& [az, ay, ax] = task.window->axes;
  for (std::int64_t row = task.first; row < task.last; ++row) {
    const Share outer = share_of_row<Op>(task, row / ay.output, row % ay.output);
    for (std::int64_t ox = 0; ox < ax.output; ++ox)
      pool_position<Op, AsFloat<T>>(task, row, ox, share_in_row<Op>(task, outer, ox));
  }
}

template <class Op, class T>
void pool_lines(const PoolRows& task) noexcept {
  const WindowAxis& ax = task.window->axes[2];
  const std::int64_t extent = ax.extent(), stride = stride_of(ax);
  const std::int64_t beyond = 2 * kLanes * stride;  // the last vector may reach so far
  const std::int64_t room = kBuffer - beyond;
  if (extent > room) return pool_one_by_one<Op, T>(task);
  const std::int64_t outputs = std::min((room - extent) / stride + 1, ax.output);
  const std::int64_t used =
      std::min(((outputs - 1) * stride + extent + beyond + kLanes - 1) / kLanes * kLanes, kBuffer);
  // Several rows at a time: what was just stored is not loaded at once, across two vectors.
  const std::int64_t together = std::min(kBuffer / used, kRows);
  alignas(64) float buffer[kBuffer];
  for (std::int64_t o = 0; o < ax.output; o += outputs) {
    const std::int64_t last = std::min(o + outputs, ax.output);
    for (std::int64_t i = 0; i < used * together; i += kLanes) store(buffer + i, Op::start());
    // The input's columns that these outputs see, and where they begin in the buffer.
    const std::int64_t begin = o * ax.stride - ax.pad_begin;
    const std::int64_t end = (last - 1) * ax.stride - ax.pad_begin + extent;
    const std::int64_t from = std::max<std::int64_t>(begin, 0), to = std::min(end, ax.input);
    RowPlace combined(task);
    for (RowPlace row(task); row.number < task.last;) {
      const std::int64_t rows = std::min(together, task.last - row.number);
      for (std::int64_t r = 0; r < rows && to > from; ++r, combined.next(task))
        combine_rows<Op, T>(task, combined.z, combined.y, from, to - from,
                            buffer + r * used + (from - begin));
      for (std::int64_t r = 0; r < rows; ++r, row.next(task))
        combine_columns<Op, T>(task, buffer + r * used, row, o, last);
    }
  }
}

// --- by type and layout
// ---------------------------------------------------------------------------

template <class Op, class T>
void pool(const PoolRows& task) noexcept {
  if (task.inner == 1)
    pool_lines<Op, T>(task);
  else
    pool_positions<Op, AsFloat<T>>(task);
}

template <class Op>
void pool_type(const PoolRows& task) noexcept {
  with_kernel_type(task.type, [&](auto element) { pool<Op, decltype(element)>(task); });
}

template <class As>
bool max_as(const PoolRows& task) noexcept {
  if (kFloat32KernelsOnly || task.inner < As::kWidth) return false;
  using Lane = std::remove_cvref_t<decltype(typename As::Vector{}[0])>;
  pool_positions<MaxOfWhole<Lane>, As>(task);
  return true;
}

void max_of(const PoolRows& task) noexcept {
  const bool done = task.type == DataType::uint8      ? max_as<AsWhole<std::uint8_t>>(task)
                    : task.type == DataType::int8     ? max_as<AsWhole<std::int8_t>>(task)
                    : task.type == DataType::float16  ? max_as<AsOrdered<Half, 0xfc00>>(task)
                    : task.type == DataType::bfloat16 ? max_as<AsOrdered<BFloat16, 0xff80>>(task)
                                                      : false;
  if (!done) pool_type<Max>(task);
}

}  // namespace

extern const PoolFunctions kPoolFunctions;
const PoolFunctions kPoolFunctions = {max_of, pool_type<Sum>};

}  // namespace softneuro::SN_ISA_NAMESPACE
