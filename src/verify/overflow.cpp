#include "verify/overflow.h"

#include <algorithm>
#include <cmath>

#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"
#include "verify/float_type.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// A layer that is computed once more in a wider type takes no more steps: about a second.
constexpr EvaluateLimits kWideLimits = {.steps = 1e9};

// Finite numbers of `wide` that the type does not hold.
bool is_beyond(const Tensor& wide, DataType type) {
  if (!is_float(wide.data_type())) return false;
  const TensorView view = view_of(wide);
  const double end = float_type_of(type).end();
  for (std::int64_t i = 0; i < wide.elements(); ++i)
    if (const double x = std::fabs(load(view, i)); std::isfinite(x) && x >= end) return true;
  return false;
}

DataType wider(DataType type) {
  return is_of_16_bits(type) ? DataType::float32 : DataType::float64;
}

// Whether what is beyond 16 bits may leave the layer as something else than what is as large: ReLU
// and clip give the same for both.
bool hides_overflow(const Layer& layer) {
  return std::ranges::any_of(layer.post_ops, [](const PostOp& op) {
    return op.kind != PostOp::Kind::unary ||
           (op.unary != UnaryOp::relu && op.unary != UnaryOp::clip);
  });
}

}  // namespace

Result<bool> OverflowScan::passes_range(std::span<const Tensor> inputs,
                                        std::span<const Tensor> outputs) {
  bool is_suspect = !std::ranges::all_of(outputs, is_finite);
  for (TensorId id = 0; id < graph_->tensor_count(); ++id)
    is_suspect = is_suspect || is_of_16_bits(graph_->tensor(id).type);
  if (!is_suspect) return false;
  if (parts_.empty()) SN_RETURN_IF_ERROR(find_parts());
  for (const InnerPart& part : parts_) {
    if (!values_ || parts_.size() > 1) {
      SN_ASSIGN_OR_RETURN(values_, InnerValues::create(runtime_, graph_, shapes_, part.wanted));
    }
    SN_RETURN_IF_ERROR(values_->run(inputs));
    for (std::size_t l = part.begin; l < part.end; ++l)
      if (passes_range(graph_->layers()[l], inputs)) return true;
  }
  return false;
}

Status OverflowScan::find_parts() {
  SN_ASSIGN_OR_RETURN(const auto inferred, infer_plan(runtime_, graph_, shapes_));
  parts_ = in_parts(graph_->layers().size(), [&](std::size_t l, std::vector<TensorId>& wanted) {
    std::size_t bytes = 0;
    const Layer& layer = graph_->layers()[l];
    for (const auto* ids : {&layer.inputs, &layer.outputs})
      for (const TensorId id : *ids) {
        if (id == kNoTensor || graph_->tensor(id).is_constant() || graph_->is_input(id)) continue;
        wanted.push_back(id);
        bytes += plain_bytes(inferred->tensors[id]);
      }
    return bytes;
  });
  return {};
}

Tensor OverflowScan::value(TensorId id, std::span<const Tensor> inputs) const {
  if (id == kNoTensor) return {};
  if (graph_->tensor(id).is_constant()) return graph_->tensor(id).constant;
  const auto input = std::ranges::find(graph_->inputs, id);
  return input != graph_->inputs.end()
             ? inputs[static_cast<std::size_t>(input - graph_->inputs.begin())]
             : values_->find(id);
}

bool OverflowScan::passes_range(const Layer& layer, std::span<const Tensor> inputs) const {
  const auto any_output = [&](const auto& is_so) {
    return std::ranges::any_of(layer.outputs,
                               [&](TensorId id) { return id != kNoTensor && is_so(id); });
  };
  const bool is_broken = any_output([&](TensorId id) { return !is_finite(value(id, inputs)); });
  const bool has_half =
      any_output([&](TensorId id) { return is_of_16_bits(graph_->tensor(id).type); });
  if (!is_broken && !(has_half && hides_overflow(layer))) return false;
  std::vector<Tensor> wide;
  for (const TensorId id : layer.inputs) {
    const Tensor given = value(id, inputs);
    auto widened = in_float_type(given, wider(given.data_type()), runtime_->allocator());
    if (!widened.ok() || !is_finite(given)) return false;
    wide.push_back(*std::move(widened));
  }
  // A cast gives the narrow type whatever it is given.
  if (layer.type->rounds_to_type && layer.post_ops.empty()) return true;
  Layer part = layer;
  // All stages where the result is not finite; else those whose results are out of sight.
  const std::size_t stages = layer.post_ops.size() + static_cast<std::size_t>(is_broken);
  for (std::size_t ops = 0; ops < stages; ++ops) {
    part.post_ops.assign(layer.post_ops.begin(),
                         layer.post_ops.begin() + static_cast<std::ptrdiff_t>(ops));
    const auto made =
        evaluate(runtime_->registry(), part, wide, runtime_->allocator(), kWideLimits);
    if (!made.ok()) return false;  // ignored: the layer has no wider form
    for (std::size_t o = 0; o < made->size(); ++o)
      if (layer.outputs[o] != kNoTensor &&
          is_beyond((*made)[o], graph_->tensor(layer.outputs[o]).type))
        return true;
  }
  return false;
}

}  // namespace softneuro
