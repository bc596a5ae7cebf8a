// resize cpu/onednn, cpu:float32:nhwc/onednn, …: the library's resampling, where it reads the same
// elements with the same weights.
#include "core/layers/resize.h"

#include <cmath>

#include "core/routine/registry.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"
#include "plugins/partition/resize_positions.h"

namespace softneuro::onednn {
namespace {

// Where the library's output index `y` of `outputs` lies among `inputs` elements.
float position_of(std::int64_t y, std::int64_t outputs, std::int64_t inputs) {
  return (static_cast<float>(y) + 0.5f) * static_cast<float>(inputs) / static_cast<float>(outputs) -
         0.5f;
}

bool same_nearest(const ResizeTaps& taps, std::int64_t outputs, std::int64_t inputs) {
  for (std::int64_t y = 0; y < outputs; ++y) {
    const auto nearest = static_cast<std::int64_t>(std::round(position_of(y, outputs, inputs)));
    if (nearest != taps.index[static_cast<std::size_t>(y)]) return false;
  }
  return true;
}

bool same_linear(const ResizeTaps& taps, std::int64_t outputs, std::int64_t inputs) {
  return interpolates_at(taps, outputs, inputs, [=](std::int64_t y) {
    return static_cast<double>(position_of(y, outputs, inputs));
  });
}

PlainPart part_of(const Problem& problem, std::int64_t images, std::int64_t channels,
                  std::int64_t x_at, std::int64_t y_at, std::int64_t y_count) {
  const auto desc = [&](const Shape& shape) {
    dnnl::memory::dims dims(shape.dims().begin(), shape.dims().end());
    dims[0] = images;
    dims[1] = channels;
    return desc_of(dims, dnnl::memory::data_type::f32, problem.inputs[0].layout);
  };
  const auto x = desc(problem.inputs[0].shape), y = desc(problem.outputs[0].shape);
  const auto options = resize_options(problem.params);
  const auto algorithm = options.ok() && options->mode == ResizeMode::nearest
                             ? dnnl::algorithm::resampling_nearest
                             : dnnl::algorithm::resampling_linear;
  return plain_part(
      Operation::of<dnnl::resampling_forward>(dnnl::prop_kind::forward_inference, algorithm, x, y),
      {input_argument(DNNL_ARG_SRC, 0, x_at, x), output_argument(y_at, y)}, y_at, y_count);
}

Applicability applicable(const Problem& problem) {
  const TensorSpec &x = problem.inputs[0], &y = problem.outputs[0];
  if (x.type != DataType::float32 || y.type != DataType::float32)
    return Applicability::no("needs float32");
  const int rank = x.shape.rank();
  if (rank < 3 || rank > 5) return Applicability::no("needs one to three spatial axes");
  const auto options = resize_options(problem.params);
  const auto axes = resize_axes(problem);
  if (!options.ok() || !axes.ok()) return Applicability::no("the axes are not known");
  if (options->mode == ResizeMode::cubic)
    return Applicability::no("cubic interpolation is not supported");
  for (int d = 0; d < rank; ++d) {
    const ResizeAxis& axis = (*axes)[static_cast<std::size_t>(d)];
    if (d < 2) {
      if (!axis.is_identity())
        return Applicability::no("resizing the batch or the channels is not supported");
      continue;
    }
    const ResizeTaps taps = resize_taps(*options, axis);
    const bool same = taps.outside.empty() && (options->mode == ResizeMode::nearest
                                                   ? same_nearest(taps, y.shape[d], x.shape[d])
                                                   : same_linear(taps, y.shape[d], x.shape[d]));
    if (!same) return Applicability::no("the library's coordinate mapping differs");
  }
  return Applicability::yes();
}

// By images, or else by channels where these are apart in memory.
std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const Shape &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
  const Layout layout = problem.inputs[0].layout;
  const std::int64_t block = block_of(layout);
  const std::int64_t x_pixels = x.elements(2, x.rank()), y_pixels = y.elements(2, y.rank());
  const std::int64_t channels = (x[1] + block - 1) / block * block;  // in memory
  const std::int64_t chunks = chunk_count(threads, y.elements());
  std::vector<PlainPart> parts;
  const auto add = [&](std::int64_t image, std::int64_t images, std::int64_t first,
                       std::int64_t count) {
    const std::int64_t stored = (count + block - 1) / block * block;
    parts.push_back(part_of(problem, images, count, (image * channels + first) * x_pixels,
                            (image * channels + first) * y_pixels, images * stored * y_pixels));
  };
  if (x[0] >= chunks || layout == Layout::channels_last) {
    for_chunks(x[0], chunks, 1,
               [&](std::int64_t first, std::int64_t last) { add(first, last - first, 0, x[1]); });
  } else {
    for (std::int64_t image = 0; image < x[0]; ++image)
      for_chunks(x[1], chunks, block, [&](std::int64_t first, std::int64_t last) {
        add(image, 1, first, last - first);
      });
  }
  return parts;
}

}  // namespace

Status register_resize(Registry& registry) {
  return add_plain_routines(
      registry, {.layer_type = "resize", .applicable = applicable, .parts = parts}, kFloatLayouts);
}

}  // namespace softneuro::onednn
