// avg_pool2 in float32 (cpu/onednn, nhwc and the blocked layouts) and max_pool2 in qint8
// (cpu:qint8:nhwc/onednn). The largest float32 of a window may lose a NaN in the library's code, so
// that is not used.
#include <algorithm>

#include "core/routine/registry.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "plugins/onednn/fused_ops.h"
#include "plugins/onednn/plain_layer.h"
#include "plugins/onednn/routines.h"
#include "plugins/partition/conv_chunks.h"
#include "plugins/partition/pool_window.h"

namespace softneuro::onednn {
namespace {

class Pool2Layer : public PlainLayer {
 public:
  std::vector<PlainPart> parts(const Problem& problem) const final {
    const Shape& x = problem.inputs[0].shape;
    const Window window = *pool_window(problem);
    ConvShape shape;  // a depthwise convolution is partitioned alike
    shape.rows = window.axes[1];
    shape.columns = window.axes[2];
    shape.batch = x[0];
    shape.group = shape.in = shape.out = x[1];
    shape.layout = problem.inputs[0].layout;
    const std::int64_t work = problem.outputs[0].shape.elements() * window.kernel_elements();
    std::vector<PlainPart> parts;
    for (const ConvChunk& chunk : partition_conv(shape, chunk_count(problem, work)))
      parts.push_back(part_of(problem, chunk));
    return parts;
  }

 protected:
  virtual dnnl::algorithm algorithm(const Problem& problem) const = 0;

 private:
  PlainPart part_of(const Problem& problem, const ConvChunk& chunk) const {
    using Dims = dnnl::memory::dims;
    const ConvShape& shape = chunk.shape;
    const WindowAxis &h = shape.rows, &w = shape.columns;
    const auto type = element_type(problem.inputs[0]);
    const auto x = desc_of({shape.batch, shape.in, h.input, w.input}, type, shape.layout);
    const auto y = desc_of({shape.batch, shape.in, h.output, w.output}, type, shape.layout);
    const auto bytes = [&](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * dnnl::memory::data_type_size(type);
    };
    return plain_part(
        Operation::of<PoolingForward>(
            dnnl::prop_kind::forward_inference, algorithm(problem), x, y, Dims{h.stride, w.stride},
            Dims{h.kernel, w.kernel}, Dims{h.dilation - 1, w.dilation - 1},
            Dims{h.pad_begin, w.pad_begin}, Dims{taken_pad_end(h), taken_pad_end(w)}),
        {{DNNL_ARG_SRC, Argument::From::input, 0, bytes(chunk.x_at), x},
         {DNNL_ARG_DST, Argument::From::output, 0, bytes(chunk.y_at), y}},
        chunk.y_at, chunk.y_count);
  }
};

class AvgPool2Layer final : public Pool2Layer {
 public:
  const char* layer_type() const override { return "avg_pool2"; }

  Applicability applicable(const Problem& problem) const override {
    if (Applicability types = takes_float32(problem); !types) return types;
    if (Applicability window = check_pool_window(problem); !window) return window;
    const Window window = *pool_window(problem);
    const auto hangs_over = [](const WindowAxis& axis) {
      return taken_pad_end(axis) > axis.pad_end;
    };
    if (counts_padding(problem) && (hangs_over(window.axes[1]) || hangs_over(window.axes[2])))
      return Applicability::no(
          "ceil_mode: the last window extends past the padding, whose elements oneDNN would count");
    return Applicability::yes();
  }

 private:
  static bool counts_padding(const Problem& problem) {
    return problem.params.integer("count_include_pad") != 0;
  }
  dnnl::algorithm algorithm(const Problem& problem) const override {
    return counts_padding(problem) ? dnnl::algorithm::pooling_avg_include_padding
                                   : dnnl::algorithm::pooling_avg_exclude_padding;
  }
};

// Of bytes: the order of the numbers is that of what they stand for.
class Qint8MaxPool2Layer final : public Pool2Layer {
 public:
  const char* layer_type() const override { return "max_pool2"; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.outputs.size() > 1 && problem.outputs[1].present())
      return Applicability::no("the indices output is not supported");
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
    if (Applicability post_ops = supports_qint8_post_ops(problem); !post_ops) return post_ops;
    return check_pool_window(problem);
  }

 private:
  dnnl::algorithm algorithm(const Problem&) const override { return dnnl::algorithm::pooling_max; }
};

}  // namespace

Status register_pool2(Registry& registry) {
  static const AvgPool2Layer avg;
  static const Qint8MaxPool2Layer max;
  SN_RETURN_IF_ERROR(add_plain_routines(registry, avg, kFloatLayouts));
  return add_plain_routines(registry, max, {"cpu:qint8:nhwc/onednn"});
}

}  // namespace softneuro::onednn
