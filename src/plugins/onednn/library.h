// oneDNN as this process uses it: one CPU engine, no threads of its own, no newer instructions than
// SOFTNEURO_MAX_ISA allows. See docs/internals/threads.md.
#pragma once

#include <string>

#include "core/plugin/intree.h"
#include "plugins/onednn/api.h"

namespace softneuro::onednn {

// Once per process, before anything else of the library is used. unsupported if the library found
// is too old, or takes threads in a way that cannot be kept from it.
Status prepare_library();

// "onednn 2.6.3": of the library that is loaded.
std::string library_name();
// It, and the OpenMP runtime that it takes its threads from.
std::vector<PluginLibrary> libraries();

// Whether the library has VNNI of either width here, and no mask, ours or its own, forbids it.
bool may_use_vnni();

// Scope guard: sets the OpenMP team size of the calling thread to 1, so that oneDNN creates and
// runs primitives on this thread alone; restores the thread's own setting at the end.
class OneThread {
 public:
  OneThread() noexcept;
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// ok, out_of_memory or internal, the message naming `what` was tried.
Status status_of(dnnl_status_t status, const char* what);

}  // namespace softneuro::onednn
