// The profile cache: each row stands alone, whatever happens to the file.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "profiler/cache/loaded_code.h"
#include "profiler/cache/profile_cache.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
Profile profile(double us) {
  return {.time_us = us, .spread_us = us / 10, .error = 0.5};
}

}  // namespace

TEST_CASE("profile cache: what was put is found by the next one") {
  const TemporaryFolder folder;
  const std::string place = folder.file("a/b/cache");
  {
    ProfileCache cache;
    cache.open(place, "machine, avx2", 2, nullptr);
    for (int i = 0; i < 200; ++i) cache.put("key " + std::to_string(i), profile(i + 1));
    // To the last bit: paths of nearly equal cost must not change places the second time.
    cache.put("odd", Profile{.time_us = 100.0 / 3, .spread_us = 1e-7 / 3, .error = 2e-9 / 7});
    cache.put(row_key(RowKind::search_rounds, 7, "all"), Fact{.value = 3});
    cache.put("with\ttab and\nline", Profile{.time_us = 3, .wrong = true, .pruned = true});
  }
  ProfileCache again;
  again.open(place, "machine, avx2", 2, nullptr);
  CHECK(again.size() == 203);
  const RowKey rounds = row_key(RowKind::search_rounds, 7, "all");
  REQUIRE(again.find<Fact>(rounds) != nullptr);
  CHECK(again.find<Fact>(rounds)->value == 3);
  CHECK(again.find(rounds) == nullptr);
  REQUIRE(again.find("odd") != nullptr);
  CHECK(again.find("odd")->time_us == 100.0 / 3);
  CHECK(again.find("odd")->spread_us == 1e-7 / 3);
  CHECK(again.find("odd")->error == 2e-9 / 7);
  REQUIRE(again.find("key 17") != nullptr);
  CHECK(*again.find("key 17") == profile(18));
  REQUIRE(again.find("with\ttab and\nline") != nullptr);
  CHECK(again.find("with\ttab and\nline")->wrong);
  CHECK(again.find("with\ttab and\nline")->pruned);
  // Another thread count, another machine: other measurements.
  ProfileCache other;
  other.open(place, "machine, avx2", 1, nullptr);
  CHECK(other.size() == 0);
}

TEST_CASE("profile cache: rows of a disturbed machine are told apart, and can be left out") {
  const TemporaryFolder folder;
  const auto open = [&](ProfileCache& cache) {
    cache.open(folder.path().string(), "machine, avx2", 2, nullptr);
  };
  {
    ProfileCache cache;
    open(cache);
    cache.put("quiet", profile(1));
    cache.put("busy", Profile{.time_us = 2, .disturbed = true});
    cache.put("busy, then quiet", Profile{.time_us = 3, .disturbed = true});
    cache.put("busy, then quiet", profile(4));
    CHECK(cache.disturbed_rows() == 1);
  }
  ProfileCache again;
  open(again);
  CHECK(again.size() == 3);
  CHECK(again.disturbed_rows() == 1);
  REQUIRE(again.find("busy") != nullptr);
  CHECK(again.find("busy")->disturbed);
  again.forget_disturbed_rows();
  CHECK(again.find("busy") == nullptr);
  CHECK(again.size() == 2);
  CHECK(again.disturbed_rows() == 0);
  ProfileCache later;
  open(later);
  CHECK(later.size() == 2);
}

TEST_CASE("profile cache: damaged, torn and foreign rows are skipped, the others serve") {
  const TemporaryFolder folder;
  {
    ProfileCache cache;
    cache.open(folder.path().string(), "m", 1, nullptr);
    for (int i = 0; i < 50; ++i) cache.put("key " + std::to_string(i), profile(i + 1));
  }
  const std::string path = folder.file(ProfileCache::file_name("m", 1));
  const std::string whole = contents(path);
  REQUIRE(whole.size() > 1000);
  // Every place where the file could have been cut.
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    write(path, whole.substr(0, cut));
    ProfileCache cache;
    cache.open(folder.path().string(), "m", 1, nullptr);
    for (const auto& [key, row] : cache.rows())
      CHECK(std::get<Profile>(row) == profile(std::stoi(key.text.substr(4)) + 1));
    cache.put("after the cut", profile(9));
    cache.flush();
    ProfileCache next;
    next.open(folder.path().string(), "m", 1, nullptr);
    CHECK(next.find("after the cut") != nullptr);
  }
  // A changed number in one row.
  std::string tampered = whole;
  const std::size_t number = tampered.find("\t25\t");
  REQUIRE(number != std::string::npos);
  tampered[number + 1] = '1';
  write(path, tampered);
  std::string warning;
  ProfileCache cache;
  cache.open(folder.path().string(), "m", 1, [&](std::string text) { warning = text; });
  CHECK(cache.size() == 49);
  CHECK(cache.find("key 24") == nullptr);
  CHECK(warning.find("1 rows") != std::string::npos);
  // Another machine's rows under this machine's name.
  ProfileCache foreign;
  {
    ProfileCache theirs;
    theirs.open(folder.path().string(), "theirs", 1, nullptr);
    theirs.put("key", profile(1));
  }
  write(path, contents(folder.file(ProfileCache::file_name("theirs", 1))));
  foreign.open(folder.path().string(), "m", 1, nullptr);
  CHECK(foreign.size() == 0);
}

TEST_CASE("profile cache: a folder that cannot be written costs the keeping only") {
  std::string warning;
  ProfileCache cache;
  cache.open("/proc/no/such/place", "m", 1, [&](std::string text) { warning = text; });
  cache.put("key", profile(1));
  cache.flush();
  CHECK(cache.find("key") != nullptr);
  CHECK(warning.find("not kept") != std::string::npos);
}

TEST_CASE("profile cache: sixteen processes write at once and no row is lost or torn") {
  const TemporaryFolder folder;
  constexpr int kProcesses = 16, kRows = 300;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      {
        ProfileCache cache;
        cache.open(folder.path().string(), "m", 2, nullptr);
        for (int i = 0; i < kRows; ++i) {
          cache.put("process " + std::to_string(p) + " row " + std::to_string(i), profile(i + 1));
          if (i % 5 == 0) cache.flush();
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  std::string warning;
  ProfileCache cache;
  cache.open(folder.path().string(), "m", 2, [&](std::string text) { warning = text; });
  CHECK(warning == "");
  CHECK(cache.size() == kProcesses * kRows);
}

TEST_CASE("loaded code: the same until a library is loaded") {
  const std::uint64_t before = loaded_code();
  if (before == 0) return note_skip("the system does not tell what is loaded");
  CHECK(loaded_code() == before);
  void* const library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return note_skip("the C library has no libBrokenLocale.so.1");
  CHECK(loaded_code() != before);
  dlclose(library);
  CHECK(loaded_code() == before);
}
