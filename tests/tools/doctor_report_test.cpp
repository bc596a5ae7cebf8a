// What `softneuro doctor` collects; tests/e2e/doctor_test.cpp has what it prints.
#include "doctor_report.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/cpu.h"
#include "core/base/machine.h"
#include "core/base/physical_cores.h"
#include "softneuro/version.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;
using namespace softneuro::tool;
using Catch::Matchers::Contains;

namespace {

NetOptions with_plugins(std::vector<std::string> plugins) {
  NetOptions options;
  options.plugins = std::move(plugins);
  return options;
}

const PluginReport& last_plugin(const DoctorReport& report, const std::string& name) {
  const PluginReport* found = nullptr;
  for (const PluginReport& plugin : report.plugins)
    if (plugin.name == name) found = &plugin;
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("doctor: the report has this build, this machine, and the host as a device") {
  const DoctorReport report = examine(with_plugins({"none"}));
  CHECK(report.build.version == version());
  CHECK(!report.build.compiler.empty());
  CHECK(std::filesystem::exists(report.build.file));
  CHECK(!report.build.is_shared);  // this program has the library's objects in it
  CHECK(report.machine.name == machine_name());
  CHECK(report.machine.cores == physical_cores());
  CHECK(report.machine.threads == physical_cores());
  REQUIRE(report.devices.size() == 1);
  CHECK(report.devices[0].id == "cpu");
  CHECK(report.net_error.empty());
}

TEST_CASE("doctor: each plugin of the source tree is listed once, built or not") {
  for (const NetOptions& options : {with_plugins({}), with_plugins({"none"})}) {
    const DoctorReport report = examine(options);
    std::multiset<std::string> names;
    for (const PluginReport& plugin : report.plugins) {
      INFO(plugin.name);
      names.insert(plugin.name);
      CHECK((plugin.state == PluginState::used) == plugin.reason.empty());
    }
    for (const char* name : {"cuda", "eigen", "onednn", "xnnpack"}) CHECK(names.count(name) == 1);
  }
}

TEST_CASE("doctor: with 'none' no plugin is used, and the reason says so") {
  const DoctorReport report = examine(with_plugins({"none"}));
  for (const PluginReport& plugin : report.plugins) {
    INFO(plugin.name << ": " << plugin.reason);
    CHECK((plugin.state == PluginState::left_out || plugin.reason == "not in this build"));
    CHECK(plugin.routines == 0);
    CHECK(plugin.libraries.empty());
  }
}

TEST_CASE("doctor: files that are missing or no plugins are reported, each with its reason") {
  const TemporaryFolder folder;
  const std::string absent = folder.file("libabsent.so"), text = folder.file("text.so");
  std::ofstream(text) << "no library";
  const DoctorReport report = examine(with_plugins({"none", absent, text}));
  const PluginReport& first = last_plugin(report, "absent");
  CHECK(first.path == absent);
  CHECK(first.named);
  CHECK(first.state == PluginState::unusable);
  CHECK_THAT(first.reason, Contains("No such file"));
  CHECK_THAT(last_plugin(report, "text").reason, Contains("cannot be loaded"));
  CHECK(report.net_error == first.reason);
  CHECK(report.machine.threads == physical_cores());  // the rest of the report is there
}

TEST_CASE("doctor: a cache folder with two files is counted, a missing one can be made") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("profile-1.tsv")) << "12345";
  std::ofstream(folder.file("profile-2.tsv")) << "678";
  std::filesystem::create_directory(folder.file("inner"));
  const CacheReport full = examine_cache(folder.path().string());
  CHECK(full.exists);
  CHECK(full.writable);
  CHECK(full.files == 2);
  CHECK(full.bytes == 8);

  const CacheReport absent = examine_cache(folder.file("a/b/c"));
  CHECK(!absent.exists);
  CHECK(absent.writable);
  CHECK(absent.files == 0);
  CHECK(!std::filesystem::exists(folder.file("a")));  // looking makes nothing

  CHECK(!examine_cache(folder.file("profile-1.tsv") + "/softneuro").writable);
  CHECK(!examine_cache("").exists);
}
