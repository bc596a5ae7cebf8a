// softneuro inspect: what is in a net, as a table, JSON, DOT or a picture.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "core/graph/layer_type.h"
#include "core/plan/plan_impl.h"
#include "drawing.h"
#include "json_text.h"
#include "net/net_access.h"
#include "open_sizes.h"
#include "output.h"
#include "passes/pass.h"
#include "table.h"
#include "tuned_paths.h"
#include "tuned_routines.h"

namespace softneuro::tool {
namespace {

struct InspectArguments : NetArguments {
  std::string svg;
  std::string dot;
  bool weights = false;
};

std::string names(const Graph& graph, const std::vector<TensorId>& ids) {
  std::string text;
  for (const TensorId id : ids)
    if (id != kNoTensor) text += (text.empty() ? "" : ", ") + graph.tensor(id).name;
  return text;
}

std::size_t weight_bytes(const Graph& graph, const Layer& layer) {
  std::size_t bytes = 0;
  for (const TensorId id : layer.inputs)
    if (id != kNoTensor) bytes += graph.tensor(id).constant.bytes();
  return bytes;
}

std::string post_ops(const Layer& layer) {
  std::string text;
  for (const PostOp& op : layer.post_ops) text += (text.empty() ? "" : " + ") + op.str();
  return text;
}

nlohmann::json tensor_json(const Graph& graph, TensorId id) {
  const TensorDef& def = graph.tensor(id);
  return {{"name", def.name}, {"type", to_string(def.type)}, {"shape", def.shape.str()}};
}

nlohmann::json to_json(const Graph& graph) {
  const auto none = nlohmann::json::array();
  nlohmann::json out = {{"name", graph.name},
                        {"passes", graph.applied_passes},
                        {"inputs", none},
                        {"outputs", none},
                        {"layers", none}};
  for (const TensorId id : graph.inputs) out["inputs"].push_back(tensor_json(graph, id));
  for (const TensorId id : graph.outputs) out["outputs"].push_back(tensor_json(graph, id));
  for (const Layer& layer : graph.layers()) {
    nlohmann::json row = {{"id", layer.id},           {"name", layer.name},
                          {"type", layer.type->name}, {"params", layer.params.str()},
                          {"sources", layer.sources}, {"weight_bytes", weight_bytes(graph, layer)},
                          {"post_ops", none},         {"inputs", none},
                          {"outputs", none}};
    for (const PostOp& op : layer.post_ops) row["post_ops"].push_back(op.str());
    for (const TensorId id : layer.inputs)
      row["inputs"].push_back(id == kNoTensor ? nlohmann::json() : tensor_json(graph, id));
    for (const TensorId id : layer.outputs)
      row["outputs"].push_back(id == kNoTensor ? nlohmann::json() : tensor_json(graph, id));
    out["layers"].push_back(std::move(row));
  }
  return out;
}

void print_graph(const Graph& graph) {
  for (const TensorId id : graph.inputs)
    print_out("input   {}  {} {}\n", graph.tensor(id).name, to_string(graph.tensor(id).type),
              graph.tensor(id).shape.str());
  for (const TensorId id : graph.outputs)
    print_out("output  {}  {} {}\n", graph.tensor(id).name, to_string(graph.tensor(id).type),
              graph.tensor(id).shape.str());
  Table table({"layer", "type", "parameters", "post-ops", "output", "shape", ">weights, KiB"});
  std::size_t total = 0;
  for (const Layer& layer : graph.layers()) {
    const std::size_t bytes = weight_bytes(graph, layer);
    total += bytes;
    const TensorId first = layer.outputs.empty() ? kNoTensor : layer.outputs[0];
    table.add({layer.name, layer.type->name, layer.params.str(), post_ops(layer),
               names(graph, layer.outputs),
               first == kNoTensor ? "" : graph.tensor(first).shape.str(),
               bytes == 0 ? "" : fmt::format("{:.1f}", kibibytes(bytes))});
  }
  print_lines('\n' + table.str());
  print_out("\n{}, {:.2f} MiB of weights\n", counted(graph.layers().size(), "layer"),
            mebibytes(total));
}

// "net.dnn: 1.234 ms at 2 threads, cpu:float32,cpu:qint8, AMD EPYC …", of each path.
std::string title_of(const std::string& file, const std::vector<TunedPathInfo>& paths) {
  std::string title = file;
  for (const TunedPathInfo& path : paths)
    title += fmt::format("{}{} at {}, {}, {}", title.size() == file.size() ? ": " : "; ",
                         path.time_us > 0 ? fmt::format("{:.3f} ms", path.time_us * 1e-3)
                                          : std::string("not measured"),
                         counted(path.threads, "thread"),
                         fmt::format("{}", fmt::join(path.schemas, ",")), path.machine);
  return title;
}

// The layers; of a tuned net the plan that runs here, with its routines, times and adapt layers.
Result<std::string> draw(const Net& net, const InspectArguments& arguments, NamedShapes shapes) {
  const std::vector<TunedPathInfo> paths = net.tuned_paths();
  if (paths.empty()) return to_dot(NetAccess::graph(net));
  complete_shapes_from(paths.front().shapes, net.inputs(), shapes);
  const auto plan = net.plan(shapes);
  if (!plan.ok()) return plan.status();
  DrawingNotes notes = notes_of(impl_of(**plan));
  notes.title = title_of(arguments.path, paths);
  return to_dot(*impl_of(**plan).graph, notes);
}

int inspect_net(const InspectArguments& arguments) {
  const auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  const Graph& graph = NetAccess::graph(*net);
  if (!arguments.dot.empty() || !arguments.svg.empty()) {
    const auto dot = draw(*net, arguments, *shapes);
    if (!dot.ok()) return fail(dot.status());
    if (!arguments.dot.empty())
      if (Status status = write_text(*dot, arguments.dot); !status.ok()) return fail(status);
    if (!arguments.svg.empty())
      if (Status status = write_svg(*dot, arguments.svg); !status.ok()) return fail(status);
  }
  const std::vector<TunedPathInfo> paths = net->tuned_paths();
  if (arguments.json) {
    nlohmann::json report = to_json(graph);
    report["tuned_paths"] = paths_json(paths);
    print_lines(json_text(report));
  } else if (arguments.dot.empty() && arguments.svg.empty()) {
    print_graph(graph);
    if (!paths.empty()) print_lines('\n' + paths_table(paths));
  } else {
    print_out("{}\n", arguments.svg.empty() ? arguments.dot : arguments.svg);
  }
  return kDone;
}

int list_passes(bool json) {
  if (json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Pass& pass : all_passes())
      rows.push_back({{"pass", pass.name}, {"version", pass.version}, {"what", pass.doc}});
    print_lines(json_text({{"passes", rows}}));
    return kDone;
  }
  Table table({"pass", ">version", "what it does"});
  for (const Pass& pass : all_passes())
    table.add({pass.name, std::to_string(pass.version), pass.doc});
  print_lines(table.str());
  return kDone;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  auto passes = std::make_shared<bool>(false);
  auto tuned = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("inspect", "show what is in a net");
  add_net_option(*command, *arguments);
  add_shape_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->get_option("NET")->required(false);
  command->add_option("--svg", arguments->svg, "draw the net as SVG (needs Graphviz)");
  command->add_option("--dot", arguments->dot, "write the net in the DOT language");
  command->add_flag("--passes", *passes, "list the graph passes instead");
  command
      ->add_option("--routines", *tuned,
                   "instead, list what these tuned .dnn files take, for SOFTNEURO_EDGE_ROUTINES")
      ->type_name("FILE.dnn");
  return {command, [arguments, passes, tuned] {
            if (*passes) return list_passes(arguments->json);
            if (!tuned->empty()) return list_tuned_routines(*tuned, arguments->json);
            if (arguments->path.empty()) return wrong_usage("NET is required");
            return inspect_net(*arguments);
          }};
}

}  // namespace softneuro::tool
