// resize cpu/direct: one or two adjacent axes of a float32 tensor. Per output row, the weighted sum
// of input rows first (long vectors), then that of its columns.
#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/registry.h"
#include "routines/resize/taps.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 8192;  // multiplications
constexpr std::int64_t kMaxPieces = 64;

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
  DirectResizeKernel(Taps rows, Taps columns, const Shape& split)
      : rows_(std::move(rows)), columns_(std::move(columns)), x_(split) {
    const std::int64_t work =
        (rows_.per_output * x_[2] + columns_.per_output * columns_.outputs()) * x_[3];
    const std::int64_t least = std::max<std::int64_t>(kGrain / std::max<std::int64_t>(work, 1), 1);
    pieces_ = std::clamp<std::int64_t>(x_[0] * rows_.outputs() / least, 1, kMaxPieces);
  }

  // One input row per piece of the work.
  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(pieces_ * x_[2] * x_[3]) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    const auto* x = context.input(0).as<float>();
    auto* y = context.output(0).as_mutable<float>();
    auto* buffers = reinterpret_cast<float*>(context.workspace());
    const std::int64_t rows = rows_.outputs();
    const std::int64_t all_rows = x_[0] * rows;
    const std::int64_t row_length = columns_.outputs() * x_[3];
    parallel_for(context.pool(), pieces_, [&](std::int64_t piece) {
      float* buffer = buffers + piece * x_[2] * x_[3];
      const std::int64_t begin = all_rows * piece / pieces_;
      for (std::int64_t r = begin; r < all_rows * (piece + 1) / pieces_; ++r) {
        float* to = y + r * row_length;
        if (r > begin && r % rows > 0 && same_rows(r % rows)) {
          std::memcpy(to, to - row_length, static_cast<std::size_t>(row_length) * sizeof(float));
          continue;
        }
        const float* plane = x + r / rows * x_[1] * x_[2] * x_[3];
        mix_columns(mixed_rows(plane, r % rows, buffer), to);
      }
    });
    return {};
  }

 private:
  // Whether output row r reads what the one before it reads.
  bool same_rows(std::int64_t r) const noexcept {
    return rows_.per_output == 1 && rows_.offset[static_cast<std::size_t>(r)] ==
                                        rows_.offset[static_cast<std::size_t>(r - 1)];
  }

  const float* mixed_rows(const float* plane, std::int64_t r, float* buffer) const noexcept {
    const std::int64_t n = rows_.per_output;
    const std::int64_t* offset = rows_.offset.data() + r * n;
    const float* weight = rows_.weight.data() + r * n;
    if (n == 1) return plane + offset[0];
    const std::int64_t length = x_[2] * x_[3];
    const float *a = plane + offset[0], *b = plane + offset[1];
    for (std::int64_t i = 0; i < length; ++i) buffer[i] = weight[0] * a[i] + weight[1] * b[i];
    for (std::int64_t k = 2; k < n; ++k) {
      const float* next = plane + offset[k];
      for (std::int64_t i = 0; i < length; ++i) buffer[i] += weight[k] * next[i];
    }
    return buffer;
  }

  void mix_columns(const float* row, float* to) const noexcept {
    const std::int64_t inner = x_[3];
    const std::int64_t n = columns_.per_output;
    const std::int64_t* offset = columns_.offset.data();
    const float* weight = columns_.weight.data();
    for (std::int64_t c = 0; c < columns_.outputs(); ++c, offset += n, weight += n) {
      if (n == 1) {
        if (inner == 1)
          to[c] = row[offset[0]];
        else
          std::memcpy(to + c * inner, row + offset[0],
                      static_cast<std::size_t>(inner) * sizeof(float));
      } else if (inner == 1) {
        float sum = weight[0] * row[offset[0]] + weight[1] * row[offset[1]];
        for (std::int64_t k = 2; k < n; ++k) sum += weight[k] * row[offset[k]];
        to[c] = sum;
      } else {
        mix_vectors(row, offset, weight, to + c * inner);
      }
    }
  }

  void mix_vectors(const float* row, const std::int64_t* offset, const float* weight,
                   float* to) const noexcept {
    const float *a = row + offset[0], *b = row + offset[1];
    for (std::int64_t i = 0; i < x_[3]; ++i) to[i] = weight[0] * a[i] + weight[1] * b[i];
    for (std::int64_t k = 2; k < columns_.per_output; ++k) {
      const float* next = row + offset[k];
      for (std::int64_t i = 0; i < x_[3]; ++i) to[i] += weight[k] * next[i];
    }
  }

  Taps rows_;
  Taps columns_;
  Shape x_;  // [outer, rows, columns, inner]
  std::int64_t pieces_ = 1;
};

class DirectResize final : public Routine {
 public:
  DirectResize() : Routine("resize", "cpu/direct") {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("not float32");
    if (problem.inputs[0].shape.rank() == 0) return Applicability::no("a scalar");
    if (problem.outputs[0].shape.elements() == 0) return Applicability::no("no elements");
    if (problem.params.text("coordinate_mode") == "tf_crop_and_resize")
      return Applicability::no("places outside the input are extrapolated");
    const auto axes = resize_axes(problem);
    if (!axes.ok()) return Applicability::no(axes.status().message());
    const auto span = resized_span(*axes);
    return span.ok() ? Applicability::yes() : Applicability::no(span.status().message());
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const ResizeOptions options, resize_options(problem.params));
    SN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, resize_axes(problem));
    SN_ASSIGN_OR_RETURN(const Span span, resized_span(axes));
    const Shape& x = problem.inputs[0].shape;
    const std::int64_t inner = x.elements(span.last + 1, x.rank());
    const bool two = span.first < span.last;
    const Shape split = {x.elements(0, span.first), two ? x[span.first] : 1, x[span.last], inner};
    const ResizeAxis one_row = {.input = Dim(1), .output = Dim(1), .length = 1};
    const ResizeAxis& rows = two ? axes[static_cast<std::size_t>(span.first)] : one_row;
    const ResizeAxis& columns = axes[static_cast<std::size_t>(span.last)];
    return std::unique_ptr<Kernel>(std::make_unique<DirectResizeKernel>(
        taps_of(options, rows, x[span.last] * inner), taps_of(options, columns, inner), split));
  }
};

}  // namespace

Status register_routine_resize_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectResize>());
}

}  // namespace softneuro
