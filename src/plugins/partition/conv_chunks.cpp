#include "plugins/partition/conv_chunks.h"

#include <algorithm>

#include "core/base/error.h"
#include "plugins/partition/chunks.h"

namespace softneuro {
namespace {

std::int64_t blocks(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// Elements of one image in memory.
std::int64_t image_elements(const ConvShape& shape, std::int64_t channels, std::int64_t pixels) {
  const std::int64_t block = block_of(shape.layout);
  return blocks(channels, block) * block * pixels;
}
std::int64_t x_image(const ConvShape& shape) {
  return image_elements(shape, shape.in, shape.rows.input * shape.columns.input);
}
std::int64_t y_image(const ConvShape& shape) {
  return image_elements(shape, shape.out, shape.rows.output * shape.columns.output);
}

ConvChunk images(const ConvShape& shape, std::int64_t first, std::int64_t count) {
  ConvChunk chunk;
  chunk.shape = shape;
  chunk.shape.batch = count;
  chunk.x_at = first * x_image(shape);
  chunk.y_at = first * y_image(shape);
  chunk.y_count = count * y_image(shape);
  return chunk;
}

bool is_pointwise(const ConvShape& shape) {
  const auto trivial = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  return trivial(shape.rows) && trivial(shape.columns);
}

// Output pixels [first, last) of all images: a convolution of one row of pixels.
ConvChunk pixels(const ConvShape& shape, std::int64_t first, std::int64_t last) {
  ConvChunk chunk;
  chunk.shape = shape;
  chunk.shape.batch = 1;
  chunk.shape.rows = WindowAxis{};
  chunk.shape.columns = WindowAxis{};
  chunk.shape.columns.input = chunk.shape.columns.output = last - first;
  chunk.x_at = first * shape.in;
  chunk.y_at = first * shape.out;
  chunk.y_count = (last - first) * shape.out;
  return chunk;
}

// Output rows [first, last) of image `image`; no shape.batch if their input lies in the padding
// altogether.
ConvChunk rows(const ConvShape& shape, std::int64_t image, std::int64_t first, std::int64_t last) {
  const WindowAxis& whole = shape.rows;
  const std::int64_t begin = first * whole.stride - whole.pad_begin;
  const std::int64_t end = (last - 1) * whole.stride - whole.pad_begin + whole.extent();
  const std::int64_t x_begin = std::max<std::int64_t>(begin, 0);
  const std::int64_t x_end = std::min(end, whole.input);
  ConvChunk chunk;
  chunk.shape = shape;
  chunk.shape.batch = x_begin < x_end ? 1 : 0;
  WindowAxis& axis = chunk.shape.rows;
  axis.input = x_end - x_begin;
  axis.output = last - first;
  axis.pad_begin = x_begin - begin;
  axis.pad_end = end - x_end;
  chunk.x_at = image * x_image(shape) + x_begin * shape.columns.input * shape.in;
  const std::int64_t row = shape.columns.output * shape.out;
  chunk.y_at = image * y_image(shape) + first * row;
  chunk.y_count = (last - first) * row;
  return chunk;
}

// Output channels [first, last) of image `image`, whole blocks but for the last.
ConvChunk channels(const ConvShape& shape, std::int64_t image, std::int64_t first,
                   std::int64_t last) {
  const std::int64_t in_per_group = shape.in / shape.group, out_per_group = shape.out / shape.group;
  ConvChunk chunk = images(shape, image, 1);
  chunk.first_out = first;
  chunk.shape.out = last - first;
  if (shape.group > 1) {
    const std::int64_t first_in = first / out_per_group * in_per_group;
    chunk.shape.group = (last - first) / out_per_group;
    chunk.shape.in = chunk.shape.group * in_per_group;
    chunk.x_at += first_in * shape.rows.input * shape.columns.input;
  }
  const std::int64_t pixel_count = shape.rows.output * shape.columns.output;
  chunk.y_at += first * pixel_count;
  chunk.y_count = image_elements(shape, last - first, pixel_count);
  return chunk;
}

// Output channels that may be partitioned between: whole blocks of x and of y on both sides.
std::int64_t channel_step(const ConvShape& shape) {
  const std::int64_t block = block_of(shape.layout);
  if (shape.group == 1 || shape.is_depthwise()) return block;
  const std::int64_t in_per_group = shape.in / shape.group, out_per_group = shape.out / shape.group;
  return in_per_group % block == 0 && out_per_group % block == 0 ? out_per_group : shape.out;
}

std::vector<ConvChunk> partition_image(const ConvShape& shape, std::int64_t image,
                                       std::int64_t parts) {
  std::vector<ConvChunk> chunks;
  if (shape.layout == Layout::channels_last) {
    for_chunks(shape.rows.output, parts, 1, [&](std::int64_t first, std::int64_t last) {
      chunks.push_back(rows(shape, image, first, last));
    });
  } else {
    for_chunks(shape.out, parts, channel_step(shape), [&](std::int64_t first, std::int64_t last) {
      chunks.push_back(channels(shape, image, first, last));
    });
  }
  const bool sound = std::all_of(chunks.begin(), chunks.end(),
                                 [](const ConvChunk& chunk) { return chunk.shape.batch == 1; });
  if (!sound) return {images(shape, image, 1)};
  return chunks;
}

}  // namespace

Result<ConvShape> conv_shape(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const Shape& w = problem.inputs[1].shape;
  SN_ASSIGN_OR_RETURN(const Window window, make_window(problem.params, x, w.dims().subspan(2)));
  ConvShape shape;
  shape.rows = window.axes[1];
  shape.columns = window.axes[2];
  shape.batch = x[0];
  shape.group = problem.params.integer("group", 1);
  shape.in = x[1];
  shape.out = w[0];
  shape.layout = problem.outputs[0].layout;
  return shape;
}

std::vector<ConvChunk> partition_conv(const ConvShape& shape, std::int64_t split) {
  if (split <= 1) return {images(shape, 0, shape.batch)};
  std::vector<ConvChunk> chunks;
  const std::int64_t outputs = shape.rows.output * shape.columns.output;
  if (shape.layout == Layout::channels_last && is_pointwise(shape)) {
    for_chunks(shape.batch * outputs, split, 1, [&](std::int64_t first, std::int64_t last) {
      chunks.push_back(pixels(shape, first, last));
    });
    return chunks;
  }
  if (shape.batch >= split) {
    for_chunks(shape.batch, split, 1, [&](std::int64_t first, std::int64_t last) {
      chunks.push_back(images(shape, first, last - first));
    });
    return chunks;
  }
  for (std::int64_t image = 0; image < shape.batch; ++image)
    for (ConvChunk& chunk : partition_image(shape, image, blocks(split, shape.batch)))
      chunks.push_back(chunk);
  return chunks;
}

}  // namespace softneuro
