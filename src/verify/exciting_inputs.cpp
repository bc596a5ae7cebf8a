#include "verify/exciting_inputs.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "verify/element_check.h"

namespace softneuro {
namespace {

constexpr double kWide = 4, kFaint = 0x1p-10;
// Whole numbers: a sequence that mixes multiples of everything, some below zero.
constexpr std::int64_t kStep = 7919, kFewestWhole = -1024;

double whole(std::int64_t i) {
  return static_cast<double>(kStep * (i % kWholeNumbers) % kWholeNumbers + kFewestWhole);
}

// The operand of a binary layer that is not `x`, where it is a constant that leaves the shape as it
// is.
const Tensor* constant_beside(const Graph& graph, const Layer& layer, TensorId x,
                              const Shape& shape) {
  if (layer.inputs.size() != 2 || layer.inputs[0] == layer.inputs[1]) return nullptr;
  const TensorId other = layer.inputs[0] == x ? layer.inputs[1] : layer.inputs[0];
  if (!graph.is_constant(other)) return nullptr;
  const Tensor& constant = graph.tensor(other).constant;
  const Result<Shape> joint = broadcast(shape, constant.shape());
  return joint.ok() && *joint == shape ? &constant : nullptr;
}

}  // namespace

ExcitingInputs::ExcitingInputs(const Graph& graph, std::span<const Shape> shapes,
                               Allocator& allocator)
    : graph_(graph),
      shapes_(shapes.begin(), shapes.end()),
      allocator_(allocator),
      uses_(input_uses(graph)) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) lines_.push_back(line_of(i));
}

bool ExcitingInputs::is_free(std::size_t input) const {
  return is_float(graph_.tensor(graph_.inputs[input]).type) && !uses_[input].value &&
         !uses_[input].positions && !uses_[input].quantization;
}

bool ExcitingInputs::is_free_integer(std::size_t input) const {
  const DataType type = graph_.tensor(graph_.inputs[input]).type;
  return (type == DataType::int32 || type == DataType::int64) && !uses_[input].value &&
         !uses_[input].positions;
}

std::int64_t ExcitingInputs::rounds_of_whole() const {
  std::int64_t fewest = kWholeNumbers;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (is_free(i) || is_free_integer(i))
      fewest = std::min(fewest, std::max<std::int64_t>(shapes_[i].elements(), 1));
  return (kWholeNumbers + fewest - 1) / fewest;
}

bool ExcitingInputs::has_free_numbers() const {
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (is_free(i)) return true;
  return false;
}

// Follows the input through arithmetic with constants, and through views.
ExcitingInputs::Line ExcitingInputs::line_of(std::size_t input) const {
  if (!is_free(input)) return {};
  const auto count = static_cast<std::size_t>(shapes_[input].elements());
  Line line{std::vector<double>(count, 1), std::vector<double>(count, 0)};
  const auto consumers = graph_.consumers();
  TensorId at = graph_.inputs[input];
  Shape shape = shapes_[input];
  const auto pass = [&](const Layer& layer) {
    if (!layer.post_ops.empty() || layer.outputs[0] == kNoTensor) return false;
    if (layer.type->is_view) return layer.inputs[0] == at;
    BinaryOp op{};
    if (layer.type->name != "binary" || !parse(layer.params.text("op"), op)) return false;
    const bool is_first = layer.inputs[0] == at;
    if (op != BinaryOp::add && op != BinaryOp::sub && op != BinaryOp::mul &&
        (op != BinaryOp::div || !is_first))
      return false;
    const Tensor* const constant = constant_beside(graph_, layer, at, shape);
    if (constant == nullptr) return false;
    const TensorView values = view_of(*constant);
    for (std::size_t i = 0; i < count; ++i) {
      const double c =
          load(values, broadcast_index(static_cast<std::int64_t>(i), shape, constant->shape()));
      const double sign = op == BinaryOp::sub && !is_first ? -1 : 1;
      const double factor = op == BinaryOp::mul ? c : op == BinaryOp::div ? 1 / c : sign;
      const double shift = op == BinaryOp::add               ? c
                           : op == BinaryOp::sub && is_first ? -c
                           : op == BinaryOp::sub             ? c
                                                             : 0;
      line.a[i] *= factor;
      line.b[i] = line.b[i] * factor + shift;
    }
    return true;
  };
  for (bool passed = true; passed;) {
    passed = false;
    for (const std::int32_t index : consumers[at]) {
      const Layer& layer = graph_.layers()[static_cast<std::size_t>(index)];
      if (!pass(layer)) continue;
      const DynamicShape& next = graph_.tensor(layer.outputs[0]).shape;
      if (!next.is_static() || !Shape::fits(static_cast<std::size_t>(next.rank()))) return line;
      at = layer.outputs[0];
      shape = next.to_shape();
      passed = true;
      break;
    }
  }
  return line;
}

void ExcitingInputs::fill(Tensor& tensor, std::size_t input, Excitation kind,
                          std::int64_t round) const {
  const TensorView y = view_of(tensor);
  const std::int64_t first = round * tensor.elements();
  const Line& line = lines_[input];
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double normal = load(y, i);  // within [−3, 3]
    const auto at = static_cast<std::size_t>(i);
    const auto behind = [&](double wanted) {
      const double x = (wanted - line.b[at]) / line.a[at];
      return std::isfinite(x) ? x : 0.0;
    };
    switch (kind) {
      case Excitation::centred:
        store(y, i, behind(normal));
        break;
      case Excitation::whole:
        store(y, i, behind(whole(first + i)));
        break;
      case Excitation::positive:
        store(y, i, (normal + 3) / 6);
        break;
      case Excitation::faint:
        store(y, i, kFaint * normal);
        break;
      case Excitation::plain:
        store(y, i, kWide * normal);
        break;
    }
  }
}

Result<std::vector<Tensor>> ExcitingInputs::make(Excitation kind, bool with_zeros,
                                                 std::int64_t round) const {
  std::vector<Tensor> set;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const DataType type = graph_.tensor(graph_.inputs[i]).type;
    SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(type, shapes_[i], allocator_));
    fill_usable(tensor, uses_[i], with_zeros);
    if (is_free(i)) fill(tensor, i, kind, round);
    if (kind == Excitation::whole && is_free_integer(i) && !with_zeros)
      for (std::int64_t at = 0; at < tensor.elements(); ++at)
        store(view_of(tensor), at, whole(round * tensor.elements() + at));
    set.push_back(std::move(tensor));
  }
  return set;
}

Result<std::vector<Tensor>> ExcitingInputs::scaled(std::span<const Tensor> set,
                                                   int exponent) const {
  std::vector<Tensor> louder;
  for (std::size_t i = 0; i < set.size(); ++i) {
    louder.push_back(set[i]);
    if (!is_free(i)) continue;
    SN_ASSIGN_OR_RETURN(louder.back(), set[i].clone(allocator_));
    const TensorView y = view_of(louder.back());
    for (std::int64_t at = 0; at < set[i].elements(); ++at)
      store(y, at, std::ldexp(load(y, at), exponent));
  }
  return louder;
}

}  // namespace softneuro
