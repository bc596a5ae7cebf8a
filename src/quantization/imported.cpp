#include "quantization/imported.h"

#include <algorithm>
#include <cmath>

#include "core/element.h"
#include "core/layer_type.h"
#include "passes/rewriter.h"

namespace softneuro {
namespace {

bool is_known(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensor(id).is_constant();
}

// int8 or uint8: signed or not; nothing for other types.
std::optional<bool> signedness(const Graph& graph, const Layer& layer) {
  DataType type = DataType::undefined;
  if (layer.type->name == "dequantize")
    type = graph.tensor(layer.inputs[0]).type;
  else if (layer.inputs.size() > 2 && layer.inputs[2] != kNoTensor)
    type = graph.tensor(layer.inputs[2]).type;
  else
    type = parse_data_type(layer.params.text("to"));
  if (type == DataType::int8) return true;
  if (type == DataType::uint8) return false;
  return std::nullopt;
}

bool is_same(const Quantization& a, const Quantization& b) {
  return a.is_signed == b.is_signed && a.axis == b.axis && a.scales == b.scales &&
         a.zero_points == b.zero_points;
}

// The quantize layer in front of a dequantize layer that undoes it; −1 if there is none.
int partner(const Rewriter& rewriter, int dequantize) {
  const Layer& layer = rewriter.layer(dequantize);
  const int maker = rewriter.producer(layer.inputs[0]);
  if (maker < 0 || rewriter.layer(maker).type->name != "quantize" ||
      !rewriter.layer(maker).post_ops.empty())
    return -1;
  const Layer& front = rewriter.layer(maker);
  const auto to = quantization_of(rewriter.graph(), front);
  const auto from = quantization_of(rewriter.graph(), layer);
  const bool same_type = front.inputs[0] != kNoTensor && rewriter.tensor(front.inputs[0]).type ==
                                                             rewriter.tensor(layer.outputs[0]).type;
  return to && from && is_same(*to, *from) && same_type ? maker : -1;
}

}  // namespace

std::optional<Quantization> quantization_of(const Graph& graph, const Layer& layer) {
  const std::string& name = layer.type->name;
  if ((name != "quantize" && name != "dequantize") || layer.inputs.size() < 2 ||
      !is_known(graph, layer.inputs[1]) || layer.params.integer("block_size", 0) != 0)
    return std::nullopt;
  const std::optional<bool> is_signed = signedness(graph, layer);
  if (!is_signed) return std::nullopt;
  const TensorView scales = view_of(graph.tensor(layer.inputs[1]).constant);
  const bool shifted = layer.inputs.size() > 2 && layer.inputs[2] != kNoTensor;
  if (shifted && (!is_known(graph, layer.inputs[2]) ||
                  graph.tensor(layer.inputs[2]).constant.elements() != scales.elements()))
    return std::nullopt;
  Quantization q;
  q.is_signed = *is_signed;
  for (std::int64_t i = 0; i < scales.elements(); ++i) {
    const auto scale = static_cast<float>(load(scales, i));
    if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
    q.scales.push_back(scale);
    const std::int64_t zero =
        shifted ? load_integer(view_of(graph.tensor(layer.inputs[2]).constant), i) : 0;
    q.zero_points.push_back(static_cast<std::int32_t>(zero));
  }
  if (q.scales.empty()) return std::nullopt;
  if (q.scales.size() > 1) {
    const DynamicShape& shape = graph.tensor(layer.inputs[0]).shape;
    if (!shape.ranked()) return std::nullopt;
    const Result<int> axis = normalize_axis(layer.params.integer("axis"), shape.rank());
    if (!axis.ok()) return std::nullopt;
    q.axis = *axis;
  }
  return q;
}

Result<std::size_t> adopt_quantization(Graph& graph, const Registry& registry,
                                       const AdoptOptions& options) {
  PassOptions pass_options;
  std::size_t annotated = 0;
  SN_RETURN_IF_ERROR(graph.sort());
  SN_RETURN_IF_ERROR(graph.infer_shapes());
  PassContext context{registry, pass_options};
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || rewriter.layer(i).type->name != "dequantize" ||
        !rewriter.layer(i).post_ops.empty())
      continue;
    const int front = partner(rewriter, i);
    if (front < 0) continue;
    const TensorId x = rewriter.layer(front).inputs[0];
    const Quantization q = *quantization_of(graph, rewriter.layer(front));
    std::optional<Quantization>& own = graph.tensor(x).quantization;
    if (own && !is_same(*own, q)) continue;
    annotated += !own;
    own = q;
    if (!options.keep_rounding) rewriter.bypass(i, x);
  }
  SN_RETURN_IF_ERROR(rewriter.finish());
  if (!options.keep_rounding && rewriter.changes() > 0)
    SN_RETURN_IF_ERROR(run_passes(graph, registry));
  return annotated;
}

}  // namespace softneuro
