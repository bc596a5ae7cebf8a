// A device made of host memory that behaves like a strange one: the host cannot touch its tensors,
// its work is done late and by another thread, its clock says what a test wants, and anything that
// it is asked for may fail. Its routines are the naive ones. What must not be done while a stream
// records is an error; a recording that outlives its stream ends the process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro::test {

// What may be made to fail.
enum class Fault {
  allocate,
  create_stream,
  upload,
  download,
  launch,
  synchronize,
  record,
  begin_recording,
  end_recording,
  play
};
inline constexpr int kFaultCount = 10;

// How a test device behaves, and what it saw. Shared with the test; thread safe.
class TestControl {
 public:
  // Set before the device is added. Device::name(), and what its routines are called after the
  // device's name.
  std::string name = "test device";
  std::vector<std::string> routines = {"/pages"};
  // Whether a routine of that name does not apply to a problem; whether it applies, but gives no
  // kernel. Not set: neither.
  std::function<bool(const std::string& routine, const Problem&)> refuses;
  std::function<bool(const std::string& routine, const Problem&)> gives_no_kernel;
  // Microseconds that a kernel takes by the device's clock, and by a SettableClock; not set: none.
  std::function<double(const Problem&)> microseconds;
  // The same of a copy.
  std::atomic<int> copy_us = 1;
  // By the device's clock, besides: of each kernel that is not played, and of each kernel's first
  // run.
  std::atomic<int> launch_us = 0, first_run_us = 0;
  // Whether streams can record: set before.
  bool has_recordings = true;
  // The most that a stream waits before each piece of work.
  std::atomic<int> delay_us = 20;
  std::atomic<std::size_t> memory_bytes = std::size_t{1} << 30;
  // Whether memory that was given back serves again. If not, what is used too late is found.
  std::atomic<bool> keeps_memory = false;
  // From now on every call fails, and what was put into streams is not done.
  std::atomic<bool> is_lost = false;

  // The nth of these calls from now on fails, once; 0: none.
  void fail(Fault what, int nth) { countdown_[index(what)] = nth; }
  void never_fail() {
    for (std::atomic<int>& left : countdown_) left = 0;
  }
  // While they are held, streams begin no work: whoever waits for them waits for release().
  void hold() { is_held_ = true; }
  void release() {
    is_held_ = false;
    is_held_.notify_all();
  }
  // Calls so far.
  int calls(Fault what) const { return calls_[index(what)]; }

  // For the device: counts a call; whether it shall fail.
  bool fails(Fault what) {
    ++calls_[index(what)];
    int left = countdown_[index(what)];
    while (left > 0 && !countdown_[index(what)].compare_exchange_weak(left, left - 1)) continue;
    return left == 1;
  }
  void wait_while_held() const { is_held_.wait(true); }
  std::atomic<std::size_t> used_bytes = 0;
  std::atomic<int> live_streams = 0;
  std::atomic<int> live_recordings = 0;
  std::atomic<int> pending = 0;  // pieces of work in streams that are not done

 private:
  static std::size_t index(Fault what) { return static_cast<std::size_t>(what); }
  std::atomic<bool> is_held_ = false;
  std::atomic<int> countdown_[kFaultCount] = {};
  std::atomic<int> calls_[kFaultCount] = {};
};

// Adds a device, and for every layer type that has cpu/naive, and whose shapes do not depend on
// data, a routine DEVICE/pages, or those of TestControl::routines: that one at work on the device's
// pages.
Status add_test_device(Registry& registry, std::shared_ptr<TestControl> control,
                       DeviceId id = *DeviceId::parse("test"));

}  // namespace softneuro::test
