#include "verify/overflow.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"

namespace softneuro {
namespace {

// A layer that is computed once more in a wider type takes no more steps: about a second.
constexpr EvaluateLimits kWideLimits = {.steps = 1e9};

bool is_half(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

// The least number that rounds to infinity.
double infinite_from(DataType type) {
  return type == DataType::float16    ? 65520
         : type == DataType::bfloat16 ? 0x1.ffp127
         : type == DataType::float32  ? 0x1.ffffffp127
                                      : INFINITY;
}

bool is_finite(const Tensor& tensor) {
  if (tensor.empty() || !is_float(tensor.data_type())) return true;
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(load(view, i))) return false;
  return true;
}

// Finite numbers of `wide` that the type does not hold.
bool is_beyond(const Tensor& wide, DataType type) {
  if (!is_float(wide.data_type())) return false;
  const TensorView view = view_of(wide);
  for (std::int64_t i = 0; i < wide.elements(); ++i)
    if (const double x = std::fabs(load(view, i)); std::isfinite(x) && x >= infinite_from(type))
      return true;
  return false;
}

// Reals in the next wider type; others as they are.
Result<Tensor> widened(const Tensor& tensor, Allocator& allocator) {
  if (tensor.empty() || !is_float(tensor.data_type())) return tensor;
  const DataType wider = is_half(tensor.data_type()) ? DataType::float32 : DataType::float64;
  SN_ASSIGN_OR_RETURN(Tensor wide, Tensor::create(wider, tensor.shape(), allocator));
  const TensorView from = view_of(tensor), to = view_of(wide);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) store(to, i, load(from, i));
  return wide;
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
    is_suspect = is_suspect || is_half(graph_->tensor(id).type);
  if (!is_suspect) return false;
  if (parts_.empty()) SN_RETURN_IF_ERROR(find_parts());
  for (const Part& part : parts_) {
    if (!values_ || parts_.size() > 1) {
      SN_ASSIGN_OR_RETURN(values_, InnerValues::create(core_, graph_, shapes_, part.wanted));
    }
    SN_RETURN_IF_ERROR(values_->run(inputs));
    for (std::size_t l = part.begin; l < part.end; ++l)
      if (passes_range(graph_->layers()[l], inputs)) return true;
  }
  return false;
}

Status OverflowScan::find_parts() {
  SN_ASSIGN_OR_RETURN(const auto outline, outline_plan(core_, graph_, shapes_));
  std::size_t bytes = kInnerBytesAtOnce;
  for (std::size_t l = 0; l < graph_->layers().size(); ++l) {
    if (bytes >= kInnerBytesAtOnce) {
      parts_.push_back({l, l, {}});
      bytes = 0;
    }
    const Layer& layer = graph_->layers()[l];
    for (const auto* ids : {&layer.inputs, &layer.outputs})
      for (const TensorId id : *ids) {
        if (id == kNoTensor || graph_->tensor(id).is_constant() || graph_->is_input(id)) continue;
        parts_.back().wanted.push_back(id);
        const PlannedTensor& planned = outline->tensors[id];
        if (planned.storage != Storage::data_dependent)
          bytes += static_cast<std::size_t>(planned.shape.elements()) * size_of(planned.type);
      }
    parts_.back().end = l + 1;
  }
  for (Part& part : parts_) {
    std::ranges::sort(part.wanted);
    part.wanted.erase(std::unique(part.wanted.begin(), part.wanted.end()), part.wanted.end());
  }
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
  const bool has_half = any_output([&](TensorId id) { return is_half(graph_->tensor(id).type); });
  if (!is_broken && !(has_half && hides_overflow(layer))) return false;
  std::vector<Tensor> wide;
  for (const TensorId id : layer.inputs) {
    const Tensor given = value(id, inputs);
    Result<Tensor> wider = widened(given, core_->allocator());
    if (!wider.ok() || !is_finite(given)) return false;
    wide.push_back(*std::move(wider));
  }
  // A cast gives the narrow type whatever it is given.
  if (layer.type->rounds_to_type && layer.post_ops.empty()) return true;
  Layer part = layer;
  // All stages where the result is not finite; else those whose results are out of sight.
  const std::size_t stages = layer.post_ops.size() + static_cast<std::size_t>(is_broken);
  for (std::size_t ops = 0; ops < stages; ++ops) {
    part.post_ops.assign(layer.post_ops.begin(),
                         layer.post_ops.begin() + static_cast<std::ptrdiff_t>(ops));
    const auto made = evaluate(core_->registry(), part, wide, core_->allocator(), kWideLimits);
    if (!made.ok()) return false;  // ignored: the layer has no wider form
    for (std::size_t o = 0; o < made->size(); ++o)
      if (layer.outputs[o] != kNoTensor &&
          is_beyond((*made)[o], graph_->tensor(layer.outputs[o]).type))
        return true;
  }
  return false;
}

}  // namespace softneuro
