#include "cpu/tensor/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/parallel.h"

namespace softneuro {
namespace {

// Least work of one task and longest chunk of a run, in bytes: tasks cost about a microsecond.
constexpr std::int64_t kGrainBytes = 32 * 1024;
constexpr std::int64_t kChunkBytes = 64 * 1024;

using Axis = StridedCopy::Axis;

template <std::size_t bytes>
void copy_elements(const std::byte* source, std::int64_t source_stride, std::byte* target,
                   std::int64_t target_stride, std::int64_t count) noexcept {
  const std::int64_t source_step = source_stride * static_cast<std::int64_t>(bytes);
  const std::int64_t target_step = target_stride * static_cast<std::int64_t>(bytes);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * target_step, source + i * source_step, bytes);
}

// memcpy of a short run costs more for choosing how than for copying: 16 bytes at a time, the last
// ones overlapping those before.
void copy_short(const std::byte* source, std::byte* target, std::size_t bytes) noexcept {
  const auto copy = [&](std::size_t at, auto width) {
    std::memcpy(target + at, source + at, decltype(width)::value);
  };
  const auto twice = [&](auto width) {
    copy(0, width);
    copy(bytes - decltype(width)::value, width);
  };
  if (bytes >= 16) {
    constexpr std::integral_constant<std::size_t, 16> sixteen;
    for (std::size_t i = 0; i + 16 < bytes; i += 16) copy(i, sixteen);
    copy(bytes - 16, sixteen);
  } else if (bytes >= 8) {
    twice(std::integral_constant<std::size_t, 8>());
  } else if (bytes >= 4) {
    twice(std::integral_constant<std::size_t, 4>());
  } else {
    for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
  }
}

void copy_run(const std::byte* source, std::int64_t source_stride, std::byte* target,
              std::int64_t target_stride, std::int64_t count, std::size_t bytes) noexcept {
  if (source_stride == 1 && target_stride == 1) {
    const std::size_t all = static_cast<std::size_t>(count) * bytes;
    if (all <= 512)
      copy_short(source, target, all);
    else
      std::memcpy(target, source, all);
    return;
  }
  switch (bytes) {
    case 1:
      return copy_elements<1>(source, source_stride, target, target_stride, count);
    case 2:
      return copy_elements<2>(source, source_stride, target, target_stride, count);
    case 4:
      return copy_elements<4>(source, source_stride, target, target_stride, count);
    default:
      return copy_elements<8>(source, source_stride, target, target_stride, count);
  }
}

// A position on the axes outside the innermost one, and its offsets in both buffers.
class RowCursor {
 public:
  RowCursor(std::span<const Axis> axes, std::int64_t row, std::int64_t source,
            std::int64_t target) noexcept
      : axes_(axes), source_(source), target_(target) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      index_[i] = row % axes[i].count;
      row /= axes[i].count;
      source_ += index_[i] * axes[i].source_stride;
      target_ += index_[i] * axes[i].target_stride;
    }
  }
  void next() noexcept {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const Axis& axis = axes_[i];
      source_ += axis.source_stride;
      target_ += axis.target_stride;
      if (++index_[i] < axis.count) return;
      source_ -= axis.source_stride * axis.count;
      target_ -= axis.target_stride * axis.count;
      index_[i] = 0;
    }
  }
  std::int64_t source() const noexcept { return source_; }
  std::int64_t target() const noexcept { return target_; }

 private:
  std::span<const Axis> axes_;
  std::array<std::int64_t, StridedCopy::kMaxAxes> index_{};
  std::int64_t source_;
  std::int64_t target_;
};

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const StridedCopy& copy) : copy_(copy) {}
  Status run(Context& context) const noexcept override {
    copy_.run(context.input(0).data, context.output(0).data, size_of(context.input(0).type),
              context.pool());
    return {};
  }

 private:
  StridedCopy copy_;
};

}  // namespace

void StridedCopy::add_axis(std::int64_t count, std::int64_t source_stride,
                           std::int64_t target_stride) noexcept {
  if (count <= 0) empty_ = true;
  if (count <= 1) return;
  if (rank_ > 0) {
    Axis& last = axes_[static_cast<std::size_t>(rank_ - 1)];
    if (last.source_stride == count * source_stride &&
        last.target_stride == count * target_stride) {
      last = {last.count * count, source_stride, target_stride};
      return;
    }
  }
  axes_[static_cast<std::size_t>(rank_++)] = {count, source_stride, target_stride};
}

void StridedCopy::add_axes(std::span<const Axis> axes) noexcept {
  std::array<Axis, kMaxAxes> sorted{};
  std::size_t count = 0;
  for (const Axis& axis : axes) sorted[count++] = axis;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Axis& a, const Axis& b) { return a.target_stride > b.target_stride; });
  for (std::size_t i = 0; i < count; ++i)
    add_axis(sorted[i].count, sorted[i].source_stride, sorted[i].target_stride);
}

void StridedCopy::run(const void* source, void* target, std::size_t element_bytes,
                      ThreadPool& pool) const noexcept {
  if (empty_) return;
  const std::span<const Axis> all = axes();
  const Axis inner = all.empty() ? Axis{1, 1, 1} : all.back();
  const std::span<const Axis> outer = all.empty() ? all : all.first(all.size() - 1);
  std::int64_t rows = 1;
  for (const Axis& axis : outer) rows *= axis.count;

  const auto bytes = static_cast<std::int64_t>(element_bytes);
  const std::int64_t chunk = std::min(inner.count, kChunkBytes / bytes);
  const std::int64_t chunks = (inner.count + chunk - 1) / chunk;
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  parallel_ranges(
      pool, rows * chunks, kGrainBytes / (chunk * bytes),
      [&](std::int64_t first, std::int64_t last) {
        RowCursor row(outer, first / chunks, source_offset_, target_offset_);
        std::int64_t p = first % chunks;
        for (std::int64_t unit = first; unit < last; ++unit) {
          const std::int64_t begin = p * chunk;
          copy_run(from + (row.source() + begin * inner.source_stride) * bytes, inner.source_stride,
                   to + (row.target() + begin * inner.target_stride) * bytes, inner.target_stride,
                   std::min(chunk, inner.count - begin), element_bytes);
          if (++p == chunks) {
            p = 0;
            row.next();
          }
        }
      });
}

std::unique_ptr<Kernel> make_copy_kernel(const StridedCopy& copy) {
  return std::make_unique<CopyKernel>(copy);
}

void copy_bytes(const void* source, void* target, std::int64_t bytes, ThreadPool& pool) noexcept {
  if (source == target) return;
  parallel_ranges(pool, bytes, kGrainBytes, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(static_cast<std::byte*>(target) + first,
                static_cast<const std::byte*>(source) + first,
                static_cast<std::size_t>(last - first));
  });
}

namespace {

template <class T>
void fill_run(const void* value, std::byte* target, std::int64_t count) noexcept {
  T element;
  std::memcpy(&element, value, sizeof element);
  std::fill_n(reinterpret_cast<T*>(target), count, element);
}

}  // namespace

void fill_elements(const void* value, void* target, std::int64_t count, std::size_t element_bytes,
                   ThreadPool& pool) noexcept {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  parallel_ranges(pool, count, kGrainBytes / bytes, [&](std::int64_t first, std::int64_t last) {
    std::byte* to = static_cast<std::byte*>(target) + first * bytes;
    if (bytes == 1) return fill_run<std::uint8_t>(value, to, last - first);
    if (bytes == 2) return fill_run<std::uint16_t>(value, to, last - first);
    if (bytes == 4) return fill_run<std::uint32_t>(value, to, last - first);
    fill_run<std::uint64_t>(value, to, last - first);
  });
}

}  // namespace softneuro
