#include "verify/layer_run.h"

#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "core/plan/single_run.h"
#include "core/routine/evaluate.h"
#include "core/routine/layer_cost.h"
#include "selection/default_path.h"

namespace softneuro {

Result<LayerRun> run_layer(Runtime& runtime, const Graph& graph, const Layer& layer,
                           std::vector<Tensor> inputs, double most_steps) {
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorSpec spec;
    if (!inputs[i].empty()) {
      spec.type = inputs[i].data_type();
      spec.shape = inputs[i].shape();
      spec.constant = graph.is_constant(layer.inputs[i]);
      spec.quantization = graph.tensor(layer.inputs[i]).quantization;
      if (spec.constant || layer.type->needs_value(i)) spec.value = inputs[i];
    }
    specs.push_back(std::move(spec));
  }
  SN_ASSIGN_OR_RETURN(Problem problem, make_problem(layer, std::move(specs)));
  SN_ASSIGN_OR_RETURN(const ImplementationPtr usual,
                      runtime.routine_context().default_choice(std::move(problem)));
  const bool is_naive = usual->routine().descriptor().algorithm == "naive";
  const double speed = is_naive ? kNaiveSpeed : 1;
  const double steps = layer_steps(usual->whole_problem()) / speed;
  if (!(steps <= most_steps))
    return make_error(StatusCode::out_of_memory, "layer '{}' would take too long", layer.name);
  LayerRun run{{}, steps};
  SN_ASSIGN_OR_RETURN(run.outputs, run_once(runtime, *usual, std::move(inputs)));
  return run;
}

}  // namespace softneuro
