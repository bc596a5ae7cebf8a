// avg_pool2 in float32 (cpu/onednn, nhwc and the blocked layouts). Of maxima, those of float32 may
// lose a NaN in the library's code, and those of 8 bits are slower than ours.
#include <algorithm>

#include "core/routine/registry.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"
#include "plugins/partition/conv_chunks.h"
#include "plugins/partition/pool_window.h"

namespace softneuro::onednn {
namespace {

bool counts_padding(const Problem& problem) {
  return problem.params.integer("count_include_pad") != 0;
}
PlainPart part_of(const Problem& problem, const ConvChunk& chunk) {
  using Dims = dnnl::memory::dims;
  const ConvShape& shape = chunk.shape;
  const WindowAxis &h = shape.rows, &w = shape.columns;
  const auto type = element_type(problem.inputs[0]);
  const auto x = desc_of({shape.batch, shape.in, h.input, w.input}, type, shape.layout);
  const auto y = desc_of({shape.batch, shape.in, h.output, w.output}, type, shape.layout);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * dnnl::memory::data_type_size(type);
  };
  return plain_part(Operation::of<PoolingForward>(
                        dnnl::prop_kind::forward_inference,
                        counts_padding(problem) ? dnnl::algorithm::pooling_avg_include_padding
                                                : dnnl::algorithm::pooling_avg_exclude_padding,
                        x, y, Dims{h.stride, w.stride}, Dims{h.kernel, w.kernel},
                        Dims{h.dilation - 1, w.dilation - 1}, Dims{h.pad_begin, w.pad_begin},
                        Dims{taken_pad_end(h), taken_pad_end(w)}),
                    {{DNNL_ARG_SRC, Argument::From::input, 0, bytes(chunk.x_at), x},
                     {DNNL_ARG_DST, Argument::From::output, 0, bytes(chunk.y_at), y}},
                    chunk.y_at, chunk.y_count);
}

Applicability applicable(const Problem& problem) {
  if (Applicability types = takes_float32(problem); !types) return types;
  if (Applicability window = check_pool_window(problem); !window) return window;
  const Window window = *pool_window(problem.params, problem.inputs[0].shape);
  const auto hangs_over = [](const WindowAxis& axis) { return taken_pad_end(axis) > axis.pad_end; };
  if (counts_padding(problem) && (hangs_over(window.axes[1]) || hangs_over(window.axes[2])))
    return Applicability::no(
        "ceil_mode: the last window extends past the padding, whose elements oneDNN would count");
  return Applicability::yes();
}

std::vector<PlainPart> parts(const Problem& problem, int threads) {
  const Shape& x = problem.inputs[0].shape;
  const Window window = *pool_window(problem.params, problem.inputs[0].shape);
  ConvShape shape;  // a depthwise convolution is partitioned alike
  shape.rows = window.axes[1];
  shape.columns = window.axes[2];
  shape.batch = x[0];
  shape.group = shape.in = shape.out = x[1];
  shape.layout = problem.inputs[0].layout;
  const std::int64_t work = problem.outputs[0].shape.elements() * window.kernel_elements();
  std::vector<PlainPart> parts;
  for (const ConvChunk& chunk : partition_conv(shape, chunk_count(threads, work)))
    parts.push_back(part_of(problem, chunk));
  return parts;
}

}  // namespace

Status register_pool2(Registry& registry) {
  return add_plain_routines(registry,
                            {.layer_type = "avg_pool2", .applicable = applicable, .parts = parts},
                            kFloatLayouts);
}

}  // namespace softneuro::onednn
