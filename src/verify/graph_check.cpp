#include "verify/graph_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/departure.h"
#include "verify/arithmetic.h"
#include "verify/layer_run.h"
#include "verify/units.h"

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
constexpr double kLevelShare = constants::kMovedShare;

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.data_type() == b.data_type() && a.shape() == b.shape() &&
         (a.bytes() == 0 || a.data() == b.data() ||
          std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// In floating point, element by element.
std::string difference_of_settled(const Tensor& meant, const Tensor& actual) {
  const auto [count, first] = unit_difference(meant, actual, kSettledUnits, kCancelledUnits);
  if (count == 0) return {};
  return fmt::format("differs in {} of {} elements: {:.9g} instead of {:.9g} at {}", count,
                     meant.elements(), load(view_of(actual), first), load(view_of(meant), first),
                     first);
}

std::string difference_of_integers(const Tensor& meant, const Tensor& actual, bool on_levels) {
  if (same_bits(meant, actual)) return {};
  const TensorView e = view_of(meant), a = view_of(actual);
  std::int64_t moved = 0, far = 0, first = -1;
  for (std::int64_t i = 0; i < meant.elements(); ++i) {
    const double distance = std::fabs(load(e, i) - load(a, i));
    if (distance == 0) continue;
    if (moved++ == 0) first = i;
    far += distance > 1;
  }
  if (on_levels && far == 0 &&
      static_cast<double>(moved) <=
          std::max(1.0, kLevelShare * static_cast<double>(meant.elements())))
    return {};
  return fmt::format("differs in {} of {} elements: {} instead of {} at {}", moved,
                     meant.elements(), load(a, first), load(e, first), first);
}

bool has_non_finite(const Tensor& tensor) {
  if (tensor.empty() || !is_float(tensor.data_type())) return false;
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (!std::isfinite(load(view, i))) return true;
  return false;
}

// A number of `actual` is infinite or NaN where that of `meant` is not.
bool breaks(const Tensor& meant, const Tensor& actual) {
  const TensorView e = view_of(meant), a = view_of(actual);
  for (std::int64_t i = 0; i < meant.elements(); ++i)
    if (std::isfinite(load(e, i)) && !std::isfinite(load(a, i))) return true;
  return false;
}

}  // namespace

GraphCheck::GraphCheck(Runtime& core, const Graph& model, const Graph& after,
                       const std::atomic<bool>* cancel)
    : core_(core),
      model_(model),
      after_(after),
      cancel_(cancel),
      model_producers_(model.producers()),
      meant_(after.tensor_count(), kNoTensor) {
  find_meanings();
  count_uses();
}

void GraphCheck::find_meanings() {
  for (TensorId id = 0; id < after_.tensor_count(); ++id) {
    const TensorDef& def = after_.tensor(id);
    const TensorId meant = model_.find_tensor(def.name);
    if (meant != kNoTensor && !model_.is_constant(meant) && model_.tensor(meant).type == def.type)
      meant_[id] = meant;
  }
  std::vector<std::vector<TensorId>> from(after_.tensor_count());
  for (const Layer& layer : after_.layers()) {
    Place place{&layer, {}, !is_like_the_model(layer)};
    for (const TensorId id : layer.inputs) {
      if (id == kNoTensor || (after_.is_constant(id) && meant_[id] == kNoTensor)) continue;
      if (meant_[id] != kNoTensor)
        place.from.push_back(meant_[id]);
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
    if (meant_[id] == kNoTensor || model_producers_[meant_[id]] < 0) return false;
    const Layer& maker = model_.layers()[static_cast<std::size_t>(model_producers_[meant_[id]])];
    if (twin != nullptr && twin != &maker) return false;
    twin = &maker;
  }
  if (twin == nullptr || twin->type->name != layer.type->name || !(twin->params == layer.params) ||
      twin->post_ops != layer.post_ops || twin->own_inputs != layer.own_inputs ||
      twin->inputs.size() != layer.inputs.size() || twin->outputs.size() != layer.outputs.size() ||
      !layer.subgraphs.empty())
    return false;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (layer.outputs[o] != kNoTensor && meant_[layer.outputs[o]] != twin->outputs[o]) return false;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const TensorId id = layer.inputs[i], other = twin->inputs[i];
    if (id == kNoTensor || other == kNoTensor) {
      if (id != other) return false;
    } else if (model_.is_constant(other)) {
      if (!after_.is_constant(id) ||
          !same_bits(after_.tensor(id).constant, model_.tensor(other).constant))
        return false;
    } else if (meant_[id] != other) {
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
        if (id != kNoTensor && meant_[id] != kNoTensor) ++uses_[meant_[id]];
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
                      run_layer(core_, model_, layer, std::move(inputs), kMostSteps - steps_));
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
  if (meant_[id] != kNoTensor) return pull(meant_[id]);
  const auto made = made_.find(id);
  if (made == made_.end())
    return internal_error("'{}' is read before it is made", after_.tensor(id).name);
  return made->second;
}

std::optional<GraphDeparture> GraphCheck::departs(const Layer& layer, std::string what) const {
  return GraphDeparture{layer.name, layer.sources, std::move(what)};
}

Result<std::optional<GraphDeparture>> GraphCheck::run(std::span<const Tensor> inputs,
                                                      CheckedPart part) {
  return guarded([&]() -> Result<std::optional<GraphDeparture>> {
    begin(inputs);
    part_ = part;
    std::optional<GraphDeparture> departure;
    for (std::size_t i = 0; i < places_.size() && !departure; ++i)
      SN_RETURN_IF_ERROR(check_layer(i, departure));
    return departure;
  });
}

Result<bool> GraphCheck::overflows(std::span<const Tensor> inputs) {
  return guarded([&]() -> Result<bool> {
    begin(inputs);
    while (next_ < model_.layers().size()) {
      const Layer& layer = model_.layers()[next_];
      SN_RETURN_IF_ERROR(run_next());
      for (const TensorId id : layer.outputs)
        if (id != kNoTensor && has_non_finite(values_[id])) return true;
    }
    return false;
  });
}

Status GraphCheck::check_layer(std::size_t index, std::optional<GraphDeparture>& departure) {
  const Place& place = places_[index];
  const Layer& layer = *place.layer;
  SN_RETURN_IF_ERROR(check_constants(layer, departure));
  if (place.changed && !departure) SN_RETURN_IF_ERROR(check_changed(place, departure));
  if (!departure) SN_RETURN_IF_ERROR(follow_drift(place, departure));
  for (const TensorId id : place.from) release(id);
  for (const auto* ids : {&layer.inputs, &layer.outputs})
    for (const TensorId id : *ids)
      if (id != kNoTensor && meant_[id] != kNoTensor) release(meant_[id]);
  return {};
}

// What a pass has computed beforehand, against what the model computes.
Status GraphCheck::check_constants(const Layer& layer, std::optional<GraphDeparture>& departure) {
  for (const TensorId id : layer.inputs) {
    if (id == kNoTensor || !after_.is_constant(id) || meant_[id] == kNoTensor) continue;
    SN_ASSIGN_OR_RETURN(const Tensor meant, pull(meant_[id]));
    const Tensor& actual = after_.tensor(id).constant;
    if (same_bits(meant, actual)) continue;
    const Place place{&layer, {}, true};
    const std::string what =
        !(meant.shape() == actual.shape())
            ? fmt::format("has the shape {} instead of {}", actual.shape().str(),
                          meant.shape().str())
            : difference_of_numbers(place, meant_[id], meant, actual, std::nullopt);
    if (!what.empty())
      departure = departs(layer, fmt::format("the constant '{}' {}", after_.tensor(id).name, what));
    if (departure) return {};
  }
  return {};
}

Status GraphCheck::check_changed(const Place& place, std::optional<GraphDeparture>& departure) {
  SN_RETURN_IF_ERROR(check_cancelled(cancel_));
  const Layer& layer = *place.layer;
  std::vector<Tensor> inputs;
  for (const TensorId id : layer.inputs) {
    SN_ASSIGN_OR_RETURN(Tensor input, value(id));
    inputs.push_back(std::move(input));
  }
  std::vector<Tensor> meant(layer.outputs.size());
  for (std::size_t o = 0; o < layer.outputs.size(); ++o)
    if (layer.outputs[o] != kNoTensor && meant_[layer.outputs[o]] != kNoTensor) {
      SN_ASSIGN_OR_RETURN(meant[o], pull(meant_[layer.outputs[o]]));
    }
  Result<LayerRun> run = run_layer(core_, after_, layer, std::move(inputs), kMostSteps - steps_);
  if (!run.ok()) {
    if (run.status().code() == StatusCode::out_of_memory ||
        run.status().code() == StatusCode::cancelled)
      return run.status();
    departure =
        departs(layer, fmt::format("fails where the model does not: {}", run.status().message()));
    return {};
  }
  steps_ += run->steps;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
    const TensorId id = layer.outputs[o];
    if (id == kNoTensor) continue;
    const Tensor& actual = run->outputs[o];
    if (meant_[id] == kNoTensor) {
      made_[id] = actual;
      continue;
    }
    if (same_bits(meant[o], actual)) continue;
    const std::optional<Region> region =
        find_region(model_, model_producers_, meant_[id], place.from);
    SN_ASSIGN_OR_RETURN(std::string what, difference(place, o, meant[o], actual, region));
    if (!what.empty()) {
      departure = departs(layer, fmt::format("'{}' {}", after_.tensor(id).name, what));
      return {};
    }
    if (region && region->is_settled && !region->rounds_to_levels) drifted_[id] = actual;
  }
  return {};
}

// Where bits differ that arithmetic settles, the layers behind see them, too: what differs by a
// rounding before a floor may differ by one behind it.
Status GraphCheck::follow_drift(const Place& place, std::optional<GraphDeparture>& departure) {
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
                      run_layer(core_, after_, layer, std::move(inputs), kMostSteps - steps_));
  steps_ += run.steps;
  for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
    const TensorId id = layer.outputs[o];
    if (id == kNoTensor) continue;
    SN_ASSIGN_OR_RETURN(const Tensor meant, value(id));
    const Tensor& actual = run.outputs[o];
    if (same_bits(meant, actual) || !(meant.shape() == actual.shape())) continue;
    if (may_jump(layer, after_)) {
      const std::string what = is_float(meant.data_type())
                                   ? difference_of_settled(meant, actual)
                                   : difference_of_integers(meant, actual, false);
      if (!what.empty()) {
        departure =
            departs(layer, fmt::format("'{}' {}, by a rounding before it that the model has not",
                                       after_.tensor(id).name, what));
        return {};
      }
    }
    drifted_[id] = actual;
  }
  return {};
}

Result<std::string> GraphCheck::difference(const Place& place, std::size_t o, const Tensor& meant,
                                           const Tensor& actual,
                                           const std::optional<Region>& region) {
  if (meant.data_type() != actual.data_type())
    return fmt::format("is {} instead of {}", to_string(actual.data_type()),
                       to_string(meant.data_type()));
  if (!(meant.shape() == actual.shape()))
    return fmt::format("has the shape {} instead of {}", actual.shape().str(), meant.shape().str());
  return difference_of_numbers(place, meant_[place.layer->outputs[o]], meant, actual, region);
}

// Of one type and shape.
std::string GraphCheck::difference_of_numbers(const Place& place, TensorId meant_id,
                                              const Tensor& meant, const Tensor& actual,
                                              const std::optional<Region>& region) {
  const bool on_levels = rounds_to_levels(*place.layer) || (region && region->rounds_to_levels);
  if (!is_float(meant.data_type())) return difference_of_integers(meant, actual, on_levels);
  if (breaks(meant, actual)) return "is infinite or NaN where the model's value is a number";
  if (region && region->is_settled && region->may_jump && !on_levels)
    return difference_of_settled(meant, actual);
  if (part_ == CheckedPart::settled) return {};
  const Comparison c = compare_tensors(meant, actual, 0);
  const double size = c.count > 0 ? std::sqrt(c.square / c.count) : 0;
  const double usual = unsuspicious(meant.data_type());
  if (c.error() <= usual * size) return {};
  const std::optional<Tensor> exact =
      region ? run_finer(core_, model_, *region, meant_id, [&](TensorId id) { return values_[id]; })
             : std::nullopt;
  double allowed = kUnknownRounding * usual * size, error = c.error();
  if (exact && exact->shape() == meant.shape()) {
    error = compare_tensors(*exact, actual, 0).error();
    allowed = usual * size + constants::kFloatNoise * compare_tensors(*exact, meant, 0).error();
  }
  if (error <= allowed) return {};
  // A few elements may be on a neighbouring level.
  if (on_levels && compare_tensors(meant, actual, 2 * usual * size).moved <=
                       std::max(1.0, kLevelShare * c.count))
    return {};
  return fmt::format(
      "differs by {:.3g} (RMS, relative; {:.3g} at most), and rounding explains "
      "{:.3g}",
      c.relative(), c.largest, size > 0 ? allowed / size : allowed);
}

}  // namespace softneuro
