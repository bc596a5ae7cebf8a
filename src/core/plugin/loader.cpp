#include "core/plugin/loader.h"

#include <cstdlib>
#include <string_view>

#include "core/base/error.h"

#if !defined(SOFTNEURO_NO_PLUGINS)
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/file_descriptor.h"
#include "core/plugin/routine.h"
#include "core/plugin/search_path.h"
#endif

namespace softneuro {

std::vector<std::string> plugins_of_environment() {
#if defined(__linux__)
  const char* text = secure_getenv("SOFTNEURO_PLUGINS");
#else
  const char* text = std::getenv("SOFTNEURO_PLUGINS");
#endif
  std::vector<std::string> paths;
  std::string_view rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) paths.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return paths;
}

#if defined(SOFTNEURO_NO_PLUGINS)

Status load_plugin(const std::string& path, Registry&, PluginFile&) {
  return unsupported("plugin '{}': this SoftNeuro is built without plugins (SOFTNEURO_NO_PLUGINS)",
                     path);
}

Status add_plugin(PluginEntryFunction, const std::string& path, std::shared_ptr<void>,
                  Registry& registry) {
  PluginFile none;
  return load_plugin(path, registry, none);
}

#else

namespace {

// What version 1 of the ABI has.
constexpr std::size_t kPluginSize = offsetof(sn_plugin, routines) + sizeof(sn_plugin::routines);
// A count beyond it is no count: the table is something else.
constexpr std::uint32_t kMostRoutines = 1u << 16;

// What the plugins of this source tree are built on may not be unloaded (an OpenMP runtime, say).
bool may_be_closed(void* library) {
  return dlsym(library, kIntreePluginSymbol) == nullptr;
}

Result<std::shared_ptr<void>> open_library(const std::string& path) {
  // dlopen would look for a bare name in the system's folders; only the file that is named counts.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (access(file.c_str(), F_OK) != 0)
    return make_error(
        errno == ENOENT || errno == ENOTDIR ? StatusCode::not_found : StatusCode::io_error,
        "plugin '{}': {}", path, error_text(errno));
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    std::string_view reason = text != nullptr ? text : "the dynamic linker gives no reason";
    if (reason.starts_with(file + ": ")) reason.remove_prefix(file.size() + 2);
    return invalid_argument("plugin '{}' cannot be loaded: {}", path, reason);
  }
  return std::shared_ptr<void>(handle, [](void* library) {
    if (may_be_closed(library)) dlclose(library);
  });
}

Status check_table(const sn_plugin* table, const std::string& path, const PluginMessage& message) {
  if (table == nullptr)
    return unsupported("plugin '{}' is not usable here: {}", path,
                       message.empty() ? "it gives no reason" : message.text());
  if (table->abi_version != SN_PLUGIN_ABI_VERSION)
    return make_error(StatusCode::incompatible,
                      "plugin '{}' was built for plugin ABI {}, this library supports {}: rebuild "
                      "it against this SoftNeuro",
                      path, table->abi_version, SN_PLUGIN_ABI_VERSION);
  if (table->struct_size < kPluginSize)
    return invalid_argument("plugin '{}': struct_size is {}, at least {} bytes are needed", path,
                            table->struct_size, kPluginSize);
  if (table->name == nullptr || *table->name == '\0' || table->version == nullptr)
    return invalid_argument("plugin '{}': its name or version is missing", path);
  if (table->routine_count == 0)
    return invalid_argument("plugin '{}': it contains no routines that this library knows of",
                            path);
  if (table->routine_count > kMostRoutines || table->routines == nullptr)
    return invalid_argument("plugin '{}': its table of {} routines {}", path, table->routine_count,
                            table->routines == nullptr ? "is null" : "is too long");
  return {};
}

// Whether the registry, or the plugin itself before this one, has a routine of that name.
Status check_place(const Routine& routine, const Registry& registry,
                   const std::vector<std::unique_ptr<const Routine>>& before) {
  if (registry.layer_types().find(routine.layer_type()) == nullptr)
    return invalid_argument("'{}' is for the layer type '{}', which does not exist",
                            routine.descriptor().str(), routine.layer_type());
  const bool is_double =
      registry.find(routine.layer_type(), routine.descriptor().str()) != nullptr ||
      std::any_of(before.begin(), before.end(), [&](const auto& other) {
        return other->layer_type() == routine.layer_type() &&
               other->descriptor() == routine.descriptor();
      });
  if (is_double)
    return invalid_argument("'{}' of '{}' exists already", routine.descriptor().str(),
                            routine.layer_type());
  return {};
}

Status add_intree_plugin(const IntreePlugin& plugin, const std::string& path, Registry& registry,
                         PluginFile& file) {
  if (const std::string mismatch = intree_tag_mismatch(plugin); !mismatch.empty())
    return make_error(StatusCode::incompatible, "plugin '{}': {}", path, mismatch);
  file.intree = &plugin;
  if (Status status = plugin.add(registry); !status.ok())
    return std::move(status).with_context(fmt::format("plugin '{}'", path));
  return {};
}

}  // namespace

Status add_plugin(PluginEntryFunction entry, const std::string& path, std::shared_ptr<void> library,
                  Registry& registry) {
  PluginMessage message;
  const sn_plugin* table = entry(&plugin_host(), message.data(), message.size());
  SN_RETURN_IF_ERROR(check_table(table, path, message));
  auto plugin = std::make_shared<LoadedPlugin>();
  plugin->name = table->name;
  plugin->library = std::move(library);

  std::vector<std::unique_ptr<const Routine>> routines;
  for (std::uint32_t i = 0; i < table->routine_count; ++i) {
    const auto context = [&] { return fmt::format("plugin '{}', routine {}", path, i); };
    auto routine = make_plugin_routine(plugin, table->routines[i]);
    if (!routine.ok()) return Status(routine.status()).with_context(context());
    if (Status status = check_place(**routine, registry, routines); !status.ok())
      return std::move(status).with_context(context());
    routines.push_back(std::move(*routine));
  }
  for (auto& routine : routines) SN_RETURN_IF_ERROR(registry.add(std::move(routine)));
  return {};
}

Status load_plugin(const std::string& path, Registry& registry, PluginFile& file) {
  SN_ASSIGN_OR_RETURN(std::shared_ptr<void> opened, open_library(path));
  if (const void* symbol = dlsym(opened.get(), kIntreePluginSymbol); symbol != nullptr) {
    SN_RETURN_IF_ERROR(
        add_intree_plugin(*static_cast<const IntreePlugin*>(symbol), path, registry, file));
    file.library = std::move(opened);
    return {};
  }
  const auto entry = reinterpret_cast<PluginEntryFunction>(dlsym(opened.get(), "sn_plugin_entry"));
  if (entry == nullptr)
    return invalid_argument(
        "'{}' is a shared library, but no plugin of SoftNeuro: it has no sn_plugin_entry", path);
  SN_RETURN_IF_ERROR(add_plugin(entry, path, opened, registry));
  file.library = std::move(opened);
  return {};
}

#endif  // SOFTNEURO_NO_PLUGINS

}  // namespace softneuro
