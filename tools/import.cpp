// softneuro import: a model file becomes a .dnn file, or a list of what stands in the way.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "import/model_import.h"
#include "json_text.h"
#include "net/net_access.h"
#include "net_log.h"
#include "output.h"
#include "table.h"

namespace softneuro::tool {
namespace {

struct ImportArguments : NetArguments {
  std::string output;
  bool check = false;
};

int check_model(const ImportArguments& arguments, const ImportOptions& options) {
  auto report = softneuro::check_model(arguments.path, options);
  if (!report.ok()) return fail(report.status());
  const std::vector<build::UnsupportedNode>& unsupported = report->unsupported;
  if (arguments.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const build::UnsupportedNode& node : unsupported)
      rows.push_back({{"node", node.node},
                      {"operator", node.op},
                      {"domain", node.domain},
                      {"opset", node.opset.value_or(0)},
                      {"types", node.types},
                      {"reason", node.reason}});
    print_lines(json_text(nlohmann::json{{"supported", rows.empty()},
                                         {"nodes", report->nodes},
                                         {"opset", report->opset.value_or(0)},
                                         {"ir_version", report->version},
                                         {"producer", report->producer},
                                         {"unsupported", rows}}));
  } else if (unsupported.empty()) {
    print_out("{}: all {} nodes are supported (opset {}, made by {})\n", arguments.path,
              report->nodes, report->opset.value_or(0),
              report->producer.empty() ? "an unnamed producer" : report->producer);
  } else {
    Table table({"node", "operator", ">opset", "types", "reason"});
    for (const build::UnsupportedNode& node : unsupported)
      table.add({node.node, node.domain.empty() ? node.op : node.domain + "." + node.op,
                 std::to_string(node.opset.value_or(0)), node.types, node.reason});
    print_lines(table.str());
  }
  if (unsupported.empty()) return kDone;
  print_error("softneuro: {}: {} of its inputs and nodes cannot be imported\n", arguments.path,
              unsupported.size());
  return kFailed;
}

int import_model(const ImportArguments& arguments) {
  if (is_dnn_file(arguments.path))
    return fail(Status(StatusCode::invalid_argument,
                       fmt::format("'{}' is a .dnn file already: tune, run and the other commands "
                                   "take it as it is",
                                   arguments.path)));
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  auto constants = given_constants(arguments);
  if (!constants.ok()) return fail(constants.status());
  if (arguments.check) return check_model(arguments, {.shapes = *shapes, .constants = *constants});
  if (arguments.output.empty()) return wrong_usage("say where to write: -o NET.dnn (or --check)");
  auto net = Net::import(arguments.path, {.log = net_log(arguments.verbose, arguments.quiet)},
                         {.shapes = *std::move(shapes),
                          .constants = *std::move(constants),
                          .disabled_passes = arguments.disabled_passes,
                          .verify = arguments.verify && !arguments.no_verify});
  if (!net.ok()) return fail(net.status());
  if (Status status = net->save(arguments.output); !status.ok()) return fail(status);

  std::error_code error;
  const auto bytes = std::filesystem::file_size(arguments.output, error);
  const std::size_t layers = NetAccess::graph(*net).layers().size();
  if (arguments.json) {
    print_lines(json_text(
        nlohmann::json{{"file", arguments.output}, {"bytes", bytes}, {"layers", layers}}));
  } else {
    print_out("{}: {}, {:.2f} MiB\n", arguments.output, counted(layers, "layer"), mebibytes(bytes));
  }
  return kDone;
}

}  // namespace

Command add_import(CLI::App& app) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app.add_subcommand("import", "turn a model file into a .dnn file");
  command->add_option("MODEL", arguments->path, "an ONNX model")->required();
  command->add_option("-o,--output", arguments->output, "the .dnn file to write");
  command->add_flag("--check", arguments->check,
                    "write nothing; list everything that is unsupported");
  add_import_options(*command, *arguments);
  add_verify_option(*command, *arguments);
  add_message_options(*command, *arguments);
  add_shape_option(*command, *arguments);
  return {command, [arguments] { return import_model(*arguments); }};
}

}  // namespace softneuro::tool
