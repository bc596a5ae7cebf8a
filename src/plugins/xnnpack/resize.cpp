// resize cpu:float32:nhwc/xnnpack: bilinear, where the library reads the same elements with the
// same weights; partitioned by images.
#include "core/layers/resize.h"

#include <optional>

#include "plugins/partition/chunks.h"
#include "plugins/partition/resize_positions.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

// The library's positions: (y + offset) · scale − offset.
bool same_linear(const ResizeTaps& taps, std::int64_t outputs, std::int64_t inputs,
                 std::uint32_t flags) {
  const bool aligned = (flags & XNN_FLAG_ALIGN_CORNERS) != 0 && outputs > 1;
  const double scale = aligned ? static_cast<double>(inputs - 1) / static_cast<double>(outputs - 1)
                               : static_cast<double>(inputs) / static_cast<double>(outputs);
  const double offset = flags == 0 ? 0.5 : 0;
  return interpolates_at(taps, outputs, inputs, [=](std::int64_t y) {
    return (static_cast<double>(y) + offset) * scale - offset;
  });
}

// The library's flags for the problem's positions; nothing if it has none.
std::optional<std::uint32_t> flags_of(const Problem& problem) {
  const auto options = resize_options(problem.params);
  const auto axes = resize_axes(problem);
  if (!options.ok() || !axes.ok() || options->mode != ResizeMode::linear) return std::nullopt;
  if (!(*axes)[0].is_identity() || !(*axes)[1].is_identity()) return std::nullopt;
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  for (const std::uint32_t flags : {std::uint32_t{0}, std::uint32_t{XNN_FLAG_ALIGN_CORNERS},
                                    std::uint32_t{XNN_FLAG_TENSORFLOW_LEGACY_MODE}}) {
    const auto same = [&](int d) {
      return same_linear(resize_taps(*options, (*axes)[static_cast<std::size_t>(d)]), y[d], x[d],
                         flags);
    };
    if (same(2) && same(3)) return flags;
  }
  return std::nullopt;
}

Applicability applicable(const Problem& problem) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (x.type != DataType::float32 || y.type != DataType::float32)
    return Applicability::no("needs float32");
  if (Applicability work = has_work(problem); !work) return work;
  if (x.shape.rank() != 4) return Applicability::no("needs two spatial axes");
  return flags_of(problem) ? Applicability::yes()
                           : Applicability::no("the library's coordinate mapping differs");
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  const std::uint32_t flags = flags_of(problem).value_or(0);
  OperatorWork work;
  SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem));
  for_chunks(x[0], chunk_count(context.threads(), y.elements()), 1,
             [&](std::int64_t first, std::int64_t last) {
               OperatorChunk& chunk = work.chunks.emplace_back();
               chunk.create = [=](xnn_operator_t* op) {
                 const std::size_t c = size(x[1]);
                 return xnn_create_resize_bilinear2d_nhwc_f32(c, c, c, flags, op);
               };
               chunk.setup = [=](xnn_operator_t op, const float* from, const float*, float* to) {
                 return xnn_setup_resize_bilinear2d_nhwc_f32(op, size(last - first), size(x[2]),
                                                             size(x[3]), size(y[2]), size(y[3]),
                                                             from, to, nullptr);
               };
               const std::int64_t image = x.elements(1, 4), result = y.elements(1, 4);
               chunk.x_at = first * image;
               chunk.y_at = first * result;
               chunk.y_count = (last - first) * result;
             });
  return make_operator_kernel(std::move(work));
}

}  // namespace

Status register_resize(Registry& registry) {
  return add_routines(registry, {"resize"}, {"cpu:float32:nhwc"}, "xnnpack",
                      operator_routine(applicable, create));
}

}  // namespace softneuro::xnnpack
