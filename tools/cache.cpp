// softneuro cache: the folder of measurements that tunings share.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "json_text.h"
#include "output.h"
#include "profiler/cache/profile_cache.h"
#include "table.h"

namespace softneuro::tool {
namespace {

struct CacheArguments {
  std::string folder;  // empty: the usual one
  std::string other;   // whose measurements are merged
  bool json = false;
};

void warn(const std::string& warning) {
  print_error("softneuro: {}\n", warning);
}

int list_cache(const std::string& folder, bool json) {
  Table table({"machine", ">threads", ">entries", ">KiB", "file"});
  nlohmann::json rows = nlohmann::json::array();
  for (const ProfileCache::File& file : ProfileCache::files(folder)) {
    ProfileCache cache;
    if (!file.machine.empty()) cache.open(folder, file.machine, file.threads, warn);
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file.path, error);
    rows.push_back({{"machine", nullptr},
                    {"threads", file.threads},
                    {"rows", cache.size()},
                    {"bytes", error ? 0 : bytes},
                    {"file", file.path}});
    if (!file.machine.empty()) rows.back()["machine"] = file.machine;
    table.add({file.machine.empty() ? "no valid entry" : file.machine, std::to_string(file.threads),
               std::to_string(cache.size()), fmt::format("{:.1f}", error ? 0.0 : kibibytes(bytes)),
               file.path});
  }
  if (json)
    print_lines(json_text(nlohmann::json{{"folder", folder}, {"files", rows}}));
  else if (rows.empty())
    print_out("no measurements in '{}'\n", folder);
  else
    print_lines(table.str());
  return kDone;
}

int clear_cache(const std::string& folder, bool json) {
  std::size_t removed = 0;
  for (const ProfileCache::File& file : ProfileCache::files(folder)) {
    std::error_code error;
    if (!std::filesystem::remove(file.path, error) || error)
      return fail(Status(StatusCode::io_error,
                         fmt::format("cannot remove '{}': {}", file.path, error.message())));
    ++removed;
  }
  if (json)
    print_lines(json_text(nlohmann::json{{"folder", folder}, {"removed", removed}}));
  else
    print_out("{} removed from '{}'\n", counted(removed, "file"), folder);
  return kDone;
}

// What both have measured stays as it is in the cache that is merged into.
int merge_cache(const std::string& folder, const std::string& other, bool json) {
  std::error_code error;
  if (!std::filesystem::is_directory(other, error))
    return fail(
        Status(StatusCode::not_found, fmt::format("'{}' is not a profile cache folder", other)));
  nlohmann::json rows = nlohmann::json::array();
  for (const ProfileCache::File& file : ProfileCache::files(other)) {
    if (file.machine.empty()) continue;
    ProfileCache source, target;
    source.open(other, file.machine, file.threads, warn);
    target.open(folder, file.machine, file.threads, warn);
    std::size_t added = 0;
    for (const auto& [key, row] : source.rows()) {
      if (target.rows().contains(key)) continue;
      target.put(key, row);
      ++added;
    }
    target.flush();
    if (target.path().empty())
      return fail(Status(StatusCode::io_error, fmt::format("cannot write to '{}'", folder)));
    rows.push_back({{"machine", file.machine},
                    {"threads", file.threads},
                    {"added", added},
                    {"rows", target.size()}});
    if (!json)
      print_out("{}, {}: {} entries added, {} now\n", file.machine, counted(file.threads, "thread"),
                added, target.size());
  }
  if (json)
    print_lines(json_text(nlohmann::json{{"folder", folder}, {"files", rows}}));
  else if (rows.empty())
    print_out("no measurements in '{}'\n", other);
  return kDone;
}

}  // namespace

Command add_cache(CLI::App& app) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App* command =
      app.add_subcommand("cache", "list, clear or merge what tunings have measured");
  command->require_subcommand(1);
  CLI::App* list = command->add_subcommand("list", "a line for each machine and thread count");
  CLI::App* clear = command->add_subcommand("clear", "remove all measurements");
  CLI::App* merge = command->add_subcommand("merge", "add the measurements of another folder");
  merge->add_option("DIR", arguments->other, "the other cache folder")->required();
  for (CLI::App* action : {list, clear, merge}) {
    add_cache_option(*action, arguments->folder);
    action->add_flag("--json", arguments->json, "results as JSON on standard output");
  }
  return {command, [=] {
            const auto folder = cache_folder(arguments->folder);
            if (!folder.ok()) return fail(folder.status());
            if (list->parsed()) return list_cache(*folder, arguments->json);
            if (clear->parsed()) return clear_cache(*folder, arguments->json);
            return merge_cache(*folder, arguments->other, arguments->json);
          }};
}

}  // namespace softneuro::tool
