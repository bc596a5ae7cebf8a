#include "verify/synthetic_inputs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/plan/plan_impl.h"
#include "passes/adopt_quantization.h"
#include "verify/overflow.h"
#include "verify/random_inputs.h"

namespace softneuro {
namespace {

// What inputs look like whose numbers are only numbers.
enum class Distribution : std::uint8_t { normal, share, image };
constexpr std::array kDistributions = {Distribution::normal, Distribution::share,
                                       Distribution::image};
constexpr std::array kWithZeros = {false, true};  // integers are zero
// Real inputs are made so many times smaller while the net overflows on them: a product of two of
// them shrinks by 256 each time, and the third are small enough to say little about other inputs.
constexpr std::array kScales = {1.0, 0x1p-4, 0x1p-8};
static_assert(1 << (kScales.size() * kWithZeros.size() * kDistributions.size()) == kUsableEnd);
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

// What distinguishes one set of inputs from another.
struct SetKind {
  double scale = 1;
  bool with_zeros = false;
  Distribution distribution = Distribution::normal;
};

void fill(Tensor& tensor, const InputUse& use, const SetKind& kind) {
  TensorSpec spec;
  spec.type = DataType::float32;
  spec.shape = tensor.shape();
  spec.quantization = use.quantization;
  const TensorView y = view_of(tensor);
  const std::int64_t count = tensor.elements();
  if (use.value || !is_float(tensor.data_type())) {
    for (std::int64_t i = 0; i < count; ++i) {
      double value = use.value ? value_of(*use.value, i) : kind.with_zeros ? 0 : 1;
      if (use.positions && *use.positions > 0 && !use.value)
        value = kind.with_zeros ? 0 : static_cast<double>(kStride * i % *use.positions);
      store(y, i, value);
    }
    return;
  }
  spec.type = tensor.data_type();
  fill_random(spec, tensor);
  const bool as_it_is = use.quantization || kind.distribution == Distribution::normal;
  if (as_it_is && kind.scale == 1) return;
  // fill_random gives [−3, 3].
  const bool image = kind.distribution == Distribution::image && looks_like_image(tensor.shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const double normal = load(y, i), share = (normal + 3) / 6;
    const double value = as_it_is                                   ? normal
                         : kind.distribution == Distribution::share ? share
                         : image                                    ? kBrightest * share
                                                                    : kLoud * normal;
    store(y, i, kind.scale * value);
  }
}

// Makes the sets of inputs of one graph, and tries them.
class InputMaker {
 public:
  InputMaker(const std::shared_ptr<Runtime>& runtime, const std::shared_ptr<const Graph>& graph,
             std::span<const Shape> shapes)
      : runtime_(runtime),
        graph_(graph),
        shapes_(shapes),
        uses_(input_uses(*graph)),
        overflow_(runtime, graph, shapes) {}

  Result<std::vector<Tensor>> make(const SetKind& kind) const {
    std::vector<Tensor> set;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const DataType type = graph_->tensor(graph_->inputs[i]).type;
      SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(type, shapes_[i], runtime_->allocator()));
      fill(tensor, uses_[i], kind);
      set.push_back(std::move(tensor));
    }
    return set;
  }

  enum class Trial : std::uint8_t { good, fails, overflows };
  Result<Trial> run(const std::vector<Tensor>& set) {
    if (!session_) {
      SN_ASSIGN_OR_RETURN(const auto plan, build_plan(runtime_, graph_, shapes_));
      SN_ASSIGN_OR_RETURN(session_, Session::create(plan));
    }
    std::vector<Tensor> outputs(graph_->outputs.size());
    if (const Status status = session_->run(set, outputs); !status.ok()) {
      failure_ = status;
      return Trial::fails;
    }
    SN_ASSIGN_OR_RETURN(const bool passes, overflow_.passes_range(set, outputs));
    return passes ? Trial::overflows : Trial::good;
  }

  const Status& failure() const { return failure_; }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Graph> graph_;
  std::span<const Shape> shapes_;
  std::vector<InputUse> uses_;
  std::optional<Session> session_;
  OverflowScan overflow_;
  Status failure_;
};

}  // namespace

std::vector<InputUse> input_uses(const Graph& graph) {
  const auto consumers = graph.consumers();
  std::vector<InputUse> uses;
  for (const TensorId id : graph.inputs) uses.push_back(use_of(graph, consumers, id));
  return uses;
}

void fill_usable(Tensor& tensor, const InputUse& use, bool with_zeros) {
  fill(tensor, use, {1, with_zeros, Distribution::normal});
}

Result<SyntheticInputs> make_synthetic_inputs(const std::shared_ptr<Runtime>& runtime,
                                              const std::shared_ptr<const Graph>& graph,
                                              std::span<const Shape> shapes,
                                              std::optional<std::uint32_t> usable) {
  InputMaker maker(runtime, graph, shapes);
  SyntheticInputs synthetic;
  std::vector<std::vector<Tensor>> overflowing;
  // The first scales of all distributions are the lowest bits.
  const auto bit_of = [](std::size_t scale, std::size_t zeros, std::size_t distribution) {
    return 1u << ((scale * kWithZeros.size() + zeros) * kDistributions.size() + distribution);
  };
  for (std::size_t z = 0; z < kWithZeros.size() && synthetic.sets.empty(); ++z)
    for (std::size_t d = 0; d < kDistributions.size(); ++d)
      for (std::size_t s = 0; s < kScales.size(); ++s) {
        if (usable && (*usable & bit_of(s, z, d)) == 0) continue;
        SN_ASSIGN_OR_RETURN(std::vector<Tensor> set,
                            maker.make({kScales[s], kWithZeros[z], kDistributions[d]}));
        auto trial = InputMaker::Trial::good;
        if (!usable) {
          SN_ASSIGN_OR_RETURN(trial, maker.run(set));
        }
        if (trial == InputMaker::Trial::fails) break;
        if (trial == InputMaker::Trial::good) {
          synthetic.usable |= bit_of(s, z, d);
          synthetic.sets.push_back(std::move(set));
          break;
        }
        if (s + 1 == kScales.size()) overflowing.push_back(std::move(set));
      }
  synthetic.failure = maker.failure();
  synthetic.overflows = synthetic.sets.empty() && !overflowing.empty();
  if (synthetic.overflows) synthetic.sets = std::move(overflowing);
  return synthetic;
}

}  // namespace softneuro
