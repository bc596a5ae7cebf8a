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
#include <set>

#include "command.h"
#include "compare_model.h"
#include "core/plan/plan_impl.h"
#include "core/routine/evaluate.h"
#include "json_text.h"
#include "net/net_access.h"
#include "npy.h"
#include "output.h"
#include "routines/builtin.h"
#include "table.h"
#include "tensor_summary.h"
#include "verify/tensor_difference.h"

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
  if (!(a.shape() == b.shape())) {
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

// As differ(), but what rounding of the precision explains on the tensor as a whole is the same:
// single elements near zero may be sums of large ones.
Difference differ_from_naive(const Tensor& actual, const Tensor& expected,
                             const Precision& precision, const CompareArguments& arguments) {
  Difference d = differ(actual, expected, arguments);
  if (d.same || !d.reason.empty() || actual.data_type() != expected.data_type() ||
      !is_float(actual.data_type()))
    return d;
  d.same = mismatch(expected, actual, {.relative = tolerance_of(precision)}).empty();
  return d;
}

// What each layer's routine computes in, by the layer's name.
Result<std::map<std::string, Precision>> precisions_of(const Net& net, const NamedTensors& inputs) {
  NamedShapes shapes;
  for (const auto& [name, tensor] : inputs) shapes.emplace(name, tensor.shape());
  auto plan = net.plan(shapes);
  if (!plan.ok()) return plan.status();
  std::map<std::string, Precision> precisions;
  for (const Step& step : impl_of(**plan).steps)
    if (step.routine != nullptr)
      precisions[step.layer->name] = step.routine->descriptor().precision();
  return precisions;
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
  auto precisions = precisions_of(net, inputs);
  if (!precisions.ok()) return precisions.status();
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
                                        (*precisions)[layer.name], arguments)});
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
  print_lines(table.str());
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

const Row* first_difference(const std::vector<Row>& rows) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return !row.difference.same; });
  return found == rows.end() ? nullptr : &*found;
}

// What the plan computes in other than float32, by name: "qint8 and bfloat16"; "" if there
// are none.
Result<std::string> reduced_types(const Net& net, const NamedTensors& inputs) {
  auto precisions = precisions_of(net, inputs);
  if (!precisions.ok()) return precisions.status();
  std::set<std::string> names;
  for (const auto& [layer, precision] : *precisions)
    if (tolerance_of(precision) > tolerance_of(DataType::float32))
      names.insert(to_string(precision));
  return fmt::format("{}", fmt::join(names, " and "));
}

// What the rounding of a net in reduced types does to tensors that differ from their references.
struct ReducedPrecision {
  std::string types;      // "": it has none, or does not explain the difference
  double difference = 0;  // from the same net in float32: relative RMS of the worst tensor
};

// The same net in float32, with default choices, tells rounding from a wrong model.
Result<ReducedPrecision> reduced_precision(const Net& net, const NamedTensors& inputs,
                                           const NamedTensors& actual,
                                           const NamedTensors& references,
                                           const CompareArguments& arguments) {
  ReducedPrecision reduced;
  auto types = reduced_types(net, inputs);
  if (!types.ok()) return types.status();
  if (types->empty()) return reduced;
  auto plain = NetAccess::from_graph(
      NetAccess::graph(net),
      {.threads = arguments.threads, .plugins = arguments.plugins, .schemas = {"cpu:float32"}});
  if (!plain.ok()) return plain.status();
  std::vector<std::string> names;
  for (const auto& reference : references) names.push_back(reference.first);
  auto outputs = plain->run(inputs, names);
  if (!outputs.ok()) return outputs.status();
  for (const auto& [name, reference] : references) {
    const Tensor& exact = outputs->at(name);
    if (!differ(exact, reference, arguments).same) return reduced;
    if (is_float(exact.data_type()))
      reduced.difference =
          std::max(reduced.difference, compare_tensors(exact, actual.at(name), 0).relative());
  }
  reduced.types = *std::move(types);
  return reduced;
}

// What is to blame for the difference: a routine, rounding, or the model. Adds to the report.
Result<std::string> find_cause(const Net& net, const NamedTensors& inputs,
                               const NamedTensors& outputs, const NamedTensors& references,
                               const Row& different, const CompareArguments& arguments,
                               nlohmann::json& report) {
  auto layers = compare_with_naive(net, inputs, arguments);
  if (!layers.ok()) return layers.status();
  const Row* const wrong = first_difference(*layers);
  report["first_layer"] = wrong != nullptr ? wrong->layer : different.layer;
  report["routine_error"] = wrong != nullptr;
  if (wrong != nullptr)
    return fmt::format("the first layer whose routine differs from cpu/naive is '{}'",
                       wrong->layer);
  auto reduced = reduced_precision(net, inputs, outputs, references, arguments);
  if (!reduced.ok()) return reduced.status();
  report["rounding"] = !reduced->types.empty();
  if (reduced->types.empty())
    return std::string(
        "every layer agrees with cpu/naive, so the imported model itself does not match the "
        "reference");
  return fmt::format(
      "rounding to {} explains it: every layer agrees with cpu/naive within its type, and in "
      "float32 the net matches the reference; by rounding outputs differ by {:.3g} (relative RMS); "
      "--rtol and --atol set what is accepted",
      reduced->types, reduced->difference);
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
  const Row* different = first_difference(rows);
  nlohmann::json report = {{"same", different == nullptr}, {"tensors", to_json(rows)}};
  if (!arguments.json) print_rows(rows);
  std::string message;
  if (different != nullptr) {
    const std::string layer =
        different->layer.empty() ? "" : fmt::format(" (layer '{}')", different->layer);
    message = fmt::format("'{}'{} differs from its reference", different->tensor, layer);
    if (!different->difference.reason.empty()) {
      message += ": " + different->difference.reason;
    } else {
      auto cause = find_cause(*net, *inputs, *outputs, references, *different, arguments, report);
      if (!cause.ok()) return fail(cause.status());
      message += "; " + *cause;
    }
  }
  if (arguments.json) print_lines(json_text(report));
  if (different == nullptr) return kDone;
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
