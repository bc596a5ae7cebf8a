// resize cpu/direct: one or two axes that are adjacent in memory. Per output row, the weighted sum
// of input rows first (long vectors), then that of its columns; where each output has one tap,
// elements are copied. 16-bit types are computed in float32, and so are the bytes of qint8: weights
// sum to 1.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/tensor/kernel_types.h"
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/resize_taps.h"
#include "routines/add_each.h"
#include "routines/resize/mix.h"

namespace softneuro {

SN_CHOOSE_VARIANT(ResizeMix, kResizeMix, resize_mix)

namespace {

constexpr std::int64_t kGrain = 8192;  // multiplications
constexpr std::int64_t kMaxChunks = 64;

// The resized axes: [first, last]; x is seen as [outer, rows, columns, inner].
struct Span {
  int first = 0;
  int last = 0;
};

Result<Span> resized_span(const std::vector<ResizeAxis>& axes) {
  Span span{-1, -1};
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    if (axes[static_cast<std::size_t>(i)].is_identity()) continue;
    if (span.first < 0) span.first = i;
    span.last = i;
  }
  if (span.first < 0) span = {static_cast<int>(axes.size()) - 1, static_cast<int>(axes.size()) - 1};
  if (span.last - span.first > 1)
    return unsupported("the resized axes are not one or two adjacent");
  return span;
}

// One axis' taps, as offsets in elements.
struct Taps {
  std::int64_t per_output = 1;
  std::vector<std::int64_t> offset;  // [output][per_output]
  std::vector<float> weight;         // likewise

  std::int64_t outputs() const noexcept {
    return static_cast<std::int64_t>(offset.size()) / per_output;
  }
};

Taps taps_of(const ResizeOptions& options, const ResizeAxis& axis, std::int64_t step) {
  const ResizeTaps exact = resize_taps(options, axis);
  Taps taps;
  taps.per_output = exact.per_output;
  for (const std::int64_t index : exact.index) taps.offset.push_back(index * step);
  for (const double weight : exact.weight) taps.weight.push_back(static_cast<float>(weight));
  return taps;
}

class DirectResizeKernel final : public Kernel {
 public:
  DirectResizeKernel(const Problem& problem, Taps rows, Taps columns, const Shape& split)
      : rows_(std::move(rows)),
        columns_(std::move(columns)),
        x_(split),
        type_(problem.inputs[0].type),
        to_type_(type_) {
    if (type_ == DataType::qint8) quantize(problem);
    if (x_[3] == 1) list_picks();
    copies_ = rows_.per_output == 1 && columns_.per_output == 1;
    const std::int64_t work =
        (rows_.per_output * x_[2] + columns_.per_output * columns_.outputs()) * x_[3];
    const std::int64_t least = std::max<std::int64_t>(kGrain / std::max<std::int64_t>(work, 1), 1);
    chunks_ = std::clamp<std::int64_t>(x_[0] * rows_.outputs() / least, 1, kMaxChunks);
  }

  bool copies() const noexcept { return copies_; }

  // One input row in float32 per chunk of the work.
  std::size_t workspace_bytes() const noexcept override {
    return copies_ ? 0 : static_cast<std::size_t>(chunks_ * x_[2] * x_[3]) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    const auto* x = context.input(0).as<std::byte>();
    auto* y = context.output(0).as_mutable<std::byte>();
    auto* buffers = reinterpret_cast<float*>(context.workspace());
    const auto bytes = static_cast<std::int64_t>(size_of(type_));
    const std::int64_t rows = rows_.outputs();
    const std::int64_t all_rows = x_[0] * rows;
    const std::int64_t row_bytes = columns_.outputs() * x_[3] * bytes;
    parallel_for(context.pool(), chunks_, [&](std::int64_t chunk) {
      float* buffer = copies_ ? nullptr : buffers + chunk * x_[2] * x_[3];
      const std::int64_t begin = all_rows * chunk / chunks_;
      for (std::int64_t r = begin; r < all_rows * (chunk + 1) / chunks_; ++r) {
        std::byte* to = y + r * row_bytes;
        if (r > begin && r % rows > 0 && same_rows(r % rows)) {
          std::memcpy(to, to - row_bytes, static_cast<std::size_t>(row_bytes));
          continue;
        }
        const std::byte* plane = x + r / rows * x_[1] * x_[2] * x_[3] * bytes;
        if (copies_)
          copy_columns(plane + rows_.offset[static_cast<std::size_t>(r % rows)] * bytes, to);
        else
          mix_columns(mixed_rows(plane, r % rows, buffer), to);
      }
    });
    return {};
  }

 private:
  // The bytes are mixed as the numbers that they are: weights sum to 1, so that the zero point
  // survives.
  void quantize(const Problem& problem) {
    const Quantization& from = *problem.inputs[0].quantization;
    const Quantization& to = *problem.outputs[0].quantization;
    type_ = from.is_signed ? DataType::int8 : DataType::uint8;
    to_type_ = to.is_signed ? DataType::int8 : DataType::uint8;
    scale_ = from.scales[0] / to.scales[0];
    shift_ = -static_cast<float>(from.zero_points[0]) * scale_;
    zero_point_ = to.zero_points[0];
  }

  // The columns' taps as the inner loop reads them, one output after the other for each tap.
  void list_picks() {
    const auto outputs = static_cast<std::size_t>(columns_.outputs());
    const auto n = static_cast<std::size_t>(columns_.per_output);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < outputs; ++i) {
        pick_offsets_.push_back(static_cast<std::int32_t>(columns_.offset[i * n + k]));
        pick_weights_.push_back(columns_.weight[i * n + k]);
      }
  }

  // Whether output row r reads what the one before it reads.
  bool same_rows(std::int64_t r) const noexcept {
    return rows_.per_output == 1 && rows_.offset[static_cast<std::size_t>(r)] ==
                                        rows_.offset[static_cast<std::size_t>(r - 1)];
  }

  const float* mixed_rows(const std::byte* plane, std::int64_t r, float* buffer) const noexcept {
    const std::int64_t n = rows_.per_output;
    const std::int64_t* offset = rows_.offset.data() + r * n;
    if (n == 1 && type_ == DataType::float32)
      return reinterpret_cast<const float*>(plane) + offset[0];
    const float* weight = rows_.weight.data() + r * n;
    resize_mix().mix(type_, {plane, offset, weight, n, x_[2] * x_[3], 1, 0}, DataType::float32,
                     buffer);
    return buffer;
  }

  void mix_columns(const float* row, std::byte* to) const noexcept {
    const std::int64_t inner = x_[3], n = columns_.per_output;
    WeightedRuns runs = {
        row, columns_.offset.data(), columns_.weight.data(), n, inner, scale_, shift_, zero_point_};
    if (inner == 1)
      return resize_mix().pick({row, pick_offsets_.data(), pick_weights_.data(), n,
                                columns_.outputs(), scale_, shift_, zero_point_},
                               to_type_, to);
    const auto bytes = static_cast<std::int64_t>(size_of(type_));
    for (std::int64_t c = 0; c < columns_.outputs(); ++c, runs.offsets += n, runs.weights += n)
      resize_mix().mix(DataType::float32, runs, to_type_, to + c * inner * bytes);
  }

  void copy_columns(const std::byte* row, std::byte* to) const noexcept {
    const std::size_t bytes = size_of(type_);
    if (x_[3] > 1) {
      const std::size_t run = bytes * static_cast<std::size_t>(x_[3]);
      for (const std::int64_t offset : columns_.offset) {
        std::memcpy(to, row + offset * static_cast<std::int64_t>(bytes), run);
        to += run;
      }
    } else if (bytes == 1) {
      copy_elements<std::uint8_t>(row, to);
    } else if (bytes == 2) {
      copy_elements<std::uint16_t>(row, to);
    } else {
      copy_elements<std::uint32_t>(row, to);
    }
  }
  template <class T>
  void copy_elements(const std::byte* row, std::byte* to) const noexcept {
    const T* from = reinterpret_cast<const T*>(row);
    T* target = reinterpret_cast<T*>(to);
    for (const std::int64_t offset : columns_.offset) *target++ = from[offset];
  }

  Taps rows_;
  Taps columns_;
  std::vector<std::int32_t> pick_offsets_;
  std::vector<float> pick_weights_;
  Shape x_;                  // [outer, rows, columns, inner]
  DataType type_, to_type_;  // int8 or uint8 for qint8
  float scale_ = 1, shift_ = 0;
  std::int32_t zero_point_ = 0;
  bool copies_ = false;
  std::int64_t chunks_ = 1;
};

// In the order of memory; a block's channels stay as they are.
Result<std::vector<ResizeAxis>> stored_axes(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(std::vector<ResizeAxis> axes, resize_axes(problem));
  const Layout layout = problem.inputs[0].layout;
  const int rank = problem.inputs[0].shape.rank();
  if (layout == Layout::plain) return axes;
  std::vector<ResizeAxis> stored = axes;
  for (int i = 0; i < rank; ++i)
    stored[static_cast<std::size_t>(stored_axis(i, rank, layout))] =
        axes[static_cast<std::size_t>(i)];
  if (block_of(layout) == 1) return stored;
  if (!axes[1].is_identity()) return unsupported("the channels are resized");
  if (rank >= kMaxRank) return unsupported("too many dimensions");
  const std::int64_t block = block_of(layout);
  const std::int64_t blocks = (problem.inputs[0].shape[1] + block - 1) / block;
  stored[1].input = stored[1].output = Dim(blocks);
  stored.push_back({.input = Dim(block), .output = Dim(block), .length = double(block)});
  return stored;
}

Applicability applicable(const Problem& problem) {
  const DataType type = problem.inputs[0].type;
  if (!has_kernels_of(type)) return Applicability::no("this build has kernels for float32 only");
  if (type == DataType::qint8) {
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
    if (problem.params.text("mode") != "nearest")
      if (Applicability bounds = supports_qint8_bounds(problem); !bounds) return bounds;
  } else if (!is_span_float(type)) {
    return Applicability::no("input 0 is not float32, float16, bfloat16 or qint8");
  }
  if (problem.outputs[0].type != type) return Applicability::no("input and output differ in type");
  if (problem.inputs[0].shape.rank() == 0) return Applicability::no("scalars are not supported");
  if (problem.outputs[0].shape.elements() == 0) return Applicability::no("no elements");
  if (problem.params.text("coordinate_mode") == "tf_crop_and_resize")
    return Applicability::no("extrapolation is not supported");
  if (problem.inputs[0].shape.elements() > std::numeric_limits<std::int32_t>::max())
    return Applicability::no("more elements than an int32 counts");
  const auto axes = stored_axes(problem);
  if (!axes.ok()) return Applicability::no(axes.status().message());
  const auto span = resized_span(*axes);
  return span.ok() ? Applicability::yes() : Applicability::no(span.status().message());
}

Result<std::unique_ptr<Kernel>> make_direct_resize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ResizeOptions options, resize_options(problem.params));
  SN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, stored_axes(problem));
  SN_ASSIGN_OR_RETURN(const Span span, resized_span(axes));
  const Shape x = stored_shape(problem.inputs[0].shape, problem.inputs[0].layout);
  const std::int64_t inner = x.elements(span.last + 1, x.rank());
  const bool two = span.first < span.last;
  const Shape split = {x.elements(0, span.first), two ? x[span.first] : 1, x[span.last], inner};
  const ResizeAxis one_row = {.input = Dim(1), .output = Dim(1), .length = 1};
  const ResizeAxis& rows = two ? axes[static_cast<std::size_t>(span.first)] : one_row;
  const ResizeAxis& columns = axes[static_cast<std::size_t>(span.last)];
  auto kernel =
      std::make_unique<DirectResizeKernel>(problem, taps_of(options, rows, x[span.last] * inner),
                                           taps_of(options, columns, inner), split);
  if (problem.inputs[0].type != DataType::qint8) return std::unique_ptr<Kernel>(std::move(kernel));
  const bool copies = kernel->copies();
  return copies ? make_requantized_move(std::move(kernel), problem)
                : make_qint8_post_ops(std::move(kernel), problem);
}

}  // namespace

Status register_routine_resize_cpu_direct(Registry& registry) {
  return add_routines(registry, {"resize"}, kSchemas, "direct",
                      {.facts = {.default_rank = 10, .version = 3},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8,
                       .create = make_direct_resize});
}

}  // namespace softneuro
