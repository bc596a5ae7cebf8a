// pad cpu/naive: what stays of x is copied into place; each other element asks where on x it is.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/graph/enum_param.h"
#include "core/layers/pad.h"
#include "cpu/simd/qint8_rows.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements

// The part of an axis that stays, [first, first + count) of x, and where it begins in y.
struct Kept {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t before = 0;
};

class PadKernel final : public Kernel {
 public:
  // Shapes and `kept` in the order of memory; `value`: an element of y, nothing: that of input 2.
  PadKernel(PadMode mode, std::vector<Kept> kept, const Shape& x, const Shape& y,
            std::optional<std::uint64_t> value, TypedConstants constants)
      : mode_(mode),
        kept_(std::move(kept)),
        x_(x),
        y_(y),
        value_(value),
        constants_(std::move(constants)) {}

  Status run(Context& context) const noexcept override {
    if (mode_ == PadMode::constant)
      pad_with_value(context);
    else
      pad_rows(context);
    return {};
  }

 private:
  void pad_with_value(Context& context) const noexcept {
    const TensorView x = constants_.input(context, 0);
    const TensorView& y = context.output(0);
    const void* value = value_ ? &*value_ : context.input(2).data;
    fill_elements(value, y.data, y.elements(), size_of(y.type), context.pool());

    const Shape source = strides_of(x_);
    const Shape target = strides_of(y_);
    StridedCopy copy;
    std::int64_t from = 0, to = 0;
    for (int i = 0; i < x_.rank(); ++i) {
      const Kept& kept = kept_[static_cast<std::size_t>(i)];
      copy.add_axis(kept.count, source[i], target[i]);
      from += kept.first * source[i];
      to += kept.before * target[i];
    }
    copy.set_offsets(from, to);
    copy.run(x.data, y.data, size_of(x.type), context.pool());
  }

  // Index on x of index `i` of y.
  std::int64_t place(std::int64_t i, const Kept& kept) const noexcept {
    std::int64_t at = i - kept.before;
    const std::int64_t n = kept.count;
    if (at < 0 || at >= n) {
      if (mode_ == PadMode::edge) {
        at = std::clamp<std::int64_t>(at, 0, n - 1);
      } else {
        // Mirrored, an axis repeats after going there and back without its two ends.
        const std::int64_t period =
            mode_ == PadMode::wrap ? n : std::max<std::int64_t>(2 * n - 2, 1);
        at = (at % period + period) % period;
        if (at >= n) at = period - at;
      }
    }
    return kept.first + at;
  }

  // Row by row of the last axis, whose middle is one run.
  void pad_rows(Context& context) const noexcept {
    const TensorView x = constants_.input(context, 0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return;
    const int rank = y_.rank();
    const std::int64_t columns = rank > 0 ? y_[rank - 1] : 1;
    Shape rows;
    for (int i = 0; i + 1 < rank; ++i) rows.push_back(y_[i]);
    const Shape strides = strides_of(x_);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type));
    parallel_ranges(context.pool(), rows.elements(), kGrain / columns,
                    [&](std::int64_t first, std::int64_t last) {
                      Shape index = index_at(first, rows);
                      for (std::int64_t row = first; row < last; ++row) {
                        std::int64_t from = 0;
                        for (int i = 0; i < rows.rank(); ++i)
                          from += place(index[i], kept_[static_cast<std::size_t>(i)]) * strides[i];
                        pad_row(x.as<std::byte>() + from * bytes,
                                y.as_mutable<std::byte>() + row * columns * bytes, columns, bytes);
                        next_index(index, rows);
                      }
                    });
  }

  void pad_row(const std::byte* x, std::byte* y, std::int64_t columns,
               std::int64_t bytes) const noexcept {
    const Kept kept = kept_.empty() ? Kept{0, 1, 0} : kept_.back();
    const auto put = [&](std::int64_t column) {
      std::memcpy(y + column * bytes, x + place(column, kept) * bytes,
                  static_cast<std::size_t>(bytes));
    };
    for (std::int64_t i = 0; i < kept.before; ++i) put(i);
    std::memcpy(y + kept.before * bytes, x + kept.first * bytes,
                static_cast<std::size_t>(kept.count * bytes));
    for (std::int64_t i = kept.before + kept.count; i < columns; ++i) put(i);
  }

  PadMode mode_;
  std::vector<Kept> kept_;
  Shape x_, y_;
  std::optional<std::uint64_t> value_;
  TypedConstants constants_;
};

// The bits of `value` as an element of y, in the low bytes.
Result<std::uint64_t> bits_of(double value, const Problem& problem) {
  const TensorSpec& y = problem.outputs[0];
  std::uint64_t bits = 0;
  if (y.type != DataType::qint8) {
    store({y.type, Layout::plain, {}, &bits}, 0, value);
    return bits;
  }
  const Quantization& q = *problem.inputs[0].quantization;
  const auto real = static_cast<float>(value);
  float dequantized = 0;
  qint8_rows().quantize(&real, &bits, 1, scale_of(q));
  qint8_rows().dequantize(&bits, &dequantized, 1, scale_of(q));
  if (!(std::fabs(dequantized - real) <= q.scales[0]))
    return unsupported("the value is out of range");
  return bits;
}

// Of the layer type pad. Nothing: the value may be read as it is; constants keep the model's type.
Result<std::optional<std::uint64_t>> value_of(const Problem& problem) {
  const TensorSpec& y = problem.outputs[0];
  const bool given = problem.has_input(2);
  if (given && y.type != DataType::qint8 && problem.inputs[2].type == y.type)
    return std::optional<std::uint64_t>();
  if (given && problem.inputs[2].value.empty()) return unsupported("the value is not constant");
  SN_ASSIGN_OR_RETURN(const std::uint64_t bits,
                      bits_of(given ? load(view_of(problem.inputs[2].value), 0) : 0, problem));
  return std::optional(bits);
}

Result<std::unique_ptr<Kernel>> kernel_of(const Problem& problem, PadMode mode,
                                          std::span<const PadAmount> amounts,
                                          std::optional<std::uint64_t> value) {
  const Shape& x = problem.inputs[0].shape;
  const Layout layout = problem.inputs[0].layout;
  std::vector<Kept> kept(static_cast<std::size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    const PadAmount& amount = amounts[static_cast<std::size_t>(i)];
    const std::int64_t first = std::max<std::int64_t>(-amount.before, 0);
    const std::int64_t cropped = std::max<std::int64_t>(-amount.after, 0);
    kept[static_cast<std::size_t>(stored_axis(i, x.rank(), layout))] = {
        first, x[i] - first - cropped, std::max<std::int64_t>(amount.before, 0)};
  }
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_kernel<PadKernel>(mode, std::move(kept), stored_shape(x, layout),
                                stored_shape(problem.outputs[0].shape, layout), value,
                                std::move(constants));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int mode, choice_of(problem.params, "mode", kPadModes));
  const auto axes = problem.has_input(3) ? std::optional(problem.integers(3)) : std::nullopt;
  SN_ASSIGN_OR_RETURN(const std::vector<PadAmount> amounts,
                      pad_amounts(problem.inputs[0].shape.rank(), problem.integers(1), axes));
  SN_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> value, value_of(problem));
  return kernel_of(problem, static_cast<PadMode>(mode), amounts, value);
}

Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem,
                                              std::span<const PadAmount> amounts) {
  SN_ASSIGN_OR_RETURN(const std::uint64_t zero, bits_of(0, problem));
  return kernel_of(problem, PadMode::constant, amounts, zero);
}

Status register_routine_pad_cpu_naive(Registry& registry) {
  return add_naive(registry, {"pad"}, make_pad_move);
}

}  // namespace softneuro
