#include "compare_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/plan_impl.h"
#include "json_text.h"
#include "net/net_access.h"
#include "output.h"
#include "passes/adopt_quantization.h"
#include "passes/pass.h"
#include "verify/graph_difference.h"
#include "verify/synthetic_inputs.h"
#include "verify/tensor_difference.h"
#include "verify/verification.h"

namespace softneuro::tool {
namespace {

struct ModelDifference {
  double difference = 0;
  std::size_t inputs = 0;
  bool made = false;
  bool same_graph = false;  // the net's graph is what the passes of this build make of the model
  std::vector<std::string> unmatched;
};

// Rounding of all layers of a net together, in the tolerances of one.
constexpr double kAccumulated = 10;
// How many of the layers that could not be compared are named.
constexpr std::size_t kMostNamed = 5;

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
    auto made = make_synthetic_inputs(job.runtime, job.model, job.shapes);
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

// The passes that made `net` of `model` as it is now, as names to disable all others; nothing where
// this build has one of them in another version, or `model` has had more.
std::optional<std::vector<std::string>> passes_left_out(const Graph& net, const Graph& model) {
  std::set<std::string> wanted(net.applied_passes.begin(), net.applied_passes.end());
  for (const std::string& mark : model.applied_passes)
    if (wanted.erase(mark) == 0) return std::nullopt;
  std::vector<std::string> disabled;
  for (const Pass& pass : all_passes())
    if (wanted.erase(fmt::format("{}/{}", pass.name, pass.version)) == 0)
      disabled.emplace_back(pass.name);
  if (!wanted.empty()) return std::nullopt;
  return disabled;
}

std::size_t count_of_quantize(const Graph& graph) {
  const auto& layers = graph.layers();
  return static_cast<std::size_t>(std::count_if(layers.begin(), layers.end(), is_quantize));
}

// Of the message that names a layer.
std::string nodes_of(const Graph& graph, const std::string& layer) {
  const Layer* const found = graph.find_layer(layer);
  if (found == nullptr || found->sources.empty()) return "";
  return fmt::format(" (of {} '{}')", found->sources.size() == 1 ? "the node" : "the nodes",
                     fmt::join(found->sources, "', '"));
}

// Makes the model's graph anew, with the passes that the net has had, and compares the two. Gives
// whether that could be done; an error where they differ.
Result<bool> compare_graphs(const Graph& net, const Net& model) {
  const Graph& plain = NetAccess::graph(model);
  const Registry& registry = NetAccess::registry(model);
  const auto disabled = passes_left_out(net, plain);
  if (!disabled) return false;
  Graph expected = plain;
  if (Status status = run_passes(expected, registry, {.disabled = *disabled}); !status.ok())
    return status;
  if (count_of_quantize(net) != count_of_quantize(expected)) {  // tuning adopts quantisation
    if (auto adopted = adopt_quantization(expected, registry); !adopted.ok())
      return adopted.status();
    if (Status status = expected.sort(); !status.ok()) return status;
    if (Status status = expected.infer_shapes(); !status.ok()) return status;
  }
  std::set<const void*> read;  // constants of the model itself
  for (TensorId id = 0; id < plain.tensor_count(); ++id)
    if (plain.is_constant(id)) read.insert(plain.tensor(id).constant.data());
  const auto difference = graph_difference(
      net, expected, [&](const Tensor& constant) { return read.count(constant.data()) == 0; });
  if (!difference) return true;
  return Status(
      StatusCode::internal,
      difference->layer.empty()
          ? fmt::format("the net differs from the model: {}", difference->what)
          : fmt::format("the net differs from the model at layer '{}'{}: {}", difference->layer,
                        nodes_of(net, difference->layer), difference->what));
}

// Sizes that the net fixes, where the model's inputs of these names may have been open.
void add_fixed_shapes(const Net& net, NamedShapes& shapes) {
  for (const TensorInfo& input : net.inputs())
    if (input.shape.is_static() && Shape::fits(static_cast<std::size_t>(input.shape.rank())))
      shapes.emplace(input.name, input.shape.to_shape());
}

// By place, as the net's inputs and outputs are.
Result<std::vector<Tensor>> outputs_of(const Net& net, std::span<const Tensor> inputs) {
  NamedTensors named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named[net.inputs()[i].name] = inputs[i];
  auto results = net.run(named);
  if (!results.ok()) return results.status();
  std::vector<Tensor> outputs;
  for (const TensorInfo& output : net.outputs()) outputs.push_back(results->at(output.name));
  return outputs;
}

std::string text_of(const Tensor& tensor) {
  return fmt::format("{} {}", to_string(tensor.data_type()), tensor.shape().str());
}

// The net's graph with default choices, which round as the model does, against the model, as a
// whole.
Status compare_outputs(const Net& net, const Net& model, const NetArguments& arguments,
                       std::span<const std::vector<Tensor>> sets) {
  auto untuned = NetAccess::from_graph(
      NetAccess::graph(net), {.threads = arguments.threads, .plugins = arguments.plugins});
  if (!untuned.ok()) return untuned.status();
  for (const std::vector<Tensor>& set : sets) {
    const auto actual = outputs_of(*untuned, set), wanted = outputs_of(model, set);
    if (!actual.ok()) return actual.status();
    if (!wanted.ok()) return wanted.status();
    for (std::size_t o = 0; o < wanted->size(); ++o) {
      const Tensor &expected = (*wanted)[o], &given = (*actual)[o];
      const std::string why =
          text_of(expected) != text_of(given)
              ? fmt::format("is {} instead of {}", text_of(given), text_of(expected))
              : mismatch(expected, given,
                         {.relative = kAccumulated * tolerance_of(expected.data_type())});
      if (!why.empty())
        return Status(StatusCode::internal,
                      fmt::format("the net differs from the model, in the model's own types: "
                                  "output '{}' {}",
                                  model.outputs()[o].name, why));
    }
  }
  return {};
}

Result<ModelDifference> difference_from(const Net& net, const Net& model, const NamedShapes& shapes,
                                        const NamedTensors& inputs, const NetArguments& arguments) {
  auto plan = net.plan(shapes);
  if (!plan.ok()) return plan.status();
  VerificationJob job;
  job.tuned = *plan;
  job.runtime = impl_of(**plan).runtime;
  auto graph = std::make_shared<Graph>(NetAccess::graph(model));
  if (graph->inputs.size() != net.inputs().size() || graph->outputs.size() != net.outputs().size())
    return Status(StatusCode::invalid_argument,
                  "the net has other inputs or outputs than the model: it was made from another");
  job.model = std::move(graph);
  ModelDifference result;
  job.unmatched = &result.unmatched;
  auto same_graph = compare_graphs(NetAccess::graph(net), model);
  if (!same_graph.ok()) return same_graph.status();
  result.same_graph = *same_graph;
  for (const TensorInfo& input : (*plan)->inputs()) job.shapes.push_back(input.shape.to_shape());
  auto sets = input_sets(inputs, job, net);
  if (!sets.ok()) return sets.status();
  auto difference = verify_plan(job, *sets);
  if (!difference.ok() && NetAccess::graph(net).has_left_out())
    return Status(StatusCode::unsupported,
                  "the net cannot be compared layer by layer, since its file was saved with "
                  "--packed only and lacks weights that this needs: compare a file that was saved "
                  "without it, or the outputs, with --reference");
  if (!difference.ok()) return difference.status();
  result.difference = *difference;
  result.inputs = sets->size();
  result.made = inputs.empty();
  if (!result.same_graph)
    if (Status status = compare_outputs(net, model, arguments, *sets); !status.ok()) return status;
  return result;
}

// What was compared, for people.
void print_difference(const ModelDifference& result) {
  print_out(
      "verified against the model on {}: {}each layer agrees within the rounding of its types; "
      "outputs differ by {:.3g} (relative RMS)\n",
      counted(result.inputs, result.made ? "synthetic input" : "given input"),
      result.same_graph ? "the layers and weights are the same, and " : "", result.difference);
  if (result.same_graph) return;
  print_out(
      "other versions of the passes made the net: layers and weights could not be compared one by "
      "one, only what they compute\n");
  const std::vector<std::string>& unmatched = result.unmatched;
  if (unmatched.empty()) return;
  const std::size_t named = std::min(kMostNamed, unmatched.size());
  print_out(
      "the model has no tensor of that name for the output of {}: '{}'{}\n",
      counted(unmatched.size(), "layer"),
      fmt::join(unmatched.begin(), unmatched.begin() + static_cast<std::ptrdiff_t>(named), "', '"),
      named < unmatched.size() ? ", …" : "");
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
  add_fixed_shapes(*net, *sizes);
  auto reference = open_net(plain, *std::move(sizes));
  if (!reference.ok()) return fail(reference.status());
  const auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  if (const std::string wrong = wrong_inputs(*net, *inputs); !inputs->empty() && !wrong.empty())
    return wrong_usage(wrong);
  const auto shapes = shapes_for(arguments, *net, *inputs);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  const Result<ModelDifference> result =
      difference_from(*net, *reference, *shapes, *inputs, arguments);
  if (arguments.json) {
    nlohmann::json report = {{"same", result.ok()}};
    if (result.ok()) {
      report["difference"] = result->difference;
      report["inputs"] = result->inputs;
      report["synthetic_inputs"] = result->made;
      report["same_graph"] = result->same_graph;
      report["unmatched"] = result->unmatched;
    } else {
      report["reason"] = result.status().message();
    }
    print_lines(json_text(report));
  }
  if (!result.ok()) return fail(result.status());
  if (!arguments.json) print_difference(*result);
  return kDone;
}

}  // namespace softneuro::tool
