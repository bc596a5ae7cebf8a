#include "passes/adopt_quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/element.h"
#include "core/graph/layer_type.h"
#include "core/routine/format.h"
#include "passes/pattern.h"
#include "passes/rewriter.h"
#include "quantization/tensor_roles.h"

namespace softneuro {
namespace {

// int8 or uint8: signed or not; nothing for other types.
std::optional<bool> signedness(const Graph& graph, const Layer& layer) {
  DataType type = DataType::undefined;
  if (is_dequantize(layer))
    type = graph.tensor(layer.inputs[0]).type;
  else if (has_input(layer, 2))
    type = graph.tensor(layer.inputs[2]).type;
  else
    type = parse_data_type(layer.params.text("to"));
  if (type == DataType::int8) return true;
  if (type == DataType::uint8) return false;
  return std::nullopt;
}

// The quantize layer in front of a dequantize layer that undoes it; −1 if there is none.
int partner(const Rewriter& rewriter, int dequantize) {
  const Layer& layer = rewriter.layer(dequantize);
  const int maker = rewriter.producer(layer.inputs[0]);
  if (maker < 0 || !is_quantize(rewriter.layer(maker)) || !rewriter.layer(maker).post_ops.empty())
    return -1;
  const Layer& front = rewriter.layer(maker);
  const auto to = quantization_of(rewriter.graph(), front);
  const auto from = quantization_of(rewriter.graph(), layer);
  const bool same_type = front.inputs[0] != kNoTensor && rewriter.tensor(front.inputs[0]).type ==
                                                             rewriter.tensor(layer.outputs[0]).type;
  return to && from && same_levels(*to, *from) && same_type ? maker : -1;
}

}  // namespace

bool is_quantize(const Layer& layer) {
  return layer.type->name == "quantize";
}

bool is_dequantize(const Layer& layer) {
  return layer.type->name == "dequantize";
}

std::optional<Quantization> quantization_of(const Graph& graph, const Layer& layer) {
  if ((!is_quantize(layer) && !is_dequantize(layer)) || layer.inputs.size() < 2 ||
      !graph.is_constant(layer.inputs[1]) || layer.params.integer("block_size", 0) != 0)
    return std::nullopt;
  const std::optional<bool> is_signed = signedness(graph, layer);
  if (!is_signed) return std::nullopt;
  const TensorView scales = view_of(graph.tensor(layer.inputs[1]).constant);
  const bool shifted = has_input(layer, 2);
  if (shifted && (!graph.is_constant(layer.inputs[2]) ||
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

namespace {

class Adoption {
 public:
  explicit Adoption(Rewriter& rewriter)
      : rewriter_(rewriter),
        levels_(rewriter.graph().tensor_count(), nullptr),
        fronts_(rewriter.graph().tensor_count(), -1) {}

  // In topological order: what is known of a tensor's levels comes from the layers before. Gives
  // the number of quantize layers that were adopted, and of tensors beside layers that stay.
  std::size_t run() {
    for (int i = 0; i < rewriter_.count(); ++i) {
      if (!rewriter_.alive(i)) continue;
      if (is_dequantize(rewriter_.layer(i)) && rewriter_.layer(i).post_ops.empty())
        adopt(i);
      else
        pass_on_levels(rewriter_.layer(i));
    }
    annotate_sources();
    return adopted_.size() + annotate_ends();
  }

 private:
  // What one quantize layer became.
  struct Adopted {
    TensorId source = kNoTensor;  // the tensor that it quantises
    TensorId result = kNoTensor;  // stands for what its dequantize layers gave
    Quantization quantization;
  };

  void adopt(int dequantize) {
    const int front = partner(rewriter_, dequantize);
    if (front < 0) return;
    Quantization q = *quantization_of(rewriter_.graph(), rewriter_.layer(front));
    if (q.axis >= 0) return;
    const auto [known, is_new] = adopted_.try_emplace(front);
    Adopted& adopted = known->second;
    if (!is_new) {
      bypass(rewriter_, dequantize, adopted.result);
      return;
    }
    adopted = {rewriter_.layer(front).inputs[0], kNoTensor, std::move(q)};
    if (const int concat = concat_before(front); concat >= 0) {
      adopted.source = round_before(concat, dequantize, front, adopted.quantization);
      adopted.result = adopted.source;
    } else {
      adopted.result = replace(dequantize, front, adopted.quantization);
    }
    quantize_as(adopted.result, adopted.quantization);
    levels_[adopted.result] = &adopted.quantization;
    fronts_[adopted.result] = front;
  }

  // One layer for the pair; none where the values are of these levels already.
  TensorId replace(int dequantize, int front, const Quantization& q) {
    const TensorId x = rewriter_.layer(front).inputs[0];
    const TensorId y = rewriter_.layer(dequantize).outputs[0];
    if (levels_[x] != nullptr && same_levels(*levels_[x], q) && bypass(rewriter_, dequantize, x))
      return rewriter_.producer(y) >= 0 ? y : x;
    const PostOp round = fake_quantize_to(q);
    rewriter_.replace_unchecked({}, dequantize, *rewriter_.context().type("unary"), {x},
                                unary_params(round.unary, static_cast<double>(round.alpha),
                                             static_cast<double>(round.beta)));
    rewriter_.add_sources(dequantize, front);
    return y;
  }

  // The concatenation whose output `front` alone reads, if nothing else reads what it joins: layers
  // in front of it can round as it is joined, and it moves bytes. −1 if there is none.
  int concat_before(int front) const {
    const TensorId x = rewriter_.layer(front).inputs[0];
    const int concat = rewriter_.producer(x);
    if (concat < 0 || !joins_elements(rewriter_.layer(concat)) || !rewriter_.has_single_use(x) ||
        levels_in_common(rewriter_.layer(concat)) != nullptr)
      return -1;
    for (const TensorId id : rewriter_.layer(concat).inputs)
      if (rewriter_.producer(id) < 0 || !rewriter_.has_single_use(id) || has_more_readers(id))
        return -1;
    return concat;
  }

  // Dequantize layers that are yet to be adopted will read it.
  bool has_more_readers(TensorId result) const {
    const int front = fronts_[result];
    return front >= 0 && rewriter_.uses().first(rewriter_.layer(front).outputs[0]) != nullptr;
  }

  // Rounds what a concatenation joins instead of its output, which is what `dequantize` gave.
  TensorId round_before(int concat, int dequantize, int front, const Quantization& q) {
    const LayerType& unary = *rewriter_.context().type("unary");
    const PostOp round = fake_quantize_to(q);
    const TensorId y = rewriter_.layer(dequantize).outputs[0];
    for (std::size_t i = 0; i < rewriter_.layer(concat).inputs.size(); ++i) {
      const TensorId x = rewriter_.layer(concat).inputs[i];
      if (levels_[x] != nullptr && same_levels(*levels_[x], q)) continue;
      TensorDef def;
      def.name = fmt::format("{}/{}", rewriter_.tensor(y).name, i);
      def.type = rewriter_.tensor(x).type;
      def.shape = rewriter_.tensor(x).shape;
      def.quantization = q;
      const TensorId rounded = rewriter_.add_tensor(std::move(def));
      levels_.push_back(&q);
      fronts_.push_back(-1);
      const std::string name = rewriter_.layer(dequantize).name;
      const int layer = rewriter_.add(unary, name, {x}, {rounded},
                                      unary_params(round.unary, static_cast<double>(round.alpha),
                                                   static_cast<double>(round.beta)));
      rewriter_.add_sources(layer, front);
      rewriter_.set_input(concat, i, rounded);
    }
    absorb(rewriter_, concat, dequantize);
    rewriter_.set_input(front, 0, y);  // for other layers that read the integers
    return y;
  }

  void pass_on_levels(const Layer& layer) {
    const Quantization* levels = nullptr;
    if (moves_elements(layer)) levels = levels_[layer.inputs[0]];
    if (joins_elements(layer)) levels = levels_in_common(layer);
    if (levels == nullptr) return;
    for (const TensorId id : layer.outputs)
      if (id != kNoTensor && is_float(rewriter_.tensor(id).type)) levels_[id] = levels;
  }

  const Quantization* levels_in_common(const Layer& concat) const {
    const Quantization* common = levels_[concat.inputs[0]];
    for (const TensorId id : concat.inputs)
      if (common == nullptr || levels_[id] == nullptr || !same_levels(*common, *levels_[id]))
        return nullptr;
    return common;
  }

  // A source that nothing else reads may be stored in its levels: it is rounded to them anyway.
  void annotate_sources() {
    for (const auto& entry : adopted_) {
      const Adopted& adopted = entry.second;
      if (rewriter_.is_output(adopted.source)) continue;
      const bool alone = rewriter_.uses().all_of(adopted.source, [&](int user) {
        return user == entry.first || rewriter_.layer(user).outputs[0] == adopted.result;
      });
      if (alone) quantize_as(adopted.source, adopted.quantization);
    }
  }

  // Layers without a partner, as at 8-bit inputs and outputs: what one gives is of its levels, and
  // what it alone reads is rounded to them. Gives the number of tensors that they annotate.
  std::size_t annotate_ends() {
    std::size_t count = 0;
    for (int i = 0; i < rewriter_.count(); ++i) {
      if (!rewriter_.alive(i) || adopted_.contains(i)) continue;
      const Layer& layer = rewriter_.layer(i);
      const std::optional<Quantization> q = quantization_of(rewriter_.graph(), layer);
      if (!q || q->axis >= 0 || !layer.post_ops.empty()) continue;
      const TensorId x = layer.inputs[0], real = is_quantize(layer) ? x : layer.outputs[0];
      if (is_quantize(layer) && (rewriter_.is_output(x) || !is_float(rewriter_.tensor(x).type) ||
                                 !rewriter_.uses().all_of(x, [&](int user) { return user == i; })))
        continue;
      if (rewriter_.tensor(real).is_constant() || rewriter_.tensor(real).quantization) continue;
      quantize_as(real, *q);
      ++count;
    }
    return count;
  }

  void quantize_as(TensorId id, const Quantization& q) {
    std::optional<Quantization>& known = rewriter_.tensor(id).quantization;
    if (!known) known = q;
  }

  Rewriter& rewriter_;
  std::vector<const Quantization*> levels_;  // of a tensor's values; null: not known
  std::vector<int> fronts_;         // the quantize layer whose result a tensor is; −1: of none
  std::map<int, Adopted> adopted_;  // by quantize layer
};

}  // namespace

bool is_quantised(const Graph& graph) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id)
    if (graph.tensor(id).quantization) return true;
  return std::ranges::any_of(graph.layers(), [](const Layer& layer) {
    return is_quantize(layer) || is_dequantize(layer) || layer.type->name == "dynamic_quantize";
  });
}

Result<std::size_t> adopt_quantization(Graph& graph, const Registry& registry) {
  PassOptions pass_options;
  SN_RETURN_IF_ERROR(graph.sort());
  SN_RETURN_IF_ERROR(graph.infer_shapes());
  PassContext context{registry, pass_options};
  if (context.type("unary") == nullptr) return std::size_t{0};
  Rewriter rewriter(graph, context);
  const std::size_t adopted = Adoption(rewriter).run();
  SN_RETURN_IF_ERROR(rewriter.finish());
  if (context.changes > 0) SN_RETURN_IF_ERROR(run_passes(graph, registry));
  return adopted;
}

}  // namespace softneuro
