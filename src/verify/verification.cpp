#include "verify/verification.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/workers.h"
#include "core/plan/single_run.h"
#include "core/routine/evaluate.h"
#include "core/routine/layer_cost.h"
#include "verify/float_type.h"
#include "verify/inner_values.h"
#include "verify/step_verifier.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

// Whether the plan rounds to 16 bits what the model does not.
bool has_16_bits(const PlanImpl& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.routine != nullptr && is_of_16_bits(step.routine->descriptor().type);
  });
}

class Verifier {
 public:
  explicit Verifier(const VerificationJob& job)
      : job_(job),
        plan_(impl_of(*job.tuned)),
        graph_(*plan_.graph),
        verifier_(*job.runtime, plan_, job.is_same_graph),
        alias_(graph_.tensor_count()) {
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      alias_[id] = id;
      model_ids_.push_back(find_in_model(graph_.tensor(id)));
    }
    match_outputs();
    std::vector<bool> made(graph_.tensor_count(), false);
    for (const Step& step : plan_.steps)
      for (const TensorId id : step.outputs)
        if (id != kNoTensor) made[id] = true;
    for (const Layer& layer : graph_.layers()) {
      if (layer.type->is_adapt()) {
        const TensorId x = layer.inputs[0], y = layer.outputs[0];
        alias_[y] = x;
        if (model_ids_[x] == kNoTensor) model_ids_[x] = model_ids_[y];
      } else if (layer.type->is_view && !made[layer.outputs[0]]) {
        alias_[layer.outputs[0]] = layer.inputs[0];
      }
    }
    find_parts();
  }

  std::vector<std::string> unmatched() const {
    std::vector<std::string> layers;
    for (const Step& step : plan_.steps)
      if (!step.layer->type->is_adapt() &&
          std::any_of(step.outputs.begin(), step.outputs.end(), [&](TensorId id) {
            return id != kNoTensor && model_ids_[root_of(id)] == kNoTensor;
          }))
        layers.push_back(step.layer->name);
    return layers;
  }

  // Gives the error of the plan's worst real output.
  Result<double> check(std::span<const Tensor> inputs) {
    inputs_ = inputs;
    SN_RETURN_IF_ERROR(check_steps());
    if (!tuned_) {
      SN_ASSIGN_OR_RETURN(tuned_, Session::create(job_.tuned));
    }
    std::vector<Tensor> outputs(plan_.outputs.size());
    SN_RETURN_IF_ERROR(tuned_->run(inputs, outputs));
    if (!std::exchange(is_whole_checked_, true)) SN_RETURN_IF_ERROR(check_whole(outputs));
    return error_of(outputs);
  }

 private:
  // Outputs correspond by their place, whatever their names.
  void match_outputs() {
    const std::vector<TensorId>& outputs = job_.model->outputs;
    for (std::size_t o = 0; o < std::min(outputs.size(), graph_.outputs.size()); ++o) {
      const TensorId id = graph_.outputs[o];
      if (model_ids_[id] == kNoTensor && corresponds(outputs[o], graph_.tensor(id)))
        model_ids_[id] = outputs[o];
    }
  }

  // Of steps, and the model's tensors that are looked at.
  void find_parts() {
    parts_ = in_parts(plan_.steps.size(), [&](std::size_t s, std::vector<TensorId>& wanted) {
      std::size_t bytes = 0;
      for (const auto* ids : {&plan_.steps[s].inputs, &plan_.steps[s].outputs})
        for (const TensorId id : *ids) bytes += want(id, wanted);
      return bytes;
    });
    if (parts_.empty()) parts_.emplace_back();
  }

  // Every step by itself, on the model's values.
  Status check_steps() {
    made_.clear();
    for (const InnerPart& part : parts_) {
      SN_RETURN_IF_ERROR(read(part));
      for (std::size_t s = part.begin; s < part.end; ++s)
        SN_RETURN_IF_ERROR(check_step(plan_.steps[s]));
    }
    return {};
  }

  Status read(const InnerPart& part) {
    if (planned_ != &part) {
      std::shared_ptr<const Plan> packed;  // what all parts pack
      if (values_) packed = values_->plan();
      values_.reset();
      SN_ASSIGN_OR_RETURN(values_,
                          InnerValues::create(job_.runtime, job_.model, job_.shapes, part.wanted));
      planned_ = &part;
    }
    return values_->run(inputs_);
  }

  // The whole plan, which gave `together`, against its steps one after the other.
  Status check_whole(std::span<const Tensor> together) {
    std::vector<Tensor> made(graph_.tensor_count());
    for (const Step& step : plan_.steps) {
      SN_RETURN_IF_ERROR(check_cancelled(job_.cancel));
      if (!is_fixed(step)) return {};  // what depends on data has no place of its own
      std::vector<Tensor> values;
      for (const TensorId id : step.inputs) {
        SN_ASSIGN_OR_RETURN(Tensor value, format_value(id, made));
        values.push_back(std::move(value));
      }
      SN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, run_alone(step, values));
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (step.outputs[o] != kNoTensor) made[step.outputs[o]] = std::move(outputs[o]);
    }
    for (std::size_t o = 0; o < together.size(); ++o) {
      SN_ASSIGN_OR_RETURN(const Tensor alone, format_value(graph_.outputs[o], made));
      if (alone.empty()) continue;  // a constant
      if (!same_bits(alone, together[o]))
        return internal_error(
            "output '{}' of the plan differs from what its layers give one at a time; please "
            "report this",
            plan_.outputs[o].name);
    }
    return {};
  }

  // Of the worst real output.
  Result<double> error_of(std::span<const Tensor> actual) const {
    const std::span<const Tensor> expected = values_->outputs();
    double worst = 0;
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const std::string& name = job_.model->tensor(job_.model->outputs[o]).name;
      if (expected[o].data_type() != actual[o].data_type() ||
          !(expected[o].shape() == actual[o].shape()))
        return internal_error("output '{}' is {} of shape {}, the model's is {} of shape {}", name,
                              to_string(actual[o].data_type()), actual[o].shape().str(),
                              to_string(expected[o].data_type()), expected[o].shape().str());
      if (!is_float(expected[o].data_type())) continue;
      const Comparison comparison = compare_tensors(expected[o], actual[o], 0);
      if (comparison.broken)
        return internal_error(
            "output '{}' is NaN or infinite where the model's is not, or the other way round; {}",
            name, has_16_bits(plan_) ? "try schemas without 16-bit types" : "please report this");
      worst = std::max(worst, comparison.relative());
    }
    return worst;
  }

  // The tensor of the model that corresponds; kNoTensor if there is none of that name.
  TensorId find_in_model(const TensorDef& def) const {
    const TensorId id = job_.model->find_tensor(def.name);
    return corresponds(id, def) ? id : kNoTensor;
  }

  bool corresponds(TensorId id, const TensorDef& def) const {
    return id != kNoTensor && !def.is_constant() && !job_.model->tensor(id).is_constant() &&
           job_.model->tensor(id).type == def.type && !job_.model->is_input(id);
  }

  // Follows adapts and views to a tensor whose value is known by itself.
  TensorId root_of(TensorId id) const {
    while (alias_[id] != id && model_ids_[id] == kNoTensor) id = alias_[id];
    return id;
  }

  // Adds the model's tensor to `wanted`; gives its bytes.
  std::size_t want(TensorId id, std::vector<TensorId>& wanted) const {
    if (id == kNoTensor || !plan_.tensors[id].constant.empty()) return 0;
    const TensorId of_model = model_ids_[root_of(id)];
    if (of_model == kNoTensor) return 0;
    wanted.push_back(of_model);
    return plan_.tensors[id].bytes;
  }

  bool is_fixed(const Step& step) const {
    const auto fixed = [&](const std::vector<TensorId>& ids) {
      return std::all_of(ids.begin(), ids.end(), [&](TensorId id) {
        return id == kNoTensor || plan_.tensors[id].storage != Storage::data_dependent;
      });
    };
    return !step.data_dependent && fixed(step.inputs) && fixed(step.outputs);
  }

  int input_index(TensorId id) const {
    const auto found = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
    return found == graph_.inputs.end() ? -1 : static_cast<int>(found - graph_.inputs.begin());
  }

  // What the model computes there, plain and in the model's type; empty if that is not known.
  Result<Tensor> value(TensorId id) const {
    if (id == kNoTensor) return Tensor();
    if (!plan_.tensors[id].constant.empty()) return plan_.tensors[id].constant;
    const TensorId root = root_of(id);
    Tensor tensor;
    if (const int i = input_index(root); i >= 0)
      tensor = inputs_[static_cast<std::size_t>(i)];
    else if (const auto made = made_.find(root); made != made_.end())
      tensor = made->second;
    else
      tensor = values_->find(model_ids_[root]);
    if (tensor.empty()) return tensor;
    const PlannedTensor& planned = plan_.tensors[id];
    if (tensor.elements() != planned.shape.elements()) return Tensor();
    return tensor.reshaped(planned.shape);
  }

  // The value in `made` or that of an input or constant, in the format of the plan.
  Result<Tensor> format_value(TensorId id, const std::vector<Tensor>& made) const {
    if (id == kNoTensor) return Tensor();
    if (!plan_.tensors[id].constant.empty()) return plan_.tensors[id].constant;
    TensorId from = id;
    while (made[from].empty() && alias_[from] != from) from = alias_[from];
    const int i = input_index(from);
    const Tensor& source = i >= 0 ? inputs_[static_cast<std::size_t>(i)] : made[from];
    if (from == id || source.empty()) return source;
    // A view: the same bytes under another shape, or in a layout that orders them alike.
    const PlannedTensor& planned = plan_.tensors[id];
    SN_ASSIGN_OR_RETURN(
        Tensor view, Tensor::create(planned.format.type, planned.shape, job_.runtime->allocator(),
                                    planned.format.layout));
    if (view.bytes() != source.bytes())
      return internal_error("'{}' is a view of another size", graph_.tensor(id).name);
    if (view.bytes() > 0) std::memcpy(view.mutable_data(), source.data(), view.bytes());
    return view;
  }

  Result<Tensor> plain(const Tensor& tensor, TensorId id) const {
    return in_format(*job_.runtime, tensor, {plan_.tensors[id].type, Layout::plain},
                     graph_.tensor(id).quantization);
  }

  // `inputs` in the types and layouts of the plan, on the host; so are the outputs.
  Result<std::vector<Tensor>> run_alone(const Step& step, std::vector<Tensor> inputs) const {
    SN_ASSIGN_OR_RETURN(const Problem problem, problem_of(plan_, *step.layer));
    return run_once(*job_.runtime, *step.kernel, *step.routine, problem, std::move(inputs));
  }

  Status check_step(const Step& step) {
    SN_RETURN_IF_ERROR(check_cancelled(job_.cancel));
    if (!is_fixed(step)) return {};
    std::vector<Tensor> model_inputs, inputs, rounded_inputs;
    bool rounded = false;
    for (const TensorId id : step.inputs) {
      SN_ASSIGN_OR_RETURN(Tensor model, value(id));
      if (id != kNoTensor && model.empty()) return {};  // behind something that depends on data
      Tensor input = model, back = model;
      if (id != kNoTensor && plan_.tensors[id].constant.empty()) {
        const PlannedTensor& planned = plan_.tensors[id];
        SN_ASSIGN_OR_RETURN(
            input, in_format(*job_.runtime, model, planned.format, graph_.tensor(id).quantization));
        if (planned.format.type != planned.type) {
          rounded = true;
          SN_ASSIGN_OR_RETURN(back, plain(input, id));
        }
      }
      model_inputs.push_back(std::move(model));
      inputs.push_back(std::move(input));
      rounded_inputs.push_back(std::move(back));
    }
    SN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, run_alone(step, inputs));
    const bool is_adapt = step.layer->type->is_adapt();
    // What exact arithmetic gives for the inputs as the step takes them, and for those of the
    // model.
    std::vector<Tensor> exact, untouched;
    SN_ASSIGN_OR_RETURN(const bool is_of_model, has_model_outputs(step));
    if (rounded && is_adapt) {
      exact = rounded_inputs;
      untouched = model_inputs;
    } else if (rounded) {
      SN_ASSIGN_OR_RETURN(exact, evaluate(job_.runtime->registry(), *step.layer, rounded_inputs,
                                          job_.runtime->allocator()));
    }
    if (!is_adapt && (rounded || !is_of_model)) {
      SN_ASSIGN_OR_RETURN(untouched, evaluate(job_.runtime->registry(), *step.layer, model_inputs,
                                              job_.runtime->allocator()));
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const TensorId id = step.outputs[o];
      if (id == kNoTensor) continue;
      SN_ASSIGN_OR_RETURN(const Tensor actual, plain(outputs[o], id));
      SN_RETURN_IF_ERROR(check_shape(step, id));
      SN_ASSIGN_OR_RETURN(const Tensor expected, value(id));
      const Tensor* const reference = !exact.empty()      ? &exact[o]
                                      : !expected.empty() ? &expected
                                      : is_adapt          ? nullptr
                                                          : &untouched[o];
      if (!untouched.empty() && !expected.empty())
        SN_RETURN_IF_ERROR(verifier_.check_against_model(step, id, expected, untouched[o]));
      if (reference != nullptr)
        SN_RETURN_IF_ERROR(verifier_.check_output(step, o, *reference, actual, rounded_inputs,
                                                  untouched.empty() ? nullptr : &untouched[o]));
      if (expected.empty()) made_[id] = untouched.empty() ? actual : untouched[o];
    }
    return {};
  }

  Status check_shape(const Step& step, TensorId id) const {
    if (model_ids_[id] == kNoTensor) return {};
    const Tensor expected = values_->find(model_ids_[id]);
    if (expected.empty() || expected.shape() == plan_.tensors[id].shape) return {};
    return internal_error(
        "the net differs from the model at layer '{}': '{}' has the shape {}, the model's {}",
        step.layer->name, graph_.tensor(id).name, plan_.tensors[id].shape.str(),
        expected.shape().str());
  }

  // The model has all that the step makes.
  Result<bool> has_model_outputs(const Step& step) const {
    for (const TensorId id : step.outputs) {
      SN_ASSIGN_OR_RETURN(const Tensor expected, value(id));
      if (id != kNoTensor && expected.empty()) return false;
    }
    return true;
  }

  const VerificationJob& job_;
  const PlanImpl& plan_;
  const Graph& graph_;  // of the tuned plan, adapts included
  const StepVerifier verifier_;
  std::vector<TensorId> alias_;      // the tensor that holds the same numbers; itself
  std::vector<TensorId> model_ids_;  // in the model
  std::span<const Tensor> inputs_;
  std::vector<InnerPart> parts_;
  const InnerPart* planned_ = nullptr;  // what values_ is of
  std::optional<InnerValues> values_;
  std::optional<Session> tuned_;
  bool is_whole_checked_ = false;
  // What the model has not: by tensor of the plan, computed from the model's values.
  std::unordered_map<TensorId, Tensor> made_;
};

}  // namespace

std::uint64_t output_digest(std::span<const Tensor> outputs) {
  std::string text;
  for (const Tensor& output : outputs)
    text += fmt::format("{} {} {:x}\n", to_string(output.data_type()), output.shape().str(),
                        checksum(output.data(), output.bytes()));
  return checksum(text.data(), text.size());
}

Result<double> verify_plan(const VerificationJob& job,
                           std::span<const std::vector<Tensor>> inputs) {
  Verifier verifier(job);
  if (job.unmatched != nullptr) *job.unmatched = verifier.unmatched();
  double worst = 0;
  for (const std::vector<Tensor>& set : inputs) {
    SN_ASSIGN_OR_RETURN(const double error, verifier.check(set));
    worst = std::max(worst, error);
    if (job.on_set && !job.on_set()) break;
  }
  return worst;
}

}  // namespace softneuro
