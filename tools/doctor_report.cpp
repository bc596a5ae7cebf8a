#include "doctor_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "core/base/cpu.h"
#include "core/base/machine.h"
#include "core/base/physical_cores.h"
#include "core/plugin/loaded_file.h"
#include "core/plugin/loader.h"
#include "core/plugin/search_path.h"
#include "import/model_import.h"
#include "net/make_runtime.h"
#include "profiler/cache/profile_cache.h"
#include "softneuro/version.h"

namespace softneuro::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Without links; as it is where that cannot be told.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  return error ? path : file.string();
}

BuildReport examine_build() {
  BuildReport build;
  build.version = version();
#if defined(__clang__)
  build.compiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
  build.compiler = "GCC " __VERSION__;
#endif
  build.file = resolved(library_file());
  build.is_shared = build.file != resolved("/proc/self/exe");
#if SOFTNEURO_HAS_IMPORT
  for (const build::Format& format : known_formats()) build.importers.emplace_back(format.name);
#endif
  return build;
}

MachineReport examine_machine() {
  MachineReport machine;
  machine.name = machine_name();
  machine.features = words_of(to_string(usable_features()));
  machine.hidden_features = words_of(to_string(processor_features() - usable_features()));
  if (const char* const mask = std::getenv("SOFTNEURO_MAX_ISA")) {
    machine.mask = mask;
    machine.mask_problem = mask_problem(mask);
  }
  machine.cores = physical_cores();
  return machine;
}

// "onednn" of ".../libsoftneuro_onednn.so".
std::string name_of(const std::string& path) {
  std::string name = fs::path(path).stem().string();
  for (const std::string_view prefix : {"libsoftneuro_", "lib"})
    if (name.starts_with(prefix) && name.size() > prefix.size()) return name.substr(prefix.size());
  return name;
}

PluginReport describe(const PluginLoad& load) {
  PluginReport plugin;
  plugin.name = load.intree != nullptr ? load.intree->name : name_of(load.path);
  plugin.path = resolved(load.path);
  plugin.named = load.named;
  plugin.state = load.status.ok()                                ? PluginState::used
                 : load.status.code() == StatusCode::unsupported ? PluginState::unavailable
                                                                 : PluginState::unusable;
  plugin.reason = load.status.message();
  plugin.routines = load.routines;
  if (load.intree != nullptr) plugin.libraries = load.intree->libraries();
  for (PluginLibrary& library : plugin.libraries) library.path = resolved(library.path);
  return plugin;
}

// Those of the source tree that nothing was found of.
void add_missing_plugins(DoctorReport& report, bool has_runtime, bool left_out) {
  const std::vector<std::string> built = words_of(SOFTNEURO_BUILT_PLUGINS);
  for (const std::string& name : words_of(SOFTNEURO_SOURCE_PLUGINS)) {
    if (std::any_of(report.plugins.begin(), report.plugins.end(),
                    [&](const PluginReport& found) { return found.name == name; }))
      continue;
    PluginReport plugin;
    plugin.name = name;
    if (!has(built, name)) {
      plugin.reason = "not in this build";
    } else if (left_out) {
      plugin.state = PluginState::left_out;
      plugin.reason = "'none' is among the plugins that are named";
    } else if (!has_runtime) {
      plugin.reason = "not looked for, as no net can be made";
    } else {
      plugin.reason = fmt::format("not in the folder '{}'", report.plugin_folder);
    }
    report.plugins.push_back(std::move(plugin));
  }
}

void examine_runtime(const NetOptions& options, DoctorReport& report) {
  std::vector<PluginLoad> loads;
  const auto runtime = make_runtime(options, &loads);
  report.net_error = runtime.status().message();
  for (const PluginLoad& load : loads) {
    report.plugins.push_back(describe(load));
    if (load.named && report.net_error.empty()) report.net_error = load.status.message();
  }
  report.plugin_folder = resolved(plugin_folder());
  add_missing_plugins(report, runtime.ok(), has(named_plugins(options), kNoFoundPlugins));
  report.devices.push_back({DeviceId().c_str(), report.machine.name, {}});
  if (!runtime.ok()) return;
  report.machine.threads = (*runtime)->pool().concurrency();
  const Registry& registry = (*runtime)->registry();
  for (const Device* device : registry.devices()) {
    const Status status = registry.device(device->id())->start();
    report.devices.push_back({device->id().c_str(), status.ok() ? device->name() : std::string(),
                              std::string(status.message())});
  }
}

std::map<std::string, std::string> softneuro_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (text.starts_with("SOFTNEURO_") && equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace

CacheReport examine_cache(const std::string& folder) {
  CacheReport cache;
  cache.folder = folder;
  if (folder.empty()) return cache;
  std::error_code error;
  cache.exists = fs::is_directory(folder, error);
  // Missing folders are made, each in the one above.
  fs::path place = folder;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  cache.writable = fs::is_directory(place, error) && access(place.c_str(), W_OK | X_OK) == 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const std::uintmax_t bytes = entry->file_size(ignored);
    ++cache.files;
    if (!ignored) cache.bytes += bytes;
  }
  return cache;
}

DoctorReport examine(const NetOptions& options) {
  DoctorReport report;
  report.build = examine_build();
  report.machine = examine_machine();
  examine_runtime(options, report);
  report.cache = examine_cache(ProfileCache::default_folder());
  report.environment = softneuro_environment();
  return report;
}

}  // namespace softneuro::tool
