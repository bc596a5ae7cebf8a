// NetCore: what a net, its plans and their sessions share. Outlives whichever of them goes first.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/printable.h"
#include "core/routine/registry.h"
#include "softneuro/net.h"

namespace softneuro {

class NetCore {
 public:
  // Builds the registry (built-in routines, then plugins) and the thread pool.
  static Result<std::shared_ptr<NetCore>> create(const NetOptions& options);

  const Registry& registry() const { return registry_; }
  Allocator& allocator() const { return *allocator_; }
  ThreadPool& pool() const { return *pool_; }
  // Neither threads nor memory are the caller's.
  bool has_own_means() const { return own_pool_ != nullptr && allocator_ == &default_allocator(); }
  const std::vector<std::string>& schemas() const { return schemas_; }
  void log(LogLevel level, std::string_view message) const {
    if (log_) log_(level, printable_text(std::string(message)));
  }

  // The packed weights of `layer` for `routine`, made at the first call and shared afterwards.
  // `shareable`: the constants are the graph's own, not computed for one plan only.
  Result<PackedWeights> packed(const Layer& layer, const Routine& routine, const Problem& problem,
                               const RoutineParams& params, bool shareable);
  std::size_t packed_bytes() const;
  // Packings that a file brought along, by packed_key(). One is taken only where its size is what
  // pack() would make.
  void offer_packed(std::map<std::string, Tensor, std::less<>> packed);
  // Kernels keep what they use; plans made from now on pack again.
  void forget_packed();
  // Layer, routine, its pack_key(), versions, instruction set: equal keys, equal bytes. Parameters
  // that do not change the packing share it.
  static std::string packed_key(const Layer& layer, const Routine& routine, const Problem& problem,
                                const RoutineParams& params);

 private:
  explicit NetCore(Registry registry) : registry_(std::move(registry)) {}
  // Those beside the library; one that cannot be used is a line in the log.
  void add_found_plugins();
  // Then those of the options, else those of the environment.
  Status load_plugins(const NetOptions& options);

  // Declared first, destroyed last: routines of plugins live in these libraries.
  std::vector<std::shared_ptr<void>> libraries_;
  Registry registry_;
  Allocator* allocator_ = nullptr;
  std::unique_ptr<ThreadPool> own_pool_;
  ThreadPool* pool_ = nullptr;
  LogCallback log_;
  std::vector<std::string> schemas_;
  // Whoever comes first packs; others that want the same wait.
  struct Packing;
  mutable std::mutex mutex_;  // not held while packing
  std::map<std::string, std::shared_ptr<Packing>> packed_;
  std::map<std::string, Tensor, std::less<>> offered_;
};

}  // namespace softneuro
