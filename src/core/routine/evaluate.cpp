#include "core/routine/evaluate.h"

#include "core/base/error.h"
#include "core/routine/kernel_run.h"
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

Result<std::vector<Tensor>> run(const Implementation& implementation,
                                std::span<const Tensor> inputs, Allocator& allocator,
                                const EvaluateLimits& limits) {
  const Problem& problem = implementation.whole_problem();
  const RoutineParams params = implementation.default_params();
  SN_ASSIGN_OR_RETURN(const PackedWeights packed, implementation.pack_weights(params, allocator));
  SN_ASSIGN_OR_RETURN(const auto kernel, implementation.create(params, packed));

  SN_ASSIGN_OR_RETURN(KernelRun run,
                      KernelRun::create(*kernel, problem, nullptr, {inputs.begin(), inputs.end()},
                                        allocator, limits.bytes));
  InlinePool pool;
  if (Status status = run.start(pool); !status.ok())
    return std::move(status).with_context(fmt::format("layer '{}'", problem.layer_name));
  return std::move(run.outputs());
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
    problem.layer_inputs = layer.layer_inputs;
    const auto context_of = [&] { return fmt::format("layer '{}'", layer.name); };
    if (Status status = layer.type->check_params(problem.params); !status.ok())
      return std::move(status).with_context(context_of());

    std::vector<InferContext::Input> known;
    for (std::size_t i = 0; i < std::min<std::size_t>(layer.layer_inputs, problem.inputs.size());
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
      if (op.input < problem.layer_inputs || op.input >= problem.inputs.size())
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

Result<Problem> make_problem(const Layer& layer, std::span<const Tensor> inputs) {
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

Result<std::vector<Tensor>> evaluate(const Registry& registry, const Layer& layer,
                                     std::span<const Tensor> inputs, Allocator& allocator,
                                     const EvaluateLimits& limits) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    SN_ASSIGN_OR_RETURN(Problem problem, make_problem(layer, inputs));
    if (const double steps = layer_cost(problem).steps; steps > limits.steps)
      return make_error(StatusCode::out_of_memory, "layer '{}' would take {:.2g} operations",
                        layer.name, steps);
    SN_ASSIGN_OR_RETURN(const ImplementationPtr implementation,
                        RoutineContext(registry).default_choice(std::move(problem)));
    return run(*implementation, inputs, allocator, limits);
  });
}

Result<std::vector<Tensor>> evaluate_with(const Registry& registry, std::string_view descriptor,
                                          const Layer& layer, std::span<const Tensor> inputs) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    SN_ASSIGN_OR_RETURN(Problem problem, make_problem(layer, inputs));
    const Routine* routine = registry.find(layer.type->name, descriptor);
    if (routine == nullptr)
      return make_error(StatusCode::not_found, "layer type {} has no routine {}", layer.type->name,
                        descriptor);
    SN_ASSIGN_OR_RETURN(const ImplementationPtr implementation,
                        RoutineContext(registry).implement(*routine, std::move(problem)));
    return run(*implementation, inputs, default_allocator(), {});
  });
}

}  // namespace softneuro
