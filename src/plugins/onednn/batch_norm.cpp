// batch_norm cpu/onednn, cpu:float32:nhwc/onednn, …
#include "core/routine/registry.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

enum Input : std::size_t { kX, kScale, kBias, kMean, kVariance };

// x as [N, C, 1, S] in the problem's layout.
struct Image {
  std::int64_t batch, channels, pixels;
};

Image image_of(const Shape& x) {
  if (x.rank() == 1) return {x[0], 1, 1};
  return {x[0], x[1], x.elements(2, x.rank())};
}

PlainPart part_of(const Problem& problem, const Image& image, std::int64_t at,
                  std::int64_t first_channel) {
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  const auto desc =
      desc_of({image.batch, image.channels, 1, image.pixels}, kFloat, problem.inputs[kX].layout);
  const auto numbers = desc_of({image.channels}, kFloat, Layout::plain);
  return plain_part(batch_norm_operation(desc, static_cast<float>(problem.params.real("epsilon"))),
                    {input_argument(DNNL_ARG_SRC, kX, at, desc),
                     input_argument(DNNL_ARG_SCALE, kScale, first_channel, numbers),
                     input_argument(DNNL_ARG_SHIFT, kBias, first_channel, numbers),
                     input_argument(DNNL_ARG_MEAN, kMean, first_channel, numbers),
                     input_argument(DNNL_ARG_VARIANCE, kVariance, first_channel, numbers),
                     output_argument(at, desc)},
                    at, image.batch * image.channels * image.pixels);
}

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  return fills_blocks(problem.inputs[kX]);
}

// nhwc by pixels of all images, other layouts by images, or else by channels.
std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const Image x = image_of(problem.inputs[kX].shape);
  const Layout layout = problem.inputs[kX].layout;
  const std::int64_t chunks = chunk_count(threads, problem.inputs[kX].shape.elements());
  std::vector<PlainPart> parts;
  if (layout == Layout::channels_last) {
    for_chunks(x.batch * x.pixels, chunks, 1, [&](std::int64_t first, std::int64_t last) {
      parts.push_back(part_of(problem, {1, x.channels, last - first}, first * x.channels, 0));
    });
  } else if (x.batch >= chunks) {
    for_chunks(x.batch, chunks, 1, [&](std::int64_t first, std::int64_t last) {
      parts.push_back(
          part_of(problem, {last - first, x.channels, x.pixels}, first * x.channels * x.pixels, 0));
    });
  } else {
    for (std::int64_t image = 0; image < x.batch; ++image)
      for_chunks(x.channels, chunks, block_of(layout), [&](std::int64_t first, std::int64_t last) {
        parts.push_back(part_of(problem, {1, last - first, x.pixels},
                                (image * x.channels + first) * x.pixels, first));
      });
  }
  return parts;
}

}  // namespace

Status register_batch_norm(Registry& registry) {
  return add_plain_routines(registry,
                            {.layer_type = "batch_norm", .applicable = applicable, .parts = parts},
                            kFloatLayouts);
}

}  // namespace softneuro::onednn
