#include "verify/made_inputs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/plan/plan_impl.h"
#include "passes/adopt_quantization.h"
#include "profiler/measure/kernel_bench.h"

namespace softneuro {
namespace {

// What inputs look like whose numbers are only numbers.
enum class Distribution : std::uint8_t { normal, share, image };
constexpr std::array kDistributions = {Distribution::normal, Distribution::share,
                                       Distribution::image};
constexpr std::array kWithZeros = {false, true};  // integers are zero
static_assert(1 << (kDistributions.size() * kWithZeros.size()) == kMadeInputsEnd);
constexpr double kBrightest = 255;      // of an image in bytes
constexpr std::int64_t kStride = 7919;  // between positions that are picked: a prime, to mix them
constexpr double kLoud = 4;             // widens `normal` for inputs that are no images

// Element i of an input whose values decide about shapes.
double value_of(ValueKind kind, std::int64_t i) {
  switch (kind) {
    case ValueKind::offset:
      return 0;
    case ValueKind::limit:
      return 4;
    case ValueKind::end:
      return std::numeric_limits<std::int32_t>::max();
    case ValueKind::axes:
      return static_cast<double>(i);
    case ValueKind::shape:
      return i == 0 ? -1 : 1;
    case ValueKind::size:
      break;
  }
  return 1;
}

// Layers behind which a tensor still holds the input's numbers.
bool hands_on(const Layer& layer) {
  return layer.type->is_view || layer.type->rounds_to_type ||
         layer.type->elements == ElementSource::all_inputs;
}

InputUse use_of(const Graph& graph, const std::vector<std::vector<std::int32_t>>& consumers,
                TensorId input) {
  InputUse use;
  std::vector<TensorId> reached = {input};
  for (std::size_t at = 0; at < reached.size(); ++at)
    for (const std::int32_t index : consumers[reached[at]]) {
      const Layer& layer = graph.layers()[static_cast<std::size_t>(index)];
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        if (layer.inputs[i] != reached[at]) continue;
        if (const ValueInput* value = layer.type->value_input(i); value != nullptr) {
          use.value = value->kind;
        } else if (static_cast<int>(i) == layer.type->index_input) {
          const DynamicShape& data = graph.tensor(layer.inputs[0]).shape;
          if (!data.ranked() || data.rank() == 0) continue;
          const Result<int> axis = normalize_axis(layer.params.integer("axis", 0), data.rank());
          if (axis.ok() && data[*axis].known())
            use.positions = std::min(use.positions.value_or(data[*axis].value), data[*axis].value);
        } else if (is_quantize(layer) && i == 0) {
          use.quantization = quantization_of(graph, layer);
        }
      }
      if (hands_on(layer) && layer.outputs[0] != kNoTensor &&
          std::find(reached.begin(), reached.end(), layer.outputs[0]) == reached.end())
        reached.push_back(layer.outputs[0]);
    }
  return use;
}

bool looks_like_image(const Shape& shape) {
  const auto is_colour = [](std::int64_t size) { return size == 1 || size == 3 || size == 4; };
  return shape.rank() == 4 && (is_colour(shape[1]) || is_colour(shape[3]));
}

void fill(Tensor& tensor, const InputUse& use, Distribution distribution, bool with_zeros) {
  TensorSpec spec;
  spec.type = DataType::float32;
  spec.shape = tensor.shape();
  spec.quantization = use.quantization;
  const TensorView y = view_of(tensor);
  const std::int64_t count = tensor.elements();
  if (use.value || !is_float(tensor.data_type())) {
    for (std::int64_t i = 0; i < count; ++i) {
      double value = use.value ? value_of(*use.value, i) : with_zeros ? 0 : 1;
      if (use.positions && *use.positions > 0 && !use.value)
        value = with_zeros ? 0 : static_cast<double>(kStride * i % *use.positions);
      store(y, i, value);
    }
    return;
  }
  spec.type = tensor.data_type();
  fill_random(spec, tensor);
  if (use.quantization || distribution == Distribution::normal) return;
  // fill_random gives [−3, 3].
  const bool image = distribution == Distribution::image && looks_like_image(tensor.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const double normal = load(y, i), share = (normal + 3) / 6;
    store(y, i,
          distribution == Distribution::share ? share
          : image                             ? kBrightest * share
                                              : kLoud * normal);
  }
}

}  // namespace

std::vector<InputUse> input_uses(const Graph& graph) {
  const auto consumers = graph.consumers();
  std::vector<InputUse> uses;
  for (const TensorId id : graph.inputs) uses.push_back(use_of(graph, consumers, id));
  return uses;
}

void fill_usable(Tensor& tensor, const InputUse& use, bool with_zeros) {
  fill(tensor, use, Distribution::normal, with_zeros);
}

Result<MadeInputs> make_inputs(const std::shared_ptr<Runtime>& core,
                               const std::shared_ptr<const Graph>& graph,
                               std::span<const Shape> shapes,
                               std::optional<std::uint32_t> runnable) {
  const std::vector<InputUse> uses = input_uses(*graph);
  std::optional<Session> session;
  MadeInputs made;
  const auto runs = [&](const std::vector<Tensor>& set) -> Result<bool> {
    if (!session) {
      SN_ASSIGN_OR_RETURN(const auto plan, build_plan(core, graph, shapes));
      SN_ASSIGN_OR_RETURN(session, Session::create(plan));
    }
    std::vector<Tensor> outputs(graph->outputs.size());
    const Status status = session->run(set, outputs);
    if (!status.ok()) made.failure = status;
    return status.ok();
  };
  std::uint32_t bit = 1;
  for (const bool with_zeros : kWithZeros) {
    for (const Distribution distribution : kDistributions) {
      const std::uint32_t own = bit;
      bit <<= 1;
      if (runnable && (*runnable & own) == 0) continue;
      std::vector<Tensor> set;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const DataType type = graph->tensor(graph->inputs[i]).type;
        SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(type, shapes[i], core->allocator()));
        fill(tensor, uses[i], distribution, with_zeros);
        set.push_back(std::move(tensor));
      }
      bool is_runnable = runnable.has_value();
      if (!is_runnable) {
        SN_ASSIGN_OR_RETURN(is_runnable, runs(set));
      }
      if (!is_runnable) continue;
      made.runnable |= own;
      made.sets.push_back(std::move(set));
    }
    if (!made.sets.empty()) break;
  }
  return made;
}

}  // namespace softneuro
