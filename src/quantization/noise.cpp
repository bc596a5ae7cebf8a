#include "quantization/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/routine/evaluate.h"
#include "core/routine/format.h"
#include "cpu/simd/float_span.h"
#include "net/net_access.h"
#include "quantization/histogram.h"

namespace softneuro {
namespace {

bool is_quantized(const TensorDef& def) {
  return is_real(def.type) && !def.is_constant() && def.quantization && def.quantization->axis < 0;
}

// Rounded to the levels of q, still in float32.
Result<Tensor> rounded(const Tensor& tensor, const Quantization& q) {
  SN_ASSIGN_OR_RETURN(const Tensor from, as_float32(tensor, default_allocator()));
  SN_ASSIGN_OR_RETURN(Tensor to, Tensor::create(DataType::float32, tensor.shape()));
  const float low = q.is_signed ? -128.0f : 0.0f;
  const auto zero = static_cast<float>(q.zero_points[0]);
  const std::span<const float> x = from.values<float>();
  const std::span<float> y = to.mutable_values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float level = std::clamp(std::nearbyint(x[i] / q.scales[0]) + zero, low, low + 255);
    y[i] = q.scales[0] * (level - zero);
  }
  return to;
}

// Weights per output channel, as qint8 routines round them.
Result<Tensor> rounded_weights(const Tensor& tensor, int output_axis) {
  SN_ASSIGN_OR_RETURN(const Tensor from, as_float32(tensor, default_allocator()));
  SN_ASSIGN_OR_RETURN(Tensor to, from.clone());
  const Shape& shape = tensor.shape();
  const std::int64_t channels = shape[output_axis];
  const std::int64_t inner = shape.elements(output_axis + 1, shape.rank());
  std::vector<float> largest(static_cast<std::size_t>(channels), 0.0f);
  const std::span<float> values = to.mutable_values<float>();
  const auto channel = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
  };
  for (std::size_t i = 0; i < values.size(); ++i)
    largest[channel(i)] = std::fmax(largest[channel(i)], std::fabs(values[i]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = largest[channel(i)] / 127;
    if (scale > 0) values[i] = scale * std::nearbyint(values[i] / scale);
  }
  return to;
}

// The axis of the outputs in a layer's weights (input 1); −1 if it has none.
int weights_axis(const Graph& graph, const Layer& layer) {
  if (layer.own_inputs < 2 || layer.inputs[1] == kNoTensor ||
      !graph.tensor(layer.inputs[1]).is_constant())
    return -1;
  const std::string& name = layer.type->name;
  if (name == "dense") return layer.params.integer("transpose_weights") != 0 ? 0 : 1;
  return name == "conv1" || name == "conv2" || name == "conv3" ? 0 : -1;
}

class NoiseMeter {
 public:
  NoiseMeter(const Net& net, const Graph& graph) : net_(net), graph_(graph) {
    for (const Layer& layer : graph.layers()) {
      if (!is_candidate(layer)) continue;
      layers_.push_back(&layer);
      for (const TensorId id : layer.inputs)
        if (id != kNoTensor && !graph.tensor(id).is_constant() && !graph.is_input(id))
          needed_.push_back(graph.tensor(id).name);
      needed_.push_back(graph.tensor(layer.outputs[0]).name);
    }
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    error_.resize(layers_.size());
    power_.resize(layers_.size());
  }

  Status add(const NamedTensors& sample) {
    if (layers_.empty()) return {};
    SN_ASSIGN_OR_RETURN(const NamedTensors values, net_.run(sample, needed_));
    for (std::size_t i = 0; i < layers_.size(); ++i)
      SN_RETURN_IF_ERROR(
          add(i, sample, values).with_context(fmt::format("layer '{}'", layers_[i]->name)));
    return {};
  }

  std::vector<LayerNoise> result() const {
    std::vector<LayerNoise> noises;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      LayerNoise& noise = noises.emplace_back();
      noise.layer = layers_[i]->id;
      noise.name = layers_[i]->name;
      if (error_[i] > 0)
        noise.noise =
            power_[i] > 0 ? error_[i] / power_[i] : std::numeric_limits<double>::infinity();
    }
    std::stable_sort(noises.begin(), noises.end(),
                     [](const LayerNoise& a, const LayerNoise& b) { return a.noise > b.noise; });
    return noises;
  }

 private:
  bool is_candidate(const Layer& layer) const {
    if (layer.outputs.empty() || layer.outputs[0] == kNoTensor || !layer.subgraphs.empty() ||
        layer.type->is_view || !is_quantized(graph_.tensor(layer.outputs[0])))
      return false;
    return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](TensorId id) {
      return id != kNoTensor && is_quantized(graph_.tensor(id));
    });
  }

  // The inputs of a layer as it takes them in 8 bits.
  Result<Tensor> input(const Layer& layer, std::size_t i, const NamedTensors& sample,
                       const NamedTensors& values) const {
    const TensorId id = layer.inputs[i];
    if (id == kNoTensor) return Tensor();
    const TensorDef& def = graph_.tensor(id);
    if (def.is_constant()) {
      const int axis = weights_axis(graph_, layer);
      if (i != 1 || axis < 0 || def.type != DataType::float32) return def.constant;
      return rounded_weights(def.constant, axis);
    }
    const NamedTensors& place = graph_.is_input(id) ? sample : values;
    const auto found = place.find(def.name);
    if (found == place.end()) return internal_error("no value of tensor '{}'", def.name);
    if (def.type != DataType::float32 || !is_quantized(def)) return found->second;
    return rounded(found->second, *def.quantization);
  }

  Status add(std::size_t index, const NamedTensors& sample, const NamedTensors& values) {
    const Layer& layer = *layers_[index];
    const TensorDef& y = graph_.tensor(layer.outputs[0]);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      SN_ASSIGN_OR_RETURN(Tensor tensor, input(layer, i, sample, values));
      inputs.push_back(std::move(tensor));
    }
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                        evaluate(NetAccess::registry(net_), layer, inputs));
    SN_ASSIGN_OR_RETURN(const Tensor actual, rounded(outputs[0], *y.quantization));
    SN_ASSIGN_OR_RETURN(const Tensor expected,
                        as_float32(values.find(y.name)->second, default_allocator()));
    const std::span<const float> a = actual.values<float>(), e = expected.values<float>();
    for (std::size_t i = 0; i < std::min(a.size(), e.size()); ++i) {
      const double difference = static_cast<double>(a[i]) - static_cast<double>(e[i]);
      error_[index] += difference * difference;
      power_[index] += static_cast<double>(e[i]) * static_cast<double>(e[i]);
    }
    return {};
  }

  const Net& net_;
  const Graph& graph_;
  std::vector<const Layer*> layers_;
  std::vector<std::string> needed_;
  std::vector<double> error_, power_;  // sums of squares
};

}  // namespace

double LayerNoise::signal_to_noise() const {
  return noise > 0 ? -10 * std::log10(noise) : std::numeric_limits<double>::infinity();
}

Result<std::vector<LayerNoise>> measure_layer_noise(const Net& net, const Graph& graph,
                                                    const std::vector<NamedTensors>& samples) {
  if (samples.empty()) return invalid_argument("layer noise: no sample was given");
  NoiseMeter meter(net, graph);
  for (const NamedTensors& sample : samples) SN_RETURN_IF_ERROR(meter.add(sample));
  return meter.result();
}

}  // namespace softneuro
