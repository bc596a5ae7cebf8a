#include "core/base/error.h"
#include "plugins/onednn/weighted_layer.h"
#include "plugins/partition/conv_chunks.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

memory::dims weight_dims(const ConvShape& shape) {
  if (shape.group == 1) return {shape.out, shape.in, shape.rows.kernel, shape.columns.kernel};
  return {shape.group, shape.out / shape.group, shape.in / shape.group, shape.rows.kernel,
          shape.columns.kernel};
}

class Conv2Layer final : public WeightedLayer {
 public:
  const char* layer_type() const override { return "conv2"; }
  std::int64_t outputs(const Problem& problem) const override {
    return problem.inputs[kWeights].shape[0];
  }
  int channel_axis(const Problem&) const override { return 1; }
  bool has_winograd() const override { return true; }

  bool has_padding(const Problem& problem) const override {
    const auto shape = conv_shape(problem);
    const auto padded = [](const WindowAxis& axis) {
      return axis.pad_begin > 0 || axis.pad_end > 0;
    };
    return !shape.ok() || padded(shape->rows) || padded(shape->columns);
  }

  Result<std::vector<WeightedPart>> make_parts(const Problem& problem, const WeightedTask& task,
                                               std::int64_t split, bool winograd) const override {
    SN_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(problem));
    std::vector<WeightedPart> parts;
    for (const ConvChunk& chunk : partition_conv(shape, split))
      parts.push_back(make_part(task, chunk, winograd));
    return parts;
  }

 private:
  static WeightedPart make_part(const WeightedTask& task, const ConvChunk& chunk, bool winograd) {
    const ConvShape& shape = chunk.shape;
    const WindowAxis &h = shape.rows, &w = shape.columns;
    WeightedPart part;
    part.x = desc_of({shape.batch, shape.in, h.input, w.input}, task.x, shape.layout);
    part.y = desc_of({shape.batch, shape.out, h.output, w.output}, task.y, shape.layout);
    part.weights = desc_of(weight_dims(shape), task.stored_weights, Layout::plain);
    part.padding = {h.pad_begin, h.pad_end, w.pad_begin, w.pad_end};
    part.x_at = chunk.x_at;
    part.y_at = chunk.y_at;
    part.first_out = chunk.first_out;
    part.outs = shape.out;
    part.weights_mask = shape.group == 1 ? 1 << 0 : 1 << 0 | 1 << 1;
    part.weights_at = chunk.first_out * (shape.in / shape.group) * h.kernel * w.kernel;
    part.count = chunk.y_count;
    const auto algorithm =
        winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    const memory::desc any(weight_dims(shape), task.weights, memory::format_tag::any);
    const memory::desc bias =
        task.bias ? desc_of({shape.out}, memory::data_type::f32, Layout::plain) : memory::desc();
    part.operation = Operation::of<dnnl::convolution_forward>(
        dnnl::prop_kind::forward_inference, algorithm, part.x, any, bias, part.y,
        memory::dims{h.stride, w.stride}, memory::dims{h.dilation - 1, w.dilation - 1},
        memory::dims{h.pad_begin, w.pad_begin}, memory::dims{h.pad_end, w.pad_end});
    return part;
  }
};

}  // namespace

const WeightedLayer& conv2_layer() {
  static const Conv2Layer layer;
  return layer;
}

}  // namespace softneuro::onednn
