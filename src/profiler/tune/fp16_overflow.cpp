#include "profiler/tune/fp16_overflow.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/routine/layer_cost.h"
#include "cpu/simd/float_span.h"
#include "profiler/measure/constants.h"
#include "verify/float_type.h"
#include "verify/inner_values.h"

namespace softneuro {
namespace {

// The largest number of a format's type, where tensors may reach it.
double largest_of(const Format& format) {
  return is_of_16_bits(format.type) ? float_type_of(format.type).largest : INFINITY;
}

// Infinite where a value is.
double largest_magnitude(const Tensor& floats) {
  float largest = 0;
  for (const float x : floats.values<float>())
    largest = std::fmax(largest, std::fabs(x));  // NaN says nothing
  return static_cast<double>(largest);
}

// The largest sum of a layer's products, whatever the order: Σ|w| of one output by the largest |x|.
// Weights whose order of outputs is not known count as one output. 0: the layer sums no products.
double largest_sum(const Problem& problem, double largest_x) {
  if (problem.layer_inputs < 2 || !problem.inputs[1].constant || problem.inputs[1].value.empty() ||
      layer_cost(problem).macs == 0)
    return 0;
  const TensorView w = view_of(problem.inputs[1].value);
  const Shape& shape = problem.inputs[1].shape;
  if (shape.rank() < 2) return 0;
  const auto& weights = problem.type->weights;
  const int axis = weights && weights->input == 1 ? weights->output_axis(problem.params) : -1;
  const std::int64_t outputs = axis < 0 ? 1 : shape[axis];
  const std::int64_t count = shape.elements(), inner = shape.elements(axis + 1, shape.rank());
  if (count == 0) return 0;
  std::vector<double> sums(static_cast<std::size_t>(outputs));
  for (std::int64_t i = 0; i < count; ++i)
    sums[static_cast<std::size_t>(i / inner % outputs)] += std::fabs(load(w, i));
  return largest_x * *std::max_element(sums.begin(), sums.end());
}

}  // namespace

Result<Fp16Overflow> Fp16Overflow::measure(const std::shared_ptr<Runtime>& runtime,
                                           const std::shared_ptr<const Graph>& graph,
                                           std::span<const Shape> shapes,
                                           std::span<const std::vector<Tensor>> inputs) {
  Fp16Overflow range;
  range.largest_.assign(graph->tensor_count(), 0);
  const auto see = [&](TensorId id, const Tensor& tensor) -> Status {
    if (!is_real(tensor.data_type())) return {};
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(tensor, runtime->allocator()));
    range.largest_[id] = std::max(range.largest_[id], largest_magnitude(floats));
    return {};
  };
  for (const std::vector<Tensor>& set : inputs)
    for (std::size_t i = 0; i < set.size(); ++i) SN_RETURN_IF_ERROR(see(graph->inputs[i], set[i]));
  SN_ASSIGN_OR_RETURN(const auto inferred, infer_plan(runtime, graph, shapes));
  const auto want = [&](std::size_t layer, std::vector<TensorId>& wanted) {
    std::size_t bytes = 0;
    for (const TensorId id : graph->layers()[layer].outputs) {
      if (id == kNoTensor || !is_real(graph->tensor(id).type)) continue;
      wanted.push_back(id);
      bytes += plain_bytes(inferred->tensors[id]);
    }
    return bytes;
  };
  for (const InnerPart& part : in_parts(graph->layers().size(), want)) {
    SN_ASSIGN_OR_RETURN(InnerValues values,
                        InnerValues::create(runtime, graph, shapes, part.wanted));
    for (const std::vector<Tensor>& set : inputs) {
      SN_RETURN_IF_ERROR(values.run(set));
      for (const TensorId id : part.wanted) SN_RETURN_IF_ERROR(see(id, values.find(id)));
    }
  }
  return range;
}

bool Fp16Overflow::fits(const LayerCandidates& entry, const Candidate& candidate) const {
  const Layer& layer = *entry.layer.layer;
  const auto is_beyond = [&](TensorId id, const Format& format) {
    return id != kNoTensor && largest_[id] * constants::kHeadroom > largest_of(format);
  };
  for (std::size_t i = 0; i < layer.inputs.size(); ++i)
    if (is_beyond(layer.inputs[i], candidate.formats.inputs[i])) return false;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (is_beyond(layer.outputs[o], candidate.formats.outputs[o])) return false;
  return true;
}

Result<std::map<DataType, std::size_t>> Fp16Overflow::drop_candidates(
    const RoutineContext& context, const NetProblems& problems, const CandidateRules& rules,
    std::vector<LayerCandidates>& layers) const {
  std::set<std::ptrdiff_t> touched;
  std::map<DataType, std::size_t> dropped;
  for (LayerCandidates& entry : layers) {
    const TensorId x = entry.layer.layer->inputs.empty() ? kNoTensor : entry.layer.layer->inputs[0];
    const double largest_x = x == kNoTensor ? 0 : largest_[x];
    double sum = -1;
    const auto is_unfit = [&](const Candidate& candidate) {
      if (!fits(entry, candidate)) return true;
      if (candidate.routine == nullptr ||
          candidate.routine->facts().accumulator != DataType::float16)
        return false;
      if (sum < 0) sum = largest_sum(entry.layer.problem, largest_x);
      return sum > float_type_of(DataType::float16).largest;
    };
    std::set<DataType> types;
    const auto lost = std::erase_if(entry.candidates, [&](const Candidate& candidate) {
      const bool unfit = is_unfit(candidate);
      if (unfit && candidate.routine != nullptr) types.insert(candidate.routine->descriptor().type);
      return unfit;
    });
    if (lost > 0) touched.insert(&entry - layers.data());  // views, too, which have no routine
    for (const DataType type : types) ++dropped[type];
  }
  const auto is_empty = [](const LayerCandidates& entry) { return entry.candidates.empty(); };
  if (std::any_of(layers.begin(), layers.end(), is_empty)) {
    CandidateRules single = rules;
    single.schemas = {float32_schemas(rules.schemas).front()};
    SN_ASSIGN_OR_RETURN(const std::vector<LayerCandidates> floats,
                        list_candidates(context, problems, single));
    for (std::size_t l = 0; l < layers.size(); ++l)
      if (is_empty(layers[l])) {
        layers[l].candidates = floats[l].candidates;
        layers[l].fallback = true;
      }
  }
  // Those of one problem may have lost different ones by now: each is looked at by itself.
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (touched.contains(static_cast<std::ptrdiff_t>(l)) ||
        touched.contains(static_cast<std::ptrdiff_t>(layers[l].same_as)))
      layers[l].same_as = l;
  return dropped;
}

}  // namespace softneuro
