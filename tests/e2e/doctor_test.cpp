// `softneuro doctor` as a process of its own: its exit status, its JSON, and what the environment
// changes. tests/tools/doctor_report_test.cpp has what it collects.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "support/skip.h"
#include "support/temporary_folder.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro::test;
using nlohmann::json;

namespace {

json doctor(const Environment& environment, std::vector<std::string> arguments = {}) {
  const TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"doctor", "--json"});
  return run_tool(arguments, environment, folder.path().string());
}

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::set<std::string> set_of(const json& list) {
  return list.get<std::set<std::string>>();
}

// Null if the report has no such plugin.
json plugin_of(const json& report, const std::string& name) {
  for (const json& plugin : report.at("plugins"))
    if (plugin.at("name") == name) return plugin;
  return nullptr;
}

}  // namespace

TEST_CASE("doctor: --json is one object with all of its keys, the exit status is 0") {
  const json report = doctor({});
  CHECK(keys_of(report) == std::set<std::string>{"version", "build", "machine", "plugin_folder",
                                                 "plugins", "devices", "profile_cache",
                                                 "environment", "net_error"});
  CHECK(keys_of(report.at("build")) ==
        std::set<std::string>{"compiler", "linkage", "path", "importers"});
  CHECK(keys_of(report.at("machine")) == std::set<std::string>{"name", "features",
                                                               "hidden_features", "mask_problem",
                                                               "cores", "threads"});
  CHECK(keys_of(report.at("profile_cache")) ==
        std::set<std::string>{"folder", "exists", "writable", "files", "bytes"});
  CHECK(set_of(report.at("build").at("importers")) == std::set<std::string>{"ONNX"});
  CHECK(std::filesystem::exists(report.at("build").at("path").get<std::string>()));
  CHECK(report.at("machine").at("cores") >= 1);
  CHECK(report.at("machine").at("threads") >= 1);
  CHECK(report.at("devices").at(0).at("id") == "cpu");
  for (const char* name : {"cuda", "eigen", "onednn", "xnnpack"}) {
    INFO(name);
    CHECK(keys_of(plugin_of(report, name)) == std::set<std::string>{"name", "path", "named",
                                                                    "state", "reason", "routines",
                                                                    "libraries"});
  }
}

TEST_CASE("doctor: a plugin that is used has routines, and libraries whose files exist") {
  const json report = doctor({});
  std::size_t used = 0;
  for (const json& plugin : report.at("plugins")) {
    INFO(plugin.dump(2));
    if (plugin.at("state") != "used") {
      CHECK(plugin.at("state") == "unavailable");  // "unusable" is a fault of this build
      CHECK(plugin.at("reason").is_string());
      continue;
    }
    ++used;
    CHECK(plugin.at("routines") > 0);
    CHECK(std::filesystem::exists(plugin.at("path").get<std::string>()));
    REQUIRE(!plugin.at("libraries").empty());
    for (const json& library : plugin.at("libraries")) {
      CHECK((library.at("version").is_string() || library.at("note").is_string() ||
             library.at("problem").is_string()));
      if (library.at("path").is_string())
        CHECK(std::filesystem::exists(library.at("path").get<std::string>()));
    }
  }
  if (used == 0) note_skip("this build has no library plugins that can be used here");
}

TEST_CASE("doctor: each library of CUDA is there with a version and a file, or has a problem") {
  const json report = doctor({});
  const json cuda = plugin_of(report, "cuda");
  if (cuda.at("libraries").empty()) SN_SKIP("this build has no CUDA plugin");
  std::set<std::string> names;
  for (const json& library : cuda.at("libraries")) {
    INFO(library.dump(2));
    names.insert(library.at("name"));
    if (library.at("problem").is_string()) continue;
    CHECK(library.at("version").is_string());
    CHECK(std::filesystem::exists(library.at("path").get<std::string>()));
  }
  names.erase("cuDNN");  // where the plugin was built with its headers
  CHECK(names == std::set<std::string>{"CUDA driver", "NVRTC", "cuBLASLt"});
  const json& driver = cuda.at("libraries").at(0);
  CHECK(cuda.at("state") == "used");
  const json device = report.at("devices").at(1);
  CHECK(device.at("id") == "cuda");
  CHECK(device.at("name").is_null() == driver.at("problem").is_string());
  if (driver.at("problem").is_string()) CHECK(device.at("problem") == driver.at("problem"));
}

TEST_CASE("tool: a run and a tuning on the host open no library of CUDA, and doctor does") {
  const json report = doctor({});
  if (plugin_of(report, "cuda").at("libraries").empty()) SN_SKIP("this build has no CUDA plugin");
  const TemporaryFolder folder;
  // The loader writes down what it looks for, in a file for each process.
  const Environment traced = {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", folder.file("loader")}};
  const auto was_opened = [&](std::vector<std::string> arguments) {
    run_tool(arguments, traced, folder.path().string());
    std::string looked_for;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      if (file.path().filename().string().starts_with("loader.")) {
        looked_for += read_file(file.path().string());
        std::filesystem::remove(file.path());
      }
    REQUIRE(!looked_for.empty());
    for (const char* name : {"libcuda.so", "libnvrtc", "libcublas", "libcudnn"})
      if (looked_for.find(name) != std::string::npos) return true;
    return false;
  };
  const std::string model = source_dir() + "/models/shapes/shapes.dnn";
  CHECK(was_opened({"doctor", "--json"}));
  CHECK_FALSE(
      was_opened({"bench", model, "--shape", "image=1x3x32x32", "--seconds", "0.2", "--json"}));
  CHECK_FALSE(
      was_opened({"tune", model, "-o", folder.file("tuned.dnn"), "--shape", "image=1x3x32x32",
                  "--schemas", "cpu:float32", "--time-limit", "5", "--no-cache", "--json"}));
}

TEST_CASE("doctor: features that SOFTNEURO_MAX_ISA hides are listed apart") {
  const std::set<std::string> all = set_of(doctor({}).at("machine").at("features"));
  if (!all.contains("avx2")) SN_SKIP("this processor has nothing that can be hidden");
  for (const std::string mask : {"avx2", "baseline"}) {
    INFO(mask);
    const json report = doctor({{"SOFTNEURO_MAX_ISA", mask}});
    const std::set<std::string> left = set_of(report.at("machine").at("features"));
    std::set<std::string> both = set_of(report.at("machine").at("hidden_features"));
    CHECK(left == (mask == "avx2" ? std::set<std::string>{"avx2"} : std::set<std::string>{}));
    for (const std::string& feature : left) CHECK(!both.contains(feature));
    both.insert(left.begin(), left.end());
    CHECK(both == all);
    CHECK(report.at("environment").at("SOFTNEURO_MAX_ISA") == mask);
    const json xnnpack = plugin_of(report, "xnnpack");
    if (all.contains("avx512") && !xnnpack.at("libraries").empty())
      CHECK(xnnpack.at("state") == "unavailable");
  }
}

TEST_CASE("doctor: an unknown word in SOFTNEURO_MAX_ISA is named, a known one is no problem") {
  const json known = doctor({{"SOFTNEURO_MAX_ISA", "zen4"}});
  CHECK(known.at("machine").at("mask_problem").is_null());
  const json report = doctor({{"SOFTNEURO_MAX_ISA", "zen4,avx1024"}});
  const json& machine = report.at("machine");
  CHECK(machine.at("mask_problem").get<std::string>().find("'avx1024'") != std::string::npos);
  CHECK(machine.at("features").empty());
}

TEST_CASE("doctor: SOFTNEURO_PLUGINS=none leaves out what this build has") {
  const json report = doctor({{"SOFTNEURO_PLUGINS", "none"}});
  for (const json& plugin : report.at("plugins")) {
    INFO(plugin.dump(2));
    CHECK((plugin.at("state") == "left_out" || plugin.at("reason") == "not in this build"));
    CHECK(plugin.at("routines") == 0);
  }
  CHECK(report.at("net_error").is_null());
}

TEST_CASE("doctor: SOFTNEURO_PLUGINS naming a missing file is reported, with exit status 0") {
  const json usual = doctor({});
  const json report = doctor({{"SOFTNEURO_PLUGINS", "/nowhere/libabsent.so"}});
  const json absent = plugin_of(report, "absent");
  CHECK(absent.at("named") == true);
  CHECK(absent.at("state") == "unusable");
  CHECK(absent.at("path") == "/nowhere/libabsent.so");
  CHECK(report.at("net_error") == absent.at("reason"));
  CHECK(report.at("plugins").size() == usual.at("plugins").size() + 1);
}

TEST_CASE("doctor: --plugin goes before SOFTNEURO_PLUGINS") {
  const json report = doctor({{"SOFTNEURO_PLUGINS", "none"}}, {"--plugin", "/nowhere/other.so"});
  CHECK(plugin_of(report, "other").at("state") == "unusable");
  for (const json& plugin : report.at("plugins")) CHECK(plugin.at("state") != "left_out");
}

TEST_CASE("doctor: the cache is that of XDG_CACHE_HOME") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("softneuro"));
  write_file(folder.file("softneuro/profile-1.tsv"), "123");
  const json cache = doctor({{"XDG_CACHE_HOME", folder.path().string()}}).at("profile_cache");
  CHECK(cache.at("folder") == folder.file("softneuro"));
  CHECK(cache.at("exists") == true);
  CHECK(cache.at("files") == 1);
  CHECK(cache.at("bytes") == 3);
}

TEST_CASE("doctor: the text for people is printable, whatever a plugin is called") {
  const TemporaryFolder folder;
  ToolProcess tool({"doctor"}, {{"SOFTNEURO_PLUGINS", "/nowhere/\x1b[31m\a\nred.so"}},
                   folder.path().string());
  REQUIRE(tool.wait() == 0);
  const std::string text = tool.output();
  CHECK(tool.errors().empty());
  CHECK(std::none_of(text.begin(), text.end(),
                     [](char c) { return c < ' ' && c >= 0 && c != '\n'; }));
  for (const char* title : {"SoftNeuro ", "Machine", "Plugins", "Libraries", "Devices",
                            "Profile cache", "Environment", "Nets cannot be created"}) {
    INFO(title);
    CHECK(text.find(title) != std::string::npos);
  }
}

TEST_CASE("doctor: an argument that it does not have is wrong usage, exit status 2") {
  const TemporaryFolder folder;
  CHECK(ToolProcess({"doctor", "net.dnn"}, {}, folder.path().string()).wait() == 2);
}
