// softneuro merge: one file with the tuned paths of several, as made on several machines.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "core/dnn/file.h"
#include "core/graph/graph_key.h"
#include "core/layers/builtin_layers.h"
#include "json_text.h"
#include "net/tuned_plan.h"
#include "output.h"
#include "quantization/calibration.h"
#include "tuned_paths.h"

namespace softneuro::tool {
namespace {

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool json = false;
};

// The layers and the model's own ranges, without what calibration found.
std::uint64_t model_key(const Graph& graph) {
  Graph bare = graph;
  forget_calibration(bare);
  return graph_key(bare);
}

// Adds what `from` has. Its path takes the place of one for the same machine, threads and shapes.
void add_paths(DnnContents& into, DnnContents&& from, const std::string& file) {
  bool same_ranges = graph_key(into.graph) == graph_key(from.graph);
  if (!same_ranges && std::none_of(into.paths.begin(), into.paths.end(), reads_ranges)) {
    into.graph = std::move(from.graph);  // paths without 8-bit layers hold for any ranges
    same_ranges = true;
  }
  for (RoutinePath& path : from.paths) {
    if (!same_ranges && reads_ranges(path)) {
      print_error(
          "softneuro: '{}': the path for {}, {}, is left out: it has 8-bit layers, whose ranges "
          "differ from those of the files before\n",
          file, path.machine, counted(path.threads, "thread"));
      continue;
    }
    const auto replaced =
        std::find_if(into.paths.begin(), into.paths.end(),
                     [&](const RoutinePath& known) { return same_target(known, path); });
    if (replaced != into.paths.end())
      *replaced = std::move(path);
    else
      into.paths.push_back(std::move(path));
  }
  into.packed.merge(from.packed);  // by keys that name ranges, too
}

int merge_nets(const MergeArguments& arguments) {
  std::optional<DnnContents> merged;
  for (const std::string& file : arguments.files) {
    auto contents = load_dnn_contents(file, builtin_layer_types());
    if (!contents.ok()) return fail(contents.status());
    if (contents->graph.has_left_out())
      return fail(Status(StatusCode::unsupported,
                         fmt::format("'{}' holds packed weights only: merge the files that have "
                                     "the model's own",
                                     file)));
    for (const std::string& line : contents->unread_paths)
      print_error("softneuro: '{}': {}\n", file, line);
    if (contents->paths.empty()) print_error("softneuro: '{}' has no tuned path\n", file);
    if (!merged) {
      merged = *std::move(contents);
      continue;
    }
    if (model_key(merged->graph) != model_key(contents->graph))
      return fail(Status(StatusCode::invalid_argument,
                         fmt::format("'{}' and '{}' are not files of one net: import the model "
                                     "once and tune that file on each machine",
                                     arguments.files.front(), file)));
    add_paths(*merged, *std::move(contents), file);
  }
  if (Status status = save_dnn(merged->graph, arguments.output, merged->paths, merged->packed);
      !status.ok())
    return fail(status);

  // As the file gives it back.
  const auto net = Net::load(arguments.output, {.plugins = {"none"}});
  if (!net.ok()) return fail(net.status());
  const std::vector<TunedPathInfo> paths = net->tuned_paths();
  if (arguments.json)
    print_lines(
        json_text(nlohmann::json{{"file", arguments.output}, {"paths", paths_json(paths)}}));
  else if (paths.empty())
    print_out("{}: no tuned path (softneuro tune makes one)\n", arguments.output);
  else
    print_lines(paths_table(paths));
  return kDone;
}

}  // namespace

Command add_merge(CLI::App& app) {
  auto arguments = std::make_shared<MergeArguments>();
  CLI::App* command =
      app.add_subcommand("merge", "put the tuned paths of several files of one net into one file");
  command->add_option("FILES", arguments->files, "tuned .dnn files of one net")
      ->required()
      ->expected(2, -1)  // any number from two on
      ->type_name("A.dnn B.dnn");
  command->add_option("-o,--output", arguments->output, "the .dnn file to write")->required();
  command->add_flag("--json", arguments->json, "results as JSON on standard output");
  return {command, [arguments] { return merge_nets(*arguments); }};
}

}  // namespace softneuro::tool
