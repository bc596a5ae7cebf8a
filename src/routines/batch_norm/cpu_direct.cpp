// batch_norm cpu/direct: per channel one factor and one shift; float32, float16 and bfloat16, in
// any layout.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/isa_variants.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/add_each.h"
#include "routines/batch_norm/affine_rows.h"

namespace softneuro {

SN_CHOOSE_VARIANT(AffineFunctions, kAffineFunctions, affine_functions)

namespace {

enum Input : std::size_t { kX, kScale, kBias, kMean, kVariance };

constexpr std::int64_t kChunk = 4096;  // elements between one round of post-ops and the next

// Three numbers for each channel, those of padding zero.
struct Coefficients {
  std::vector<float> mean, factor, bias;
};

class DirectBatchNormKernel final : public Kernel {
 public:
  DirectBatchNormKernel(const Problem& problem, Coefficients coefficients, PostOpProgram post_ops)
      : coefficients_(std::move(coefficients)), post_ops_(std::move(post_ops)) {
    const Shape& x = problem.inputs[kX].shape;
    const Layout layout = problem.inputs[kX].layout;
    const std::int64_t block = block_of(layout);
    const std::int64_t channels = x.rank() < 2 ? 1 : x[1];
    const std::int64_t positions = x.rank() < 2 ? 1 : x.elements(2, x.rank());
    const std::int64_t batch = x.rank() == 0 ? 1 : x[0];
    per_column_ = layout != Layout::plain;
    channel_groups_ = layout == Layout::channels_last ? 1 : (channels + block - 1) / block;
    planes_ = batch * channel_groups_;
    columns_ = layout == Layout::plain ? positions : block > 1 ? block : channels;
    rows_ = layout == Layout::plain ? 1 : positions;
    if (layout != Layout::plain) {
      rows_per_chunk_ = std::clamp<std::int64_t>(kChunk / std::max<std::int64_t>(columns_, 1), 1,
                                                 std::max<std::int64_t>(rows_, 1));
      columns_per_chunk_ = columns_;
    } else {
      columns_per_chunk_ = std::clamp<std::int64_t>(columns_, 1, kChunk);
    }
  }
  // Without post-ops alone: those may want to read x.
  int in_place_input() const noexcept override { return post_ops_.empty() ? 0 : -1; }

  Status run(Context& context) const noexcept override {
    if (rows_ * columns_ == 0) return {};
    const std::int64_t chunks = (rows_ + rows_per_chunk_ - 1) / rows_per_chunk_ *
                                ((columns_ + columns_per_chunk_ - 1) / columns_per_chunk_);
    const std::int64_t elements = std::min(rows_ * columns_, rows_per_chunk_ * columns_per_chunk_);
    parallel_ranges(context.pool(), planes_ * chunks, kChunk / elements,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i)
                        run_chunk(context, i / chunks, i % chunks);
                    });
    return {};
  }

 private:
  // Either some whole rows of a plane, or a part of its only row.
  void run_chunk(Context& context, std::int64_t plane, std::int64_t chunk) const noexcept {
    const std::int64_t row = per_column_ ? chunk * rows_per_chunk_ : 0;
    const std::int64_t column = per_column_ ? 0 : chunk * columns_per_chunk_;
    const std::int64_t group = plane % channel_groups_;
    const auto first = static_cast<std::size_t>(group * (per_column_ ? columns_ : 1));
    const std::int64_t offset = plane * rows_ * columns_ + row * columns_ + column;
    const auto bytes = static_cast<std::int64_t>(size_of(context.input(kX).type));
    AffineRows rows;
    rows.type = context.input(kX).type;
    rows.x = context.input(kX).as<std::byte>() + offset * bytes;
    rows.y = context.output(0).as_mutable<std::byte>() + offset * bytes;
    rows.rows = std::min(rows_per_chunk_, rows_ - row);
    rows.columns = std::min(columns_per_chunk_, columns_ - column);
    rows.mean = coefficients_.mean.data() + first;
    rows.factor = coefficients_.factor.data() + first;
    rows.bias = coefficients_.bias.data() + first;
    rows.per_column = per_column_;
    affine_functions().apply(rows);
    if (!post_ops_.empty())
      post_ops_.apply(context.inputs(), static_cast<float*>(rows.y), offset,
                      rows.rows * rows.columns);
  }

  Coefficients coefficients_;
  PostOpProgram post_ops_;
  bool per_column_ = false;
  std::int64_t planes_ = 0, channel_groups_ = 1;
  std::int64_t rows_ = 1, columns_ = 1;  // of a plane
  std::int64_t rows_per_chunk_ = 1, columns_per_chunk_ = 1;
};

Coefficients coefficients_of(const Problem& problem) {
  const Shape& x = problem.inputs[kX].shape;
  const std::int64_t channels = x.rank() < 2 ? 1 : x[1];
  const std::int64_t block = block_of(problem.inputs[kX].layout);
  const auto padded = static_cast<std::size_t>((channels + block - 1) / block * block);
  const double epsilon = problem.params.real("epsilon");
  Coefficients coefficients;
  for (auto* list : {&coefficients.mean, &coefficients.factor, &coefficients.bias})
    list->assign(padded, 0.0f);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto value = [&](std::size_t i) { return load(view_of(problem.inputs[i].value), c); };
    const auto at = static_cast<std::size_t>(c);
    coefficients.mean[at] = static_cast<float>(value(kMean));
    coefficients.factor[at] =
        static_cast<float>(value(kScale) / std::sqrt(value(kVariance) + epsilon));
    coefficients.bias[at] = static_cast<float>(value(kBias));
  }
  return coefficients;
}

Applicability applicable(const Problem& problem) {
  const DataType type = problem.inputs[kX].type;
  if (!is_span_float(type) || problem.outputs[0].type != type)
    return Applicability::no("needs float32, float16 or bfloat16 at x and y");
  for (std::size_t i = kScale; i < problem.layer_inputs; ++i)
    if (!is_span_float(problem.inputs[i].type) || problem.inputs[i].value.empty())
      return Applicability::no("the statistics are not constants");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_batch_norm(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<DirectBatchNormKernel>(problem, coefficients_of(problem), std::move(post_ops));
}

}  // namespace

Status register_routine_batch_norm_cpu_direct(Registry& registry) {
  return add_routines(registry, {"batch_norm"}, kFloatSchemas, "direct",
                      {.facts = {.default_rank = 20, .version = 2},
                       .applicable = applicable,
                       .supports_post_ops = PostOpProgram::supports,
                       .create = make_direct_batch_norm});
}

}  // namespace softneuro
