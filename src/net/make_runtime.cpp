#include "net/make_runtime.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/plugin/loader.h"
#include "core/plugin/search_path.h"
#include "routines/builtin.h"

namespace softneuro {
namespace {

void log(const NetOptions& options, LogLevel level, const std::string& message) {
  if (options.log) options.log(level, printable_text(message));
}

// Those beside the library. One that declines is a line in the log; one that cannot be used is an
// error there.
void add_found_plugins(Registry& registry, const NetOptions& options) {
  for (const FoundPlugin& found : found_plugins()) {
    if (found.plugin == nullptr)
      log(options, LogLevel::error,
          fmt::format("plugin '{}' cannot be used: {}", found.path, found.reason));
    else if (const Status status = found.plugin->add(registry); !status.ok())
      log(options, LogLevel::info,
          fmt::format("plugin '{}' is not used: {}", found.path, status.message()));
  }
}

// Then those of the options, else those of the environment.
Status load_plugins(Runtime::Parts& parts, const NetOptions& options) {
  const std::vector<std::string> paths =
      options.plugins.empty() ? plugins_of_environment() : options.plugins;
  if (std::find(paths.begin(), paths.end(), kNoFoundPlugins) == paths.end())
    add_found_plugins(parts.registry, options);
  for (const std::string& path : paths) {
    if (path == kNoFoundPlugins) continue;
    SN_RETURN_IF_ERROR(load_plugin(path, parts.registry, parts.libraries.emplace_back()));
    log(options, LogLevel::info, fmt::format("plugin '{}' is loaded", path));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Runtime>> make_runtime(const NetOptions& options) {
  SN_ASSIGN_OR_RETURN(Registry registry, make_builtin_registry());
  Runtime::Parts parts{.libraries = {},
                       .registry = std::move(registry),
                       .allocator = options.allocator,
                       .own_pool = nullptr,
                       .pool = options.thread_pool,
                       .log = options.log,
                       .schemas = options.schemas};
  if (parts.allocator == nullptr) parts.allocator = &default_allocator();
  if (parts.pool == nullptr) {
    SN_ASSIGN_OR_RETURN(parts.own_pool, create_thread_pool(options.threads));
    parts.pool = parts.own_pool.get();
  }
  SN_RETURN_IF_ERROR(load_plugins(parts, options));
  return std::make_shared<Runtime>(std::move(parts));
}

}  // namespace softneuro
