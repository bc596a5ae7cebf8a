#include "core/base/physical_cores.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace softneuro {
namespace {

// Takes a number from the front of `text`; −1 if there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The processors that the calling thread may use; none where the system does not tell.
class Affinity {
 public:
  static constexpr std::size_t kSets = 8;  // of 1024 processors

  Affinity() noexcept {
    if (sched_getaffinity(0, sizeof sets_, sets_) != 0) CPU_ZERO_S(sizeof sets_, sets_);
  }
  bool has(int processor) const noexcept {
    return CPU_ISSET_S(static_cast<std::size_t>(processor), sizeof sets_, sets_);
  }
  int count() const noexcept { return CPU_COUNT_S(sizeof sets_, sets_); }

 private:
  cpu_set_t sets_[kSets] = {};
};

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace

std::vector<int> parse_processor_list(std::string_view text) {
  constexpr int kMost = 1 << 16;
  std::vector<int> numbers;
  for (text = trimmed(text); !text.empty();) {
    const int first = take_number(text);
    const int last = take(text, '-') ? take_number(text) : first;
    if (first < 0 || last < first || last > kMost) return {};
    for (int i = first; i <= last; ++i) numbers.push_back(i);
    if (!text.empty() && (!take(text, ',') || text.empty())) return {};
  }
  return numbers;
}

int parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const int quota = take_number(text);
  if (quota <= 0 || !take(text, ' ')) return 0;
  const int period = take_number(text);
  if (period <= 0 || !text.empty()) return 0;
  return quota / period + (quota % period != 0);
}

std::string parse_cgroup(std::string_view text) {
  constexpr std::string_view kUnified = "0::";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kUnified)) return std::string(line.substr(kUnified.size()));
  }
  return {};
}

int count_cores(std::span<const int> processors, const TextReader& read) {
  int cores = 0;
  for (const int processor : processors) {
    char path[80];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                  processor);
    // The first of those that share a core counts for all.
    const std::vector<int> siblings = parse_processor_list(read(path));
    cores += std::none_of(siblings.begin(), siblings.end(), [&](int sibling) {
      return sibling < processor &&
             std::binary_search(processors.begin(), processors.end(), sibling);
    });
  }
  return cores;
}

int cpu_quota(const TextReader& read) {
  constexpr std::string_view kRoot = "/sys/fs/cgroup";
  const std::string group = parse_cgroup(read("/proc/self/cgroup"));
  if (group.empty()) return 0;
  std::string folder(kRoot);
  if (group != "/") folder += group;
  int least = 0;
  for (; folder.size() >= kRoot.size(); folder.resize(folder.rfind('/'))) {
    const int quota = parse_cpu_max(read((folder + "/cpu.max").c_str()));
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

std::vector<int> usable_processors() {
  const Affinity affinity;
  std::vector<int> processors;
  for (int i = 0; i < static_cast<int>(Affinity::kSets) * CPU_SETSIZE; ++i)
    if (affinity.has(i)) processors.push_back(i);
  return processors;
}

int count_usable_processors() noexcept {
  return Affinity().count();
}

int physical_cores() {
  const int cores = std::max(1, count_cores(usable_processors(), read_system_text));
  const int quota = cpu_quota(read_system_text);
  return quota == 0 ? cores : std::min(cores, quota);
}

}  // namespace softneuro
