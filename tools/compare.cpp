// softneuro compare: are the outputs those of a reference, and if not, which layer differs first?
//
// References may name inner tensors too; the first that differs, in the order of the net, shows
// the layer. Where only outputs are known, every inner tensor is compared with the same net run by
// cpu/naive routines: a layer that differs there is wrong in this build; if none does, model and
// reference disagree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "command.h"
#include "compare_model.h"
#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"
#include "json_text.h"
#include "net/net_access.h"
#include "npy.h"
#include "output.h"
#include "profiler/measure/departure.h"
#include "routines/builtin.h"
#include "table.h"
#include "tensor_summary.h"

namespace softneuro::tool {
namespace {

struct CompareArguments : NetArguments {
  std::vector<std::string> references;
  std::string model;
  double rtol = 1e-3;
  double atol = 1e-4;
};

struct Difference {
  bool same = true;
  std::string reason;  // why not, if the tensors cannot be compared at all
  double largest = 0;  // |a − b|
  double excess = 0;   // largest of |a − b| / (atol + rtol·|b|)
  std::int64_t at = 0;
};

Difference differ(const Tensor& a, const Tensor& b, const CompareArguments& arguments) {
  Difference d;
  if (a.elements() != b.elements()) {
    d.same = false;
    d.reason = fmt::format("shape {} against {}", a.shape().str(), b.shape().str());
    return d;
  }
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = element(a, i);
    const double y = element(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double excess = std::abs(x - y) / (arguments.atol + arguments.rtol * std::abs(y));
    if (std::isnan(excess)) excess = INFINITY;  // NaN or infinity on one side
    if (excess > d.excess) {
      d.excess = excess;
      d.at = i;
    }
    d.largest = std::max(d.largest, std::isnan(x - y) ? INFINITY : std::abs(x - y));
  }
  d.same = d.excess <= 1;
  return d;
}

struct Row {
  std::string tensor;
  std::string layer;
  Difference difference;
};

// Place of a tensor in the order of the net, for naming the first that differs.
std::size_t order_of(const Graph& graph, const std::string& tensor) {
  const TensorId id = graph.find_tensor(tensor);
  const std::int32_t producer = id == kNoTensor ? -1 : graph.producers()[id];
  return static_cast<std::size_t>(std::max(producer, 0));
}

std::string layer_of(const Graph& graph, const std::string& tensor) {
  const TensorId id = graph.find_tensor(tensor);
  const std::int32_t producer = id == kNoTensor ? -1 : graph.producers()[id];
  return producer < 0 ? "" : graph.layers()[static_cast<std::size_t>(producer)].name;
}

// As differ(), but what rounding of the type explains on the tensor as a whole is the same: single
// elements near zero may be sums of large ones.
Difference differ_from_naive(const Tensor& actual, const Tensor& expected, DataType type,
                             const CompareArguments& arguments) {
  Difference d = differ(actual, expected, arguments);
  if (d.same || !d.reason.empty() || actual.data_type() != expected.data_type() ||
      !is_float(actual.data_type()))
    return d;
  d.same = departure(expected, actual, {.relative = tolerance_of(type)}).empty();
  return d;
}

// The data type that each layer's routine computes in, by the layer's name.
Result<std::map<std::string, DataType>> types_of(const Net& net, const NamedTensors& inputs) {
  NamedShapes shapes;
  for (const auto& [name, tensor] : inputs) shapes.emplace(name, tensor.shape());
  auto plan = net.plan(shapes);
  if (!plan.ok()) return plan.status();
  std::map<std::string, DataType> types;
  for (const Step& step : impl_of(**plan).steps)
    if (step.routine != nullptr) types[step.layer->name] = step.routine->descriptor().type;
  return types;
}

// Runs every layer apart with its naive routine on the tensors that the net itself computed, so
// that an error shows where it is made, not where it arrives.
Result<std::vector<Row>> compare_with_naive(const Net& net, const NamedTensors& inputs,
                                            const CompareArguments& arguments) {
  const Graph& graph = NetAccess::graph(net);
  std::vector<std::string> inner;
  for (const Layer& layer : graph.layers())
    for (const TensorId id : layer.outputs)
      if (id != kNoTensor) inner.push_back(graph.tensor(id).name);
  auto computed = net.run(inputs, inner);
  if (!computed.ok()) return computed.status();
  const auto value_of = [&](TensorId id) -> Tensor {
    if (id == kNoTensor) return {};
    const TensorDef& def = graph.tensor(id);
    if (def.is_constant()) return def.constant;
    if (const auto given = inputs.find(def.name); given != inputs.end()) return given->second;
    const auto found = computed->find(def.name);
    return found != computed->end() ? found->second : Tensor();
  };

  auto all = make_builtin_registry();
  if (!all.ok()) return all.status();
  auto types = types_of(net, inputs);
  if (!types.ok()) return types.status();
  std::vector<Row> rows;
  for (const Layer& layer : graph.layers()) {
    std::vector<Tensor> layer_inputs;
    for (const TensorId id : layer.inputs) layer_inputs.push_back(value_of(id));
    auto expected = evaluate_with(*all, "cpu/naive", layer, layer_inputs);
    if (!expected.ok()) return expected.status();
    for (std::size_t o = 0; o < layer.outputs.size(); ++o) {
      if (layer.outputs[o] == kNoTensor) continue;
      rows.push_back({graph.tensor(layer.outputs[o]).name, layer.name,
                      differ_from_naive(value_of(layer.outputs[o]), (*expected)[o],
                                        (*types)[layer.name], arguments)});
    }
  }
  return rows;
}

std::string verdict(const Difference& d) {
  if (!d.reason.empty()) return d.reason;
  return d.same ? "same" : "differs";
}

void print_rows(const std::vector<Row>& rows) {
  Table table({"tensor", "layer", ">largest |a-b|", ">of tolerance", "at", "verdict"});
  for (const Row& row : rows)
    table.add({row.tensor, row.layer, fmt::format("{:.3g}", row.difference.largest),
               fmt::format("{:.3g}", row.difference.excess), std::to_string(row.difference.at),
               verdict(row.difference)});
  say_lines(table.str());
}

nlohmann::json to_json(const std::vector<Row>& rows) {
  nlohmann::json out = nlohmann::json::array();
  for (const Row& row : rows)
    out.push_back({{"tensor", row.tensor},
                   {"layer", row.layer},
                   {"same", row.difference.same},
                   {"largest", row.difference.largest},
                   {"of_tolerance", row.difference.excess},
                   {"at", row.difference.at},
                   {"reason", row.difference.reason}});
  return out;
}

const Row* first_departing(const std::vector<Row>& rows) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return !row.difference.same; });
  return found == rows.end() ? nullptr : &*found;
}

int compare_net(const CompareArguments& arguments) {
  if (const auto shapes = given_shapes(arguments); !shapes.ok())
    return wrong_usage(shapes.status().message());
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  if (const std::string wrong = wrong_inputs(*net, *inputs); !wrong.empty())
    return wrong_usage(wrong);
  NamedTensors references;
  std::vector<std::string> wanted;
  for (const std::string& text : arguments.references) {
    auto assignment = split_assignment(text);
    if (!assignment.ok()) return wrong_usage(assignment.status().message());
    auto tensor = read_npy(assignment->second);
    if (!tensor.ok()) return fail(tensor.status());
    wanted.push_back(assignment->first);
    references[assignment->first] = *std::move(tensor);
  }
  auto outputs = net->run(*inputs, wanted);
  if (!outputs.ok()) return fail(outputs.status());

  const Graph& graph = NetAccess::graph(*net);
  std::vector<Row> rows;
  for (const auto& [name, reference] : references)
    rows.push_back({name, layer_of(graph, name), differ(outputs->at(name), reference, arguments)});
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return order_of(graph, a.tensor) < order_of(graph, b.tensor);
  });
  const Row* departing = first_departing(rows);
  nlohmann::json report = {{"same", departing == nullptr}, {"tensors", to_json(rows)}};
  if (!arguments.json) print_rows(rows);
  std::string message;
  if (departing != nullptr) {
    const std::string layer =
        departing->layer.empty() ? "" : fmt::format(" (layer '{}')", departing->layer);
    message = fmt::format("'{}'{} differs from its reference", departing->tensor, layer);
    auto layers = compare_with_naive(*net, *inputs, arguments);
    if (!layers.ok()) return fail(layers.status());
    const Row* wrong = first_departing(*layers);
    report["first_layer"] = wrong != nullptr ? wrong->layer : departing->layer;
    report["routine_error"] = wrong != nullptr;
    message += wrong != nullptr
                   ? fmt::format("; the first layer whose routine differs from cpu/naive is '{}'",
                                 wrong->layer)
                   : "; every layer agrees with cpu/naive, so the imported model itself does not "
                     "match the reference";
  }
  if (arguments.json) say_lines(json_text(report));
  if (departing == nullptr) return kDone;
  return fail(Status(StatusCode::internal, message));
}

}  // namespace

Command add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "compare outputs with references, and find the first layer that differs");
  add_net_option(*command, *arguments);
  add_input_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->add_option(
      "--reference", arguments->references,
      "NAME=FILE.npy: expected value of an output or intermediate tensor (repeatable)");
  command->add_option("--model", arguments->model,
                      "the model that the net was made from: compares outputs layer by layer, on "
                      "--input or on synthetic inputs");
  add_shape_option(*command, *arguments);
  command->add_option("--rtol", arguments->rtol, "relative tolerance (default 1e-3)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--atol", arguments->atol, "absolute tolerance (default 1e-4)")
      ->check(CLI::NonNegativeNumber);
  return {command, [arguments] {
            if (arguments->references.empty() == arguments->model.empty())
              return wrong_usage("give either --reference or --model");
            return arguments->model.empty() ? compare_net(*arguments)
                                            : compare_with_model(*arguments, arguments->model);
          }};
}

}  // namespace softneuro::tool
