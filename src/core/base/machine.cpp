#include "core/base/machine.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/base/cpu.h"
#include "core/base/physical_cores.h"

namespace softneuro {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#else
constexpr std::string_view kArchitecture = "unknown processor";
#endif

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The values of `key` in lines "key : value", one per processor.
std::vector<std::string_view> values_of(std::string_view cpuinfo, std::string_view key) {
  std::vector<std::string_view> values;
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(cpuinfo.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      values.push_back(trimmed(line.substr(colon + 1)));
  }
  return values;
}

std::string first_of(std::string_view cpuinfo, std::string_view key) {
  const std::vector<std::string_view> values = values_of(cpuinfo, key);
  return values.empty() ? std::string() : std::string(values[0]);
}

std::string describe_x86(std::string_view cpuinfo) {
  std::string name = first_of(cpuinfo, "model name");
  // What separates fields in names of machines and in files.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ',' || c == '\t' || c == '|'; }, ' ');
  const std::string vendor = first_of(cpuinfo, "vendor_id");
  if (vendor.empty()) return name;
  return name + (name.empty() ? "(" : " (") + vendor + ' ' + first_of(cpuinfo, "cpu family") + '.' +
         first_of(cpuinfo, "model") + '.' + first_of(cpuinfo, "stepping") + ')';
}

std::string describe_arm(std::string_view cpuinfo, std::span<const int> processors) {
  const auto numbers = values_of(cpuinfo, "processor");
  const auto implementers = values_of(cpuinfo, "CPU implementer");
  const auto parts = values_of(cpuinfo, "CPU part");
  const auto variants = values_of(cpuinfo, "CPU variant");
  const auto revisions = values_of(cpuinfo, "CPU revision");
  std::vector<std::string> kinds;
  const std::size_t cores = std::min(
      {numbers.size(), implementers.size(), parts.size(), variants.size(), revisions.size()});
  for (std::size_t i = 0; i < cores; ++i) {
    const auto is_it = [&](int processor) { return std::to_string(processor) == numbers[i]; };
    if (std::none_of(processors.begin(), processors.end(), is_it)) continue;
    std::string_view variant = variants[i];
    if (variant.starts_with("0x")) variant.remove_prefix(2);
    std::string kind(implementers[i]);
    kind.append("-").append(parts[i]).append("-r").append(variant);
    kind.append("p").append(revisions[i]);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : " ") + kind;
  return text.empty() ? text : '(' + text + ')';
}

}  // namespace

std::string describe_processor(std::string_view architecture, std::string_view cpuinfo,
                               std::span<const int> processors) {
  std::string name;
  if (architecture == "x86-64") {
    name = describe_x86(cpuinfo);
    if (!name.empty() && name[0] != '(') return name;
  } else if (architecture == "aarch64") {
    name = describe_arm(cpuinfo, processors);
  }
  return std::string(architecture) + (name.empty() ? "" : " ") + name;
}

std::string describe_caches(int processor, const TextReader& read) {
  constexpr int kMost = 8;
  std::string sizes;
  for (int i = 0; i < kMost; ++i) {
    const auto text = [&](const char* what) {
      char path[80];
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", processor,
                    i, what);
      return std::string(trimmed(read(path)));
    };
    const std::string size = text("size");
    if (size.empty() || text("type") == "Instruction") continue;
    sizes += (sizes.empty() ? "" : " ") + size;
  }
  return sizes;
}

const std::string& machine_name() {
  static const std::string name = [] {
    const std::string cpuinfo = read_system_text("/proc/cpuinfo");
    const std::vector<int> processors = usable_processors();
    std::string text = describe_processor(kArchitecture, cpuinfo, processors);
    const std::string features = to_string(usable_features());
    text += ", " + (features.empty() ? "baseline" : features);
    const std::string caches =
        describe_caches(processors.empty() ? 0 : processors[0], read_system_text);
    return caches.empty() ? text : text + ", " + caches;
  }();
  return name;
}

std::string_view vector_instructions(std::string_view machine_name) {
  if (machine_name.starts_with("aarch64")) return "aarch64";
  for (const std::string_view name : {"avx512", "avx2"}) {
    const std::size_t at = machine_name.find(' ' + std::string(name));
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + 1 + name.size();
    if (end == machine_name.size() || machine_name[end] == ' ' || machine_name[end] == ',')
      return name;
  }
  return "baseline";
}

std::string describe_sharing(int threads, int cores) {
  if (threads <= cores) return {};
  return ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

std::string machine_name(int threads) {
  static const int cores = physical_cores();
  return machine_name() + describe_sharing(threads, cores);
}

}  // namespace softneuro
