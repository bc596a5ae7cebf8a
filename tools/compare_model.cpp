#include "compare_model.h"

#include <nlohmann/json.hpp>

#include "core/plan/plan_impl.h"
#include "json_text.h"
#include "net/net_access.h"
#include "output.h"
#include "profiler/tune/made_inputs.h"
#include "profiler/tune/verification.h"

namespace softneuro::tool {
namespace {

struct Answer {
  double difference = 0;
  std::size_t inputs = 0;
  bool made = false;
};

// What the command line says, else what the net was tuned for.
Result<NamedShapes> shapes_for(const NetArguments& arguments, const Net& net,
                               const NamedTensors& inputs) {
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return shapes;
  for (const auto& [name, tensor] : inputs) (*shapes)[name] = tensor.shape();
  if (const std::string missing = settle_shapes(net, arguments, *shapes); !missing.empty())
    return Status(StatusCode::invalid_argument, missing);
  return shapes;
}

// The sets of inputs to compare on, in the order of the net's inputs: `given`, or synthetic ones.
Result<std::vector<std::vector<Tensor>>> input_sets(const NamedTensors& given,
                                                    const VerificationJob& job, const Net& net) {
  if (given.empty()) {
    auto made = make_inputs(job.core, job.model, job.shapes);
    if (!made.ok()) return made.status();
    if (made->sets.empty())
      return Status(made->failure.code(),
                    fmt::format("the model failed on all synthetic inputs: {}; give inputs with "
                                "--input",
                                made->failure.message()));
    return std::move(made->sets);
  }
  std::vector<Tensor> set;
  for (const TensorInfo& input : net.inputs()) set.push_back(given.at(input.name));
  return std::vector<std::vector<Tensor>>{std::move(set)};
}

Result<Answer> answer_of(const Net& net, const Net& model, const NamedShapes& shapes,
                         const NamedTensors& inputs) {
  auto plan = net.plan(shapes);
  if (!plan.ok()) return plan.status();
  VerificationJob job;
  job.tuned = *plan;
  job.core = impl_of(**plan).core;
  auto graph = std::make_shared<Graph>(NetAccess::graph(model));
  if (graph->inputs.size() != net.inputs().size() || graph->outputs.size() != net.outputs().size())
    return Status(StatusCode::invalid_argument,
                  "the net has other inputs or outputs than the model: it was made from another");
  job.model = std::move(graph);
  for (const TensorInfo& input : (*plan)->inputs()) job.shapes.push_back(input.shape.to_shape());
  auto sets = input_sets(inputs, job, net);
  if (!sets.ok()) return sets.status();
  auto difference = verify_answer(job, *sets);
  if (!difference.ok() && NetAccess::graph(net).has_left_out())
    return Status(StatusCode::unsupported,
                  "the net cannot be compared layer by layer, since its file was saved with "
                  "--packed only and lacks weights that this needs: compare a file that was saved "
                  "without it, or the outputs, with --reference");
  if (!difference.ok()) return difference.status();
  return Answer{*difference, sets->size(), inputs.empty()};
}

}  // namespace

int compare_with_model(const NetArguments& arguments, const std::string& model) {
  NetArguments made = arguments;
  if (is_dnn_file(made.path)) made.constants.clear();  // they are the model's
  auto net = open_net(made);
  if (!net.ok()) return fail(net.status());
  auto sizes = given_shapes(arguments);  // which may settle branches
  if (!sizes.ok()) return wrong_usage(sizes.status().message());
  NetArguments plain = arguments;
  plain.path = model;
  plain.disabled_passes = {"all"};  // the model as it is written
  auto meant = open_net(plain, *std::move(sizes));
  if (!meant.ok()) return fail(meant.status());
  const auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  if (const std::string wrong = wrong_inputs(*net, *inputs); !inputs->empty() && !wrong.empty())
    return wrong_usage(wrong);
  const auto shapes = shapes_for(arguments, *net, *inputs);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  const Result<Answer> answer = answer_of(*net, *meant, *shapes, *inputs);
  if (arguments.json) {
    nlohmann::json report = {{"same", answer.ok()}};
    if (answer.ok()) {
      report["difference"] = answer->difference;
      report["inputs"] = answer->inputs;
      report["synthetic_inputs"] = answer->made;
    } else {
      report["reason"] = answer.status().message();
    }
    say_lines(json_text(report));
  }
  if (!answer.ok()) return fail(answer.status());
  if (!arguments.json)
    say("verified against the model on {}: outputs differ by {:.3g} (relative RMS), within "
        "rounding tolerance\n",
        counted(answer->inputs, answer->made ? "synthetic input" : "given input"),
        answer->difference);
  return kDone;
}

}  // namespace softneuro::tool
