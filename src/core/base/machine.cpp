#include "core/base/machine.h"

#include <fstream>

#include "core/base/cpu.h"

namespace softneuro {
namespace {

// The processor's own name; where the system does not tell it, its architecture.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) != 0 || colon == std::string::npos) continue;
    std::string name = line.substr(colon + 1);
    name.erase(0, name.find_first_not_of(" \t"));
    name.erase(name.find_last_not_of(" \t") + 1);
    // What separates fields elsewhere.
    for (char& c : name)
      if (c == ',' || c == '\t' || c == '|') c = ' ';
    if (!name.empty()) return name;
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown processor";
#endif
}

// The level; and if features are masked, what is left beyond it, which makes another machine of it.
std::string instructions() {
  const std::string level = to_string(current_isa());
  if (usable_features() == processor_features()) return level;
  const std::string more = to_string(usable_features() - allowed_features(level));
  return level + (more.empty() ? " alone" : " with " + more);
}

}  // namespace

const std::string& machine_name() {
  static const std::string name = processor_name() + ", " + instructions();
  return name;
}

}  // namespace softneuro
