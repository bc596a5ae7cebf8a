// The packed weights of a net, shared by its plans and by those of graphs that were made from it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/graph/graph.h"
#include "core/routine/registry.h"

namespace softneuro {

// Thread safe.
class PackedCache {
 public:
  PackedCache(const Registry& registry, Allocator& allocator)
      : registry_(registry), allocator_(allocator) {}

  // The packed weights of `layer` as implemented, made at the first call and shared afterwards by
  // all calls for the same layer with the same constants: another graph may have given its number
  // to a layer with other weights.
  // `shareable`: the constants are those of the graph, not computed for one plan only.
  Result<PackedWeights> get(const Layer& layer, const Implementation& implementation,
                            const RoutineParams& params, bool shareable);
  // Bytes of all packings that are kept: on the host, and on other devices.
  struct Bytes {
    std::size_t host = 0, devices = 0;
  };
  Bytes bytes() const;
  // Packings that a file brought along for the layers of `graph`, by key_of(). One is taken only
  // for constants of this graph, and where it has Packing::bytes. From here on get()
  // is unsupported for layers that have constants which the file left out and no packing here.
  // Precondition: the graph outlives all calls of get(), or clear() is called before it is
  // destroyed.
  void preload(std::map<std::string, Tensor, std::less<>> packed, const Graph& graph);
  // Kernels keep what they use; plans made from now on pack again.
  void clear();
  // Layer, routine, Packing::key, versions, instruction set or device: equal keys, equal bytes.
  // Parameters that do not change the packing share it.
  static std::string key_of(const Layer& layer, const Implementation& implementation,
                            const Packing& packing);

 private:
  bool is_left_out(const std::vector<Tensor>& constants) const;

  // Several plans may want one packing at once: the first packs, the others wait.
  struct Entry;

  const Registry& registry_;  // whose devices packed weights are put on
  Allocator& allocator_;
  mutable std::mutex mutex_;  // not held while packing
  std::map<std::string, std::shared_ptr<Entry>> packed_;
  std::map<std::string, Tensor, std::less<>> preloaded_;
  std::set<const void*> preloaded_for_;  // where that graph's constants are
  std::set<const void*> left_out_;       // those of them that were left out
};

}  // namespace softneuro
