// softneuro doctor: what SoftNeuro has and finds on this machine, for a report of a defect.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "doctor_report.h"
#include "json_text.h"
#include "net_log.h"
#include "output.h"
#include "table.h"

namespace softneuro::tool {
namespace {

using nlohmann::json;

// --- JSON ----------------------------------------------------------------------------------------

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

const char* key_of(PluginState state) {
  switch (state) {
    case PluginState::used:
      return "used";
    case PluginState::unavailable:
      return "unavailable";
    case PluginState::unusable:
      return "unusable";
    case PluginState::left_out:
      return "left_out";
    case PluginState::missing:
      break;
  }
  return "missing";
}

json to_json(const PluginReport& plugin) {
  json libraries = json::array();
  for (const PluginLibrary& library : plugin.libraries)
    libraries.push_back({{"name", library.name},
                         {"version", text_or_null(library.version)},
                         {"path", text_or_null(library.path)},
                         {"problem", text_or_null(library.problem)},
                         {"note", text_or_null(library.note)}});
  return {{"name", plugin.name},
          {"path", text_or_null(plugin.path)},
          {"named", plugin.named},
          {"state", key_of(plugin.state)},
          {"reason", text_or_null(plugin.reason)},
          {"routines", plugin.routines},
          {"libraries", std::move(libraries)}};
}

json to_json(const DoctorReport& report) {
  const BuildReport& build = report.build;
  const MachineReport& machine = report.machine;
  const CacheReport& cache = report.cache;
  json all = {{"version", build.version},
              {"build",
               {{"compiler", build.compiler},
                {"linkage", build.is_shared ? "shared" : "static"},
                {"path", build.file},
                {"importers", build.importers}}},
              {"machine",
               {{"name", machine.name},
                {"features", machine.features},
                {"hidden_features", machine.hidden_features},
                {"mask_problem", text_or_null(machine.mask_problem)},
                {"cores", machine.cores},
                {"threads", machine.threads}}},
              {"plugin_folder", text_or_null(report.plugin_folder)},
              {"plugins", json::array()},
              {"devices", json::array()},
              {"profile_cache",
               {{"folder", text_or_null(cache.folder)},
                {"exists", cache.exists},
                {"writable", cache.writable},
                {"files", cache.files},
                {"bytes", cache.bytes}}},
              {"environment", report.environment},
              {"net_error", text_or_null(report.net_error)}};
  for (const PluginReport& plugin : report.plugins) all["plugins"].push_back(to_json(plugin));
  for (const DeviceReport& device : report.devices)
    all["devices"].push_back({{"id", device.id},
                              {"name", text_or_null(device.name)},
                              {"problem", text_or_null(device.problem)}});
  return all;
}

// --- text ----------------------------------------------------------------------------------------

std::string text_of(PluginState state) {
  switch (state) {
    case PluginState::unusable:
      return "cannot be used";
    case PluginState::left_out:
      return "left out";
    default:
      return key_of(state);
  }
}

std::string joined(const std::vector<std::string>& words, const char* none) {
  return words.empty() ? none : fmt::format("{}", fmt::join(words, " "));
}

using Fields = std::vector<std::pair<std::string, std::string>>;

void print_fields(const std::string& title, const Fields& fields) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, name.size());
  print_out("{}\n", title);
  if (fields.empty()) print_out("  none\n");
  for (const auto& [name, value] : fields) print_out("  {:<{}}  {}\n", name, width, value);
  print_out("\n");
}

void print_machine(const MachineReport& machine) {
  Fields fields = {{"name", machine.name}, {"features", joined(machine.features, "baseline")}};
  if (!machine.mask.empty())
    fields.emplace_back("hidden",
                        fmt::format("{} (SOFTNEURO_MAX_ISA={})",
                                    joined(machine.hidden_features, "nothing"), machine.mask));
  if (!machine.mask_problem.empty()) fields.emplace_back("problem", machine.mask_problem);
  fields.emplace_back("cores", fmt::format("{} that this process may use", machine.cores));
  fields.emplace_back("threads", fmt::format("{} by default", machine.threads));
  print_fields("Machine", fields);
}

void print_plugins(const DoctorReport& report) {
  Table plugins({"plugin", "state", ">routines", "file"});
  Table libraries({"library", "plugin", "version", "file", "note"});
  Fields reasons, problems;
  for (const PluginReport& plugin : report.plugins) {
    plugins.add({plugin.name, text_of(plugin.state), std::to_string(plugin.routines), plugin.path});
    if (!plugin.reason.empty()) reasons.emplace_back(plugin.name, plugin.reason);
    for (const PluginLibrary& library : plugin.libraries) {
      libraries.add({library.name, plugin.name, library.version, library.path, library.note});
      if (!library.problem.empty() && library.problem != plugin.reason)
        problems.emplace_back(library.name, library.problem);
    }
  }
  print_out("Plugins (folder: {})\n",
            report.plugin_folder.empty() ? "none, static build" : report.plugin_folder);
  print_lines(plugins.str());
  for (const auto& [name, reason] : reasons) print_out("{}: {}\n", name, reason);
  print_out("\nLibraries of plugins\n");
  print_lines(libraries.str());
  for (const auto& [name, problem] : problems) print_out("{}: {}\n", name, problem);
  print_out("\n");
}

std::string text_of(const CacheReport& cache) {
  if (cache.folder.empty()) return "none: neither XDG_CACHE_HOME nor HOME is an absolute path";
  if (!cache.exists) return cache.writable ? "not there yet" : "not there, and cannot be made";
  return fmt::format("{}, {} bytes, {}", counted(cache.files, "file"), cache.bytes,
                     cache.writable ? "can be written" : "cannot be written");
}

void print(const DoctorReport& report) {
  const BuildReport& build = report.build;
  print_fields("SoftNeuro " + build.version,
               {{"file", build.file + (build.is_shared ? " (shared)" : " (static)")},
                {"compiler", build.compiler},
                {"importers", joined(build.importers, "none")}});
  print_machine(report.machine);
  print_plugins(report);
  Fields devices;
  for (const DeviceReport& device : report.devices)
    devices.emplace_back(
        device.id, device.problem.empty() ? device.name : "cannot be used: " + device.problem);
  print_fields("Devices", devices);
  print_fields("Profile cache",
               {{"folder", report.cache.folder}, {"state", text_of(report.cache)}});
  print_fields("Environment (SOFTNEURO_*)", {report.environment.begin(), report.environment.end()});
  print_out("{}{}\n",
            report.net_error.empty() ? "Ready: nets can be created." : "Nets cannot be created: ",
            report.net_error);
}

int doctor(const NetArguments& arguments) {
  NetOptions options;
  options.plugins = arguments.plugins;
  // What goes wrong is in the report.
  options.log = net_log(arguments.verbose, !arguments.verbose);
  const DoctorReport report = examine(options);
  if (arguments.json)
    print_lines(json_text(to_json(report)));
  else
    print(report);
  return kDone;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<NetArguments>();
  CLI::App* command = app.add_subcommand(
      "doctor", "show what is here and what is missing: machine, plugins, libraries, devices");
  add_plugin_option(*command, *arguments);
  add_message_options(*command, *arguments);
  return {command, [arguments] { return doctor(*arguments); }};
}

}  // namespace softneuro::tool
