#include "verify/graph_check.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "verify/arithmetic.h"
#include "verify/layer_run.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// Relative RMS of a difference that needs no explanation: some roundings in sequence.
double unsuspicious(DataType type) {
  switch (type) {
    case DataType::float16:
      return 2e-3;
    case DataType::bfloat16:
      return 1.6e-2;
    default:
      return 1e-5;
  }
}
// Where the model's own rounding is not known, so many times as much is let pass.
constexpr double kUnknownRounding = 10;
// What arithmetic settles may differ by so many units in the last place (operations in another
// order), and where differences cancel by so many of the tensor's largest element.
constexpr double kSettledUnits = 32, kCancelledUnits = 4;
// A model that takes more multiply-adds is not run: about ten seconds on two cores.
constexpr double kMostSteps = 5e11;

// In floating point, element by element.
std::string difference_of_settled(const Tensor& expected, const Tensor& actual) {
  const auto [count, first] = unit_difference(expected, actual, kSettledUnits, kCancelledUnits);
  if (count == 0) return {};
  return fmt::format("differs in {} of {} elements: {:.9g} instead of {:.9g} at {}", count,
                     expected.elements(), load(view_of(actual), first),
                     load(view_of(expected), first), first);
}

std::string difference_of_integers(const Tensor& expected, const Tensor& actual, bool on_levels) {
  if (same_bits(expected, actual)) return {};
  const TensorView e = view_of(expected), a = view_of(actual);
  std::int64_t moved = 0, far = 0, first = -1;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double distance = std::fabs(load(e, i) - load(a, i));
    if (distance == 0) continue;
    if (moved++ == 0) first = i;
    far += distance > 1;
  }
  if (on_levels && far == 0 &&
      static_cast<double>(moved) <=
          std::max(1.0, kMovedShare * static_cast<double>(expected.elements())))
    return {};
  return fmt::format("differs in {} of {} elements: {} instead of {} at {}", moved,
                     expected.elements(), load(a, first), load(e, first), first);
}

// A number of `actual` is infinite or NaN where that of `expected` is not.
bool breaks(const Tensor& expected, const Tensor& actual) {
  const TensorView e = view_of(expected), a = view_of(actual);
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (std::isfinite(load(e, i)) && !std::isfinite(load(a, i))) return true;
  return false;
}

}  // namespace

GraphCheck::GraphCheck(Runtime& runtime, const Graph& model, const Graph& after,
                       const std::atomic<bool>* cancel)
    : runtime_(runtime),
      model_(model),
      after_(after),
      cancel_(cancel),
      model_producers_(model.producers()),
      model_ids_(after.tensor_count(), kNoTensor) {
  match_tensors();
  count_uses();
}

void GraphCheck::match_tensors() {
  for (TensorId id = 0; id < after_.tensor_count(); ++id) {
    const TensorDef& def = after_.tensor(id);
    const TensorId found = model_.find_tensor(def.name);
    if (found != kNoTensor && !model_.is_constant(found) && model_.tensor(found).type == def.type)
      model_ids_[id] = found;
  }
  std::vector<std::vector<TensorId>> from(after_.tensor_count());
  for (const Layer& layer : after_.layers()) {
    Place place{&layer, {}, !is_like_the_model(layer)};
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor || (after_.is_constant(id) && model_ids_[id] == kNoTensor)) continue;
      if (model_ids_[id] != kNoTensor)
        place.from.push_back(model_ids_[id]);
      else
        place.from.insert(place.from.end(), from[id].begin(), from[id].end());
    }
    std::sort(place.from.begin(), place.from.end());
    place.from.erase(std::unique(place.from.begin(), place.from.end()), place.from.end());
    for (const TensorId id : layer.outputs)
      if (id != kNoTensor) from[id] = place.from;
    places_.push_back(std::move(place));
  }
}

// The model has the same layer, on the same tensors, for all outputs.
bool GraphCheck::is_like_the_model(const Layer& layer) const {
  const Layer* twin = nullptr;
  for (const TensorId id : layer.outputs) {
    if (id == kNoTensor) continue;
    if (model_ids_[id] == kNoTensor || model_producers_[model_ids_[id]] < 0) return false;
    const Layer& maker =
        model_.layers()[static_cast<std::size_t>(model_producers_[model_ids_[id]])];
    if (twin != nullptr && twin != &maker) return false;
    twin = &maker;
  }
  if (twin == nullptr || twin->type->name != layer.type->name || !(twin->params == layer.params) ||
      twin->post_ops != layer.post_ops || twin->layer_inputs != layer.layer_inputs ||
      twin->inputs.size() != layer.inputs.size() || twin->outputs.size() != layer.outputs.size() ||
      !layer.subgraphs.empty())
    return false;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (layer.outputs[o] != kNoTensor && model_ids_[layer.outputs[o]] != twin->outputs[o])
      return false;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const TensorId id = layer.inputs[i], other = twin->inputs[i];
    if (id == kNoTensor || other == kNoTensor) {
      if (id != other) return false;
    } else if (model_.is_constant(other)) {
      if (!after_.is_constant(id) ||
          !same_bits(after_.tensor(id).constant, model_.tensor(other).constant))
        return false;
    } else if (model_ids_[id] != other) {
      return false;
    }
  }
  return true;
}

void GraphCheck::count_uses() {
  uses_.assign(model_.tensor_count(), 0);
  for (const Layer& layer : model_.layers())
    for (const TensorId id : layer.inputs)
      if (id != kNoTensor) ++uses_[id];
  for (const Place& place : places_) {
    for (const TensorId id : place.from) ++uses_[id];
    for (const auto* ids : {&place.layer->inputs, &place.layer->outputs})
      for (const TensorId id : *ids)
        if (id != kNoTensor && model_ids_[id] != kNoTensor) ++uses_[model_ids_[id]];
  }
}

void GraphCheck::begin(std::span<const Tensor> inputs) {
  left_ = uses_;
  values_.assign(model_.tensor_count(), Tensor());
  for (std::size_t i = 0; i < inputs.size(); ++i) values_[model_.inputs[i]] = inputs[i];
  next_ = 0;
  made_.clear();
  drifted_.clear();
  steps_ = 0;
}

Status GraphCheck::run_next() {
  SN_RETURN_IF_ERROR(check_cancelled(cancel_));
  const Layer& layer = model_.layers()[next_++];
  std::vector<Tensor> inputs;
  for (const TensorId id : layer.inputs)
    inputs.push_back(id == kNoTensor          ? Tensor()
                     : model_.is_constant(id) ? model_.tensor(id).constant
                                              : values_[id]);
  SN_ASSIGN_OR_RETURN(LayerRun run,
                      run_layer(runtime_, model_, layer, std::move(inputs), kMostSteps - steps_));
  steps_ += run.steps;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (const TensorId id = layer.outputs[o]; id != kNoTensor && left_[id] > 0)
      values_[id] = run.outputs[o];
  for (const TensorId id : layer.inputs) release(id);
  return {};
}

void GraphCheck::release(TensorId id) {
  if (id != kNoTensor && --left_[id] <= 0) values_[id] = Tensor();
}

// The model's value; runs it as far as that takes.
Result<Tensor> GraphCheck::pull(TensorId id) {
  if (model_.is_constant(id)) return model_.tensor(id).constant;
  while (values_[id].empty()) {
    const auto maker = model_producers_[id];
    if (maker < 0 || next_ > static_cast<std::size_t>(maker))
      return internal_error("the value of '{}' is gone", model_.tensor(id).name);
    SN_RETURN_IF_ERROR(run_next());
  }
  return values_[id];
}

// What a tensor of the graph should be.
Result<Tensor> GraphCheck::value(TensorId id) {
  if (id == kNoTensor) return Tensor();
  if (after_.is_constant(id)) return after_.tensor(id).constant;
  if (model_ids_[id] != kNoTensor) return pull(model_ids_[id]);
  const auto made = made_.find(id);
  if (made == made_.end())
    return internal_error("'{}' is read before it is made", after_.tensor(id).name);
  return made->second;
}

std::optional<GraphMismatch> GraphCheck::mismatch_at(const Layer& layer, std::string what) const {
  return GraphMismatch{layer.name, layer.sources, std::move(what)};
}

Result<std::optional<GraphMismatch>> GraphCheck::run(std::span<const Tensor> inputs,
                                                     CheckedPart part) {
  return guarded([&]() -> Result<std::optional<GraphMismatch>> {
    begin(inputs);
    part_ = part;
    std::optional<GraphMismatch> mismatch;
    for (std::size_t i = 0; i < places_.size() && !mismatch; ++i)
      SN_RETURN_IF_ERROR(check_layer(i, mismatch));
    return mismatch;
  });
}

Result<bool> GraphCheck::overflows(std::span<const Tensor> inputs) {
  return guarded([&]() -> Result<bool> {
    begin(inputs);
    while (next_ < model_.layers().size()) {
      const Layer& layer = model_.layers()[next_];
      SN_RETURN_IF_ERROR(run_next());
      for (const TensorId id : layer.outputs)
        if (id != kNoTensor && !is_finite(values_[id])) return true;
    }
    return false;
  });
}

Status GraphCheck::check_layer(std::size_t index, std::optional<GraphMismatch>& mismatch) {
  const Place& place = places_[index];
  const Layer& layer = *place.layer;
  SN_RETURN_IF_ERROR(check_constants(layer, mismatch));
  if (place.changed && !mismatch) SN_RETURN_IF_ERROR(check_changed(place, mismatch));
  if (!mismatch) SN_RETURN_IF_ERROR(follow_drift(place, mismatch));
  for (const TensorId id : place.from) release(id);
  for (const auto* ids : {&layer.inputs, &layer.outputs})
    for (const TensorId id : *ids)
      if (id != kNoTensor && model_ids_[id] != kNoTensor) release(model_ids_[id]);
  return {};
}

// What a pass has computed beforehand, against what the model computes.
Status GraphCheck::check_constants(const Layer& layer, std::optional<GraphMismatch>& mismatch) {
  for (const TensorId id : layer.inputs) {
    if (id == kNoTensor || !after_.is_constant(id) || model_ids_[id] == kNoTensor) continue;
    SN_ASSIGN_OR_RETURN(const Tensor expected, pull(model_ids_[id]));
    const Tensor& actual = after_.tensor(id).constant;
    if (same_bits(expected, actual)) continue;
    const Place place{&layer, {}, true};
    const std::string what = difference(place, model_ids_[id], expected, actual, std::nullopt);
    if (!what.empty())
      mismatch =
          mismatch_at(layer, fmt::format("the constant '{}' {}", after_.tensor(id).name, what));
    if (mismatch) return {};
  }
  return {};
}

Status GraphCheck::check_changed(const Place& place, std::optional<GraphMismatch>& mismatch) {
  SN_RETURN_IF_ERROR(check_cancelled(cancel_));
  const Layer& layer = *place.layer;
  std::vector<Tensor> inputs;
  for (const TensorId id : layer.inputs) {
    SN_ASSIGN_OR_RETURN(Tensor input, value(id));
    inputs.push_back(std::move(input));
  }
  std::vector<Tensor> expected(layer.outputs.size());
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (layer.outputs[o] != kNoTensor && model_ids_[layer.outputs[o]] != kNoTensor) {
      SN_ASSIGN_OR_RETURN(expected[o], pull(model_ids_[layer.outputs[o]]));
    }
  Result<LayerRun> run = run_layer(runtime_, after_, layer, std::move(inputs), kMostSteps - steps_);
  if (!run.ok()) {
    if (run.status().code() == StatusCode::out_of_memory ||
        run.status().code() == StatusCode::cancelled)
      return run.status();
    mismatch = mismatch_at(
        layer, fmt::format("fails where the model does not: {}", run.status().message()));
    return {};
  }
  steps_ += run->steps;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
    const TensorId id = layer.outputs[o];
    if (id == kNoTensor) continue;
    const Tensor& actual = run->outputs[o];
    if (model_ids_[id] == kNoTensor) {
      made_[id] = actual;
      continue;
    }
    if (same_bits(expected[o], actual)) continue;
    const std::optional<Region> region =
        find_region(model_, model_producers_, model_ids_[id], place.from);
    const std::string what = difference(place, model_ids_[id], expected[o], actual, region);
    if (!what.empty()) {
      mismatch = mismatch_at(layer, fmt::format("'{}' {}", after_.tensor(id).name, what));
      return {};
    }
    if (region && region->is_settled && !region->rounds_to_levels) drifted_[id] = actual;
  }
  return {};
}

// Where bits differ that arithmetic settles, the layers behind see them, too: what differs by a
// rounding before a floor may differ by one behind it.
Status GraphCheck::follow_drift(const Place& place, std::optional<GraphMismatch>& mismatch) {
  const Layer& layer = *place.layer;
  const bool reads = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                 [&](TensorId id) { return drifted_.count(id) > 0; });
  if (!reads || !is_settled(layer) || rounds_to_levels(layer)) return {};
  std::vector<Tensor> inputs;
  for (const TensorId id : layer.inputs) {
    const auto drifted = drifted_.find(id);
    SN_ASSIGN_OR_RETURN(Tensor input,
                        drifted != drifted_.end() ? Result<Tensor>(drifted->second) : value(id));
    inputs.push_back(std::move(input));
  }
  SN_ASSIGN_OR_RETURN(LayerRun run,
                      run_layer(runtime_, after_, layer, std::move(inputs), kMostSteps - steps_));
  steps_ += run.steps;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
    const TensorId id = layer.outputs[o];
    if (id == kNoTensor) continue;
    SN_ASSIGN_OR_RETURN(const Tensor expected, value(id));
    const Tensor& actual = run.outputs[o];
    if (same_bits(expected, actual) || !(expected.shape() == actual.shape())) continue;
    if (may_jump(layer, after_)) {
      const std::string what = is_float(expected.data_type())
                                   ? difference_of_settled(expected, actual)
                                   : difference_of_integers(expected, actual, false);
      if (!what.empty()) {
        mismatch = mismatch_at(
            layer, fmt::format("'{}' {}, by a rounding before it that the model has not",
                               after_.tensor(id).name, what));
        return {};
      }
    }
    drifted_[id] = actual;
  }
  return {};
}

// In one phrase; empty: rounding explains it. `model_id`: the model's tensor.
std::string GraphCheck::difference(const Place& place, TensorId model_id, const Tensor& expected,
                                   const Tensor& actual, const std::optional<Region>& region) {
  if (expected.data_type() != actual.data_type())
    return fmt::format("is {} instead of {}", to_string(actual.data_type()),
                       to_string(expected.data_type()));
  if (!(expected.shape() == actual.shape()))
    return fmt::format("has the shape {} instead of {}", actual.shape().str(),
                       expected.shape().str());
  const bool on_levels = rounds_to_levels(*place.layer) || (region && region->rounds_to_levels);
  if (!is_float(expected.data_type())) return difference_of_integers(expected, actual, on_levels);
  if (breaks(expected, actual)) return "is infinite or NaN where the model's value is a number";
  if (region && region->is_settled && region->may_jump && !on_levels)
    return difference_of_settled(expected, actual);
  if (part_ == CheckedPart::settled) return {};
  const Comparison c = compare_tensors(expected, actual, 0);
  const double size = c.count > 0 ? std::sqrt(c.square / c.count) : 0;
  const double usual = unsuspicious(expected.data_type());
  if (c.error() <= usual * size) return {};
  const std::optional<Tensor> exact = region ? run_finer(runtime_, model_, *region, model_id,
                                                         [&](TensorId id) { return values_[id]; })
                                             : std::nullopt;
  double allowed = kUnknownRounding * usual * size, error = c.error();
  if (exact && exact->shape() == expected.shape()) {
    error = compare_tensors(*exact, actual, 0).error();
    allowed = usual * size + kFloatNoise * compare_tensors(*exact, expected, 0).error();
  }
  if (error <= allowed) return {};
  // A few elements may be on a neighbouring level.
  if (on_levels && compare_tensors(expected, actual, 2 * usual * size).moved <=
                       std::max(1.0, kMovedShare * c.count))
    return {};
  return fmt::format(
      "differs by {:.3g} (RMS, relative; {:.3g} at most), and rounding explains "
      "{:.3g}",
      c.relative(), c.largest, size > 0 ? allowed / size : allowed);
}

}  // namespace softneuro
