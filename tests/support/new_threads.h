// Whether the threads that a pool has made are asleep, told by the system and not by a clock.
#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace softneuro::test {

// The threads of this process that are made after this object.
class NewThreads {
 public:
  NewThreads() {
    std::thread([] {}).join();  // a sanitizer makes a thread of its own beside the first one
    before_ = switches();
  }

  // Whether all of them fall asleep, for which it waits up to ten seconds, and none wakes up within
  // the tenth of a second that follows.
  bool stay_asleep() const {
    std::optional<Switches> asleep;
    for (int i = 0; i < 1000 && !asleep; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      asleep = sleeping();
    }
    if (!asleep) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return sleeping() == asleep;
  }

 private:
  using Switches = std::map<long, long>;  // of each thread: how often it was taken off a processor

  // Nothing if one of the new threads is awake.
  std::optional<Switches> sleeping() const {
    bool all = true;
    Switches found = switches(&all, &before_);
    return all ? std::optional(std::move(found)) : std::nullopt;
  }

  static Switches switches(bool* all_sleep = nullptr, const Switches* left_out = nullptr) {
    Switches found;
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return found;
    while (const dirent* const entry = readdir(tasks)) {
      const long thread = std::strtol(entry->d_name, nullptr, 10);
      if (thread == 0 || (left_out != nullptr && left_out->contains(thread))) continue;
      std::ifstream status("/proc/self/task/" + std::string(entry->d_name) + "/status");
      long& count = found[thread];
      for (std::string line; std::getline(status, line);) {
        if (line.rfind("State:", 0) == 0 && all_sleep != nullptr)
          *all_sleep = *all_sleep && line.find("(sleeping)") != std::string::npos;
        if (line.find("ctxt_switches:") != std::string::npos)
          count += std::strtol(line.c_str() + line.find(':') + 1, nullptr, 10);
      }
    }
    closedir(tasks);
    return found;
  }

  Switches before_;
};

}  // namespace softneuro::test
