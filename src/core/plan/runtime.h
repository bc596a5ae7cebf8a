// Runtime: what a net, its plans and their sessions share. Outlives whichever of them goes first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/printable.h"
#include "core/plan/packed_cache.h"
#include "core/routine/registry.h"
#include "softneuro/net.h"

namespace softneuro {

// Immutable but for the packed weights. Thread safe. Made by make_runtime() (net/make_runtime.h).
class Runtime {
 public:
  struct Parts {
    // Plugins; held as long as the registry, whose routines live in them.
    std::vector<std::shared_ptr<void>> libraries;
    Registry registry;
    Allocator* allocator;                    // not null; outlives the runtime
    std::unique_ptr<ThreadPool> owned_pool;  // null: `pool` is the caller's
    ThreadPool* pool;                        // not null
    LogCallback log;
    std::vector<std::string> schemas;  // patterns that default choices keep to; empty: all
    DeviceId device = {};              // that untuned nets run on as far as it has routines
  };
  explicit Runtime(Parts parts)
      : parts_(std::move(parts)), packed_weights_(parts_.registry, *parts_.allocator) {}

  const Registry& registry() const { return parts_.registry; }
  // For the layers of a net that runs on pool().
  RoutineContext routine_context() const {
    return RoutineContext(parts_.registry, parts_.pool->concurrency());
  }
  Allocator& allocator() const { return *parts_.allocator; }
  ThreadPool& pool() const { return *parts_.pool; }
  // No thread pool and no allocator of the application's.
  bool uses_default_resources() const {
    return parts_.owned_pool != nullptr && parts_.allocator == &default_allocator();
  }
  const std::vector<std::string>& schemas() const { return parts_.schemas; }
  DeviceId device() const { return parts_.device; }
  void log(LogLevel level, std::string_view message) const {
    if (parts_.log) parts_.log(level, printable_text(std::string(message)));
  }
  PackedCache& packed_weights() { return packed_weights_; }

 private:
  const Parts parts_;
  PackedCache packed_weights_;
};

}  // namespace softneuro
