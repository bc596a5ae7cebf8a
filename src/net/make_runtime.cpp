#include "net/make_runtime.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/plugin/loader.h"
#include "core/plugin/search_path.h"
#include "routines/builtin.h"

namespace softneuro {
namespace {

void log(const NetOptions& options, LogLevel level, const std::string& message) {
  if (options.log) options.log(level, printable_text(message));
}

// One that is beside the library. That it is unavailable is a line in the log, that it cannot be
// used an error there.
PluginLoad load_found(const FoundPlugin& found, Registry& registry, const NetOptions& options) {
  PluginLoad load;
  load.path = found.path;
  load.intree = found.plugin;
  if (found.plugin == nullptr) {
    load.status = Status(StatusCode::incompatible, found.reason);
    log(options, LogLevel::error,
        fmt::format("plugin '{}' cannot be used: {}", found.path, found.reason));
    return load;
  }
  load.status = found.plugin->add(registry);
  if (!load.status.ok())
    log(options, LogLevel::info,
        fmt::format("plugin '{}' is not used: {}", found.path, load.status.message()));
  return load;
}

PluginLoad load_named(const std::string& path, Runtime::Parts& parts, const NetOptions& options) {
  PluginLoad load;
  load.path = path;
  load.named = true;
  PluginFile file;
  load.status = load_plugin(path, parts.registry, file);
  if (!load.status.ok() && options.plugins.empty())
    load.status = Status(load.status.code(),
                         fmt::format("{} (the environment variable SOFTNEURO_PLUGINS names it)",
                                     load.status.message()));
  load.intree = file.intree;
  parts.libraries.push_back(std::move(file.library));
  if (load.status.ok()) log(options, LogLevel::info, fmt::format("plugin '{}' is loaded", path));
  return load;
}

// Those beside the library, then those that are named.
Status load_plugins(Runtime::Parts& parts, const NetOptions& options,
                    std::vector<PluginLoad>* loads) {
  std::size_t routines = parts.registry.all().size();
  const auto note = [&](PluginLoad load) {
    if (loads == nullptr) return;
    const std::size_t before = std::exchange(routines, parts.registry.all().size());
    load.routines = routines - before;
    loads->push_back(std::move(load));
  };
  const std::vector<std::string> paths = named_plugins(options);
  if (std::find(paths.begin(), paths.end(), kNoFoundPlugins) == paths.end())
    for (const FoundPlugin& found : found_plugins())
      note(load_found(found, parts.registry, options));
  for (const std::string& path : paths) {
    if (path == kNoFoundPlugins) continue;
    PluginLoad load = load_named(path, parts, options);
    if (loads == nullptr && !load.status.ok()) return load.status;
    note(std::move(load));
  }
  return {};
}

// NetOptions::device: "cuda", "cuda=1".
struct DeviceOption {
  DeviceId id;
  int number = 0;
};

Result<DeviceOption> parse_device(const std::string& text) {
  if (text.empty()) return DeviceOption();
  const std::size_t equals = text.find('=');
  const std::optional<DeviceId> id = DeviceId::parse(std::string_view(text).substr(0, equals));
  DeviceOption option;
  bool is_valid = id.has_value();
  if (is_valid) option.id = *id;
  if (equals != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, option.number);
    is_valid = is_valid && error == std::errc() && rest == end && option.number >= 0 &&
               !option.id.is_host();
  }
  if (is_valid) return option;
  return invalid_argument(
      "the device '{}' is none: it is 'cpu', or a device's name and, of several, a number, as "
      "'cuda=1'",
      printable_text(text));
}

Status check_device(const Registry& registry, DeviceId id) {
  if (id.is_host()) return {};
  if (registry.device(id) != nullptr) {
    const Status status = registry.started_device(id).status();
    return status.ok() ? status : Status(StatusCode::not_found, std::string(status.message()));
  }
  std::vector<std::string> known = {"cpu"};
  for (const Device* const device : registry.devices()) known.emplace_back(device->id().c_str());
  return make_error(StatusCode::not_found,
                    "there is no device '{}' here, only {}: softneuro doctor shows why", id.c_str(),
                    fmt::join(known, ", "));
}

// Once per process, to the first that listens.
void warn_of_mask(const NetOptions& options) {
  static std::atomic_flag warned;
  const char* const mask = std::getenv("SOFTNEURO_MAX_ISA");
  if (mask == nullptr || !options.log) return;
  const std::string problem = mask_problem(mask);
  if (!problem.empty() && !warned.test_and_set()) log(options, LogLevel::warning, problem);
}

}  // namespace

std::vector<std::string> named_plugins(const NetOptions& options) {
  return options.plugins.empty() ? plugins_of_environment() : options.plugins;
}

Result<std::shared_ptr<Runtime>> make_runtime(const NetOptions& options,
                                              std::vector<PluginLoad>* loads) {
  warn_of_mask(options);
  SN_ASSIGN_OR_RETURN(Registry registry, make_builtin_registry());
  Runtime::Parts parts{.libraries = {},
                       .registry = std::move(registry),
                       .allocator = options.allocator,
                       .owned_pool = nullptr,
                       .pool = options.thread_pool,
                       .log = options.log,
                       .schemas = options.schemas,
                       .device = {}};
  if (parts.allocator == nullptr) parts.allocator = &default_allocator();
  if (parts.pool == nullptr) {
    SN_ASSIGN_OR_RETURN(parts.owned_pool, create_thread_pool(options.threads));
    parts.pool = parts.owned_pool.get();
  }
  SN_ASSIGN_OR_RETURN(const DeviceOption chosen, parse_device(options.device));
  parts.device = chosen.id;
  parts.registry.set_device_number(chosen.id, chosen.number);
  SN_RETURN_IF_ERROR(load_plugins(parts, options, loads));
  SN_RETURN_IF_ERROR(check_device(parts.registry, chosen.id));
  SN_RETURN_IF_ERROR(check_schemas(parts.registry, options.schemas));
  for (const Device* device : parts.registry.devices())
    parts.registry.device(device->id())->pool().set_limit(options.device_memory);
  return std::make_shared<Runtime>(std::move(parts));
}

}  // namespace softneuro
