#include "tuned_routines.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "command.h"
#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "json_text.h"
#include "net/required_routines.h"
#include "output.h"

namespace softneuro::tool {
namespace {

struct Row {
  RequiredRoutine routine;
  std::size_t layers = 0;  // of all nets
};
using Rows = std::map<std::pair<std::string, std::string>, Row>;  // by folder and descriptor

struct TunedNet {
  std::string file;
  std::vector<RoutinePath> paths;
};

Result<TunedNet> add_net(const std::string& file, Rows& rows) {
  auto contents = load_dnn_contents(file, builtin_layer_types(), Verify::structure);
  if (!contents.ok()) return contents.status();
  auto taken = required_routines(std::move(contents->graph), contents->paths);
  if (!taken.ok()) return Status(taken.status()).with_context(file);
  for (RequiredRoutine& routine : *taken) {
    Row& row = rows[{routine.folder, routine.routine}];
    row.layers += routine.layers.size();
    row.routine = std::move(routine);
  }
  return TunedNet{file, std::move(contents->paths)};
}

nlohmann::json to_json(const std::vector<TunedNet>& nets, const Rows& rows) {
  nlohmann::json out = {{"nets", nlohmann::json::array()},
                        {"routines", nlohmann::json::array()},
                        {"default_choices", nlohmann::json::array()}};
  for (const TunedNet& net : nets) {
    nlohmann::json paths = nlohmann::json::array();
    for (const RoutinePath& path : net.paths)
      paths.push_back({{"machine", path.machine}, {"threads", path.threads}});
    out["nets"].push_back({{"file", net.file}, {"tuned_paths", paths}});
  }
  for (const auto& [key, row] : rows) {
    nlohmann::json entry = {{"routine", row.routine.routine}, {"layers", row.layers}};
    entry[row.routine.is_builtin ? "folder" : "type"] = row.routine.folder;
    out[row.routine.is_builtin ? "routines" : "default_choices"].push_back(std::move(entry));
  }
  return out;
}

// Lines of the list that begin with # are for people.
void print_list(const std::vector<TunedNet>& nets, const Rows& rows) {
  print_out("# SOFTNEURO_EDGE_ROUTINES: what these nets take beside the small set.\n");
  for (const TunedNet& net : nets) {
    if (net.paths.empty()) print_out("#   {}: not tuned, takes default routines\n", net.file);
    for (const RoutinePath& path : net.paths)
      print_out("#   {}: tuned on {} at {} thread{}\n", net.file, path.machine, path.threads,
                path.threads == 1 ? "" : "s");
  }
  std::size_t width = 0;
  for (const auto& [key, row] : rows)
    if (row.routine.is_builtin) width = std::max(width, key.first.size() + key.second.size() + 1);
  const auto layers = [](const Row& row) {
    return fmt::format("{} layer{}", row.layers, row.layers == 1 ? "" : "s");
  };
  for (const auto& [key, row] : rows)
    if (row.routine.is_builtin)
      print_out("{:<{}}  # {}\n", key.first + ' ' + key.second, width, layers(row));
  for (const auto& [key, row] : rows)
    if (!row.routine.is_builtin)
      print_out(
          "# {} {}: of a plugin or another device; in edge builds default routines take its "
          "place ({}; tune --plugin none does not take such)\n",
          key.first, key.second, layers(row));
}

}  // namespace

int list_tuned_routines(const std::vector<std::string>& files, bool json) {
  Rows rows;
  std::vector<TunedNet> nets;
  for (const std::string& file : files) {
    auto net = add_net(file, rows);
    if (!net.ok()) return fail(net.status());
    nets.push_back(*std::move(net));
  }
  if (json)
    print_lines(json_text(to_json(nets, rows)));
  else
    print_list(nets, rows);
  return kDone;
}

}  // namespace softneuro::tool
