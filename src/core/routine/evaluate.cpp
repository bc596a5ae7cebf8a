#include "core/routine/evaluate.h"

#include "core/base/error.h"
#include "core/routine/layer_cost.h"

namespace softneuro {
namespace {

// Runs everything on the calling thread.
class InlinePool final : public ThreadPool {
 public:
  int concurrency() const noexcept override { return 1; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
  }
};

// Gives data-dependent outputs their memory.
class EvaluateContext final : public Context {
 public:
  EvaluateContext(std::span<const TensorView> inputs, std::span<TensorView> outputs,
                  std::byte* workspace, ThreadPool& pool, std::vector<Tensor>& tensors,
                  Allocator& allocator, std::int64_t max_bytes)
      : Context(inputs, outputs, workspace, pool),
        tensors_(tensors),
        allocator_(allocator),
        max_bytes_(max_bytes) {}

  Status allocate_output(std::size_t i, const Shape& shape) noexcept override {
    return guarded([&]() -> Status {
      if (i >= outputs_.size()) return internal_error("there is no output {}", i);
      if (const auto bytes = storage_bytes(outputs_[i].type, shape, Layout::plain);
          bytes < 0 || bytes > max_bytes_)
        return make_error(StatusCode::out_of_memory, "output {} would be {} {}", i,
                          to_string(outputs_[i].type), shape.str());
      SN_ASSIGN_OR_RETURN(tensors_[i], Tensor::create(outputs_[i].type, shape, allocator_));
      outputs_[i] = view_of(tensors_[i]);
      return {};
    });
  }

 private:
  std::vector<Tensor>& tensors_;
  Allocator& allocator_;
  std::int64_t max_bytes_;
};

Result<std::vector<Tensor>> run_problem(const Routine& routine, const Problem& problem,
                                        std::span<const Tensor> inputs, Allocator& allocator,
                                        const EvaluateLimits& limits) {
  const RoutineParams params = routine.default_params(problem);
  SN_ASSIGN_OR_RETURN(const PackedWeights packed,
                      routine.pack(packed_problem(routine, problem), params, allocator));
  SN_ASSIGN_OR_RETURN(const auto kernel, create_kernel(routine, problem, params, packed));

  std::vector<TensorView> input_views;
  for (const Tensor& input : inputs) input_views.push_back(view_of(input));
  std::vector<Tensor> outputs(problem.outputs.size());
  std::vector<TensorView> output_views(problem.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = problem.outputs[i];
    output_views[i].type = spec.type;
    if (!spec.present() || problem.type->data_dependent_output) continue;
    if (const auto bytes = storage_bytes(spec.type, spec.shape, spec.layout);
        bytes < 0 || bytes > limits.bytes)
      return make_error(StatusCode::out_of_memory, "output {} of layer '{}' would be {} {}", i,
                        problem.layer_name, to_string(spec.type), spec.shape.str());
    SN_ASSIGN_OR_RETURN(outputs[i], Tensor::create(spec.type, spec.shape, allocator, spec.layout));
    output_views[i] = view_of(outputs[i]);
  }
  Tensor workspace;
  if (const std::size_t bytes = kernel->workspace_bytes(); bytes > 0) {
    SN_ASSIGN_OR_RETURN(
        workspace,
        Tensor::create(DataType::uint8, Shape{static_cast<std::int64_t>(bytes)}, allocator));
  }
  InlinePool pool;
  EvaluateContext context(input_views, output_views,
                          static_cast<std::byte*>(workspace.mutable_data()), pool, outputs,
                          allocator, limits.bytes);
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<KernelState> state, kernel->make_state());
  context.set_state(state.get());
  if (Status status = kernel->run(context); !status.ok())
    return std::move(status).with_context(fmt::format("layer '{}'", problem.layer_name));
  return outputs;
}

}  // namespace

Result<Problem> make_problem(const Layer& layer, std::vector<TensorSpec> inputs) {
  return guarded([&]() -> Result<Problem> {
    Problem problem;
    problem.type = layer.type;
    problem.layer_name = layer.name;
    problem.params = layer.params;
    problem.post_ops = layer.post_ops;
    problem.inputs = std::move(inputs);
    problem.own_inputs = layer.own_inputs;
    const auto context_of = [&] { return fmt::format("layer '{}'", layer.name); };
    if (Status status = layer.type->check_params(problem.params); !status.ok())
      return std::move(status).with_context(context_of());

    std::vector<InferContext::Input> known;
    for (std::size_t i = 0; i < std::min<std::size_t>(layer.own_inputs, problem.inputs.size());
         ++i) {
      const TensorSpec& spec = problem.inputs[i];
      known.push_back({spec.type, spec.present() ? DynamicShape(spec.shape) : DynamicShape(),
                       spec.value.empty() ? nullptr : &spec.value});
    }
    std::vector<InferContext::Output> inferred(layer.outputs.size());
    InferContext context(problem.params, known, inferred);
    if (Status status = layer.type->infer(context); !status.ok())
      return std::move(status).with_context(context_of());

    for (std::size_t i = 0; i < inferred.size(); ++i) {
      TensorSpec spec;
      if (layer.outputs[i] != kNoTensor) {
        spec.type = inferred[i].type;
        if (inferred[i].shape.is_static()) {
          if (!Shape::fits(static_cast<std::size_t>(inferred[i].shape.rank())))
            return unsupported("layer '{}': output {} has {} dimensions, at most {} are supported",
                               layer.name, i, inferred[i].shape.rank(), kMaxRank);
          spec.shape = inferred[i].shape.to_shape();
          if (storage_bytes(spec.type, spec.shape, spec.layout) < 0)
            return invalid_model("layer '{}': output {} of shape {} does not fit in memory",
                                 layer.name, i, spec.shape.str());
        } else if (!layer.type->data_dependent_output) {
          return invalid_model(
              "layer '{}': the shape of output {} ({}) depends on values that "
              "are not known",
              layer.name, i, inferred[i].shape.str());
        }
      }
      problem.outputs.push_back(std::move(spec));
    }
    for (const PostOp& op : problem.post_ops) {
      if (op.kind != PostOp::Kind::binary) continue;
      if (op.input < problem.own_inputs || op.input >= problem.inputs.size())
        return invalid_model("layer '{}': a post-op reads input {}, which does not exist",
                             layer.name, op.input);
      const Shape& y = problem.outputs[0].shape;
      const Result<Shape> joint = broadcast(y, problem.inputs[op.input].shape);
      if (!joint.ok() || !(*joint == y))
        return invalid_model("layer '{}': post-op input of shape {} does not broadcast to {}",
                             layer.name, problem.inputs[op.input].shape.str(), y.str());
    }
    return problem;
  });
}

namespace {

Result<Problem> problem_for(const Layer& layer, std::span<const Tensor> inputs) {
  std::vector<TensorSpec> specs;
  for (const Tensor& input : inputs) {
    TensorSpec spec;
    if (!input.empty()) {
      spec.type = input.data_type();
      spec.shape = input.shape();
      spec.constant = true;
      spec.value = input;
    }
    specs.push_back(std::move(spec));
  }
  return make_problem(layer, std::move(specs));
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Registry& registry, const Layer& layer,
                                     std::span<const Tensor> inputs, Allocator& allocator,
                                     const EvaluateLimits& limits) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    SN_ASSIGN_OR_RETURN(const Problem problem, problem_for(layer, inputs));
    if (const double steps = layer_steps(problem); steps > limits.steps)
      return make_error(StatusCode::out_of_memory, "layer '{}' would take {:.2g} steps", layer.name,
                        steps);
    SN_ASSIGN_OR_RETURN(const Routine* routine, registry.default_choice(problem));
    return run_problem(*routine, problem, inputs, allocator, limits);
  });
}

Result<std::vector<Tensor>> evaluate_with(const Registry& registry, std::string_view descriptor,
                                          const Layer& layer, std::span<const Tensor> inputs) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    SN_ASSIGN_OR_RETURN(const Problem problem, problem_for(layer, inputs));
    const Routine* routine = registry.find(layer.type->name, descriptor);
    if (routine == nullptr)
      return make_error(StatusCode::not_found, "layer type {} has no routine {}", layer.type->name,
                        descriptor);
    return run_problem(*routine, problem, inputs, default_allocator(), {});
  });
}

}  // namespace softneuro
