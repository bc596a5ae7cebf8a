// How many threads `threads = 0` means, on machines that this one is not.
#include "core/base/physical_cores.h"

#include <catch2/catch.hpp>
#include <map>

#include "softneuro/thread_pool.h"

using namespace softneuro;

namespace {

// A machine as its files show it.
struct Files {
  std::map<std::string, std::string> texts;

  // Processor i shares its core with those of `list`.
  void siblings(int processor, const std::string& list) {
    texts["/sys/devices/system/cpu/cpu" + std::to_string(processor) +
          "/topology/thread_siblings_list"] = list;
  }
  TextReader reader() const {
    return [this](const char* path) {
      const auto found = texts.find(path);
      return found == texts.end() ? std::string() : found->second;
    };
  }
};

}  // namespace

TEST_CASE("lists of processors: ranges, single ones, and what is none", "[threads]") {
  CHECK(parse_processor_list("0-3,8\n") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parse_processor_list("5") == std::vector<int>{5});
  CHECK(parse_processor_list("0,64\n") == std::vector<int>{0, 64});
  for (const char* const text :
       {"", "\n", "a", "1-", "-1", "3-1", "1,", "1;2", "0-99999999", "1 2"})
    CHECK(parse_processor_list(text).empty());
}

TEST_CASE("cpu.max: the quota in processors, rounded up; none where there is no limit",
          "[threads]") {
  CHECK(parse_cpu_max("200000 100000\n") == 2);
  CHECK(parse_cpu_max("150000 100000\n") == 2);
  CHECK(parse_cpu_max("50000 100000\n") == 1);
  CHECK(parse_cpu_max("6400000 100000") == 64);
  for (const char* const text :
       {"max 100000\n", "", "max", "100000", "0 100000", "1 0", "1 2 3", "99999999999999 100000"})
    CHECK(parse_cpu_max(text) == 0);
}

TEST_CASE("/proc/self/cgroup: the group of version 2 among those of version 1", "[threads]") {
  CHECK(parse_cgroup("0::/system.slice/app.service\n") == "/system.slice/app.service");
  CHECK(parse_cgroup("4:memory:/m\n1:cpu:/c\n0::/\n") == "/");
  CHECK(parse_cgroup("4:memory:/m\n1:cpu:/c\n").empty());
  CHECK(parse_cgroup("").empty());
}

TEST_CASE("processors that share a core count once, those outside the affinity not", "[threads]") {
  Files machine;  // four cores, eight processors
  for (int i = 0; i < 8; ++i)
    machine.siblings(i, std::to_string(i % 4) + "," + std::to_string(i % 4 + 4) + "\n");
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7}, pair = {1, 5}, half = {0, 1, 4}, one = {6};
  CHECK(count_cores(all, machine.reader()) == 4);
  CHECK(count_cores(pair, machine.reader()) == 1);
  CHECK(count_cores(half, machine.reader()) == 2);
  CHECK(count_cores(one, machine.reader()) == 1);
  // Where /sys tells nothing, each is a core.
  CHECK(count_cores(all, Files().reader()) == 8);
}

TEST_CASE("the quota is the least of the group and those above it", "[threads]") {
  Files machine;
  machine.texts["/proc/self/cgroup"] = "0::/pod/app\n";
  CHECK(cpu_quota(machine.reader()) == 0);
  machine.texts["/sys/fs/cgroup/pod/app/cpu.max"] = "max 100000\n";
  CHECK(cpu_quota(machine.reader()) == 0);
  machine.texts["/sys/fs/cgroup/pod/cpu.max"] = "250000 100000\n";
  CHECK(cpu_quota(machine.reader()) == 3);
  machine.texts["/sys/fs/cgroup/pod/app/cpu.max"] = "400000 100000\n";
  CHECK(cpu_quota(machine.reader()) == 3);
  // In a container the group is the root of what is seen.
  machine.texts["/sys/fs/cgroup/cpu.max"] = "100000 100000\n";
  CHECK(cpu_quota(machine.reader()) == 1);
  machine.texts["/proc/self/cgroup"] = "0::/\n";
  machine.texts["/sys/fs/cgroup/cpu.max"] = "700000 100000\n";
  CHECK(cpu_quota(machine.reader()) == 7);
}

TEST_CASE("a pool of 0 threads has one per core that is there", "[threads]") {
  const int cores = physical_cores();
  CHECK(cores >= 1);
  CHECK(create_thread_pool(0).value()->concurrency() == cores);
}
