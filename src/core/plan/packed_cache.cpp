#include "core/plan/packed_cache.h"

#include <optional>

#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/routine/quantization_key.h"
#include "core/routine/registry.h"

namespace softneuro {
struct PackedCache::Packing {
  std::mutex mutex;  // held while packing
  std::optional<PackedWeights> weights;
};

std::string PackedCache::key_of(const Layer& layer, const Routine& routine, const Problem& problem,
                                const RoutineParams& params) {
  const Problem base = base_problem(routine, problem);
  return fmt::format("{}|{}|{}|v{}|{}|{}{}", layer.id, routine.descriptor().str(),
                     routine.pack_key(base, params), routine.version(), routine.library(),
                     to_string(current_isa()), quantization_key(base));
}

Result<PackedWeights> PackedCache::get(const Layer& layer, const Routine& routine,
                                       const Problem& problem, const RoutineParams& params,
                                       bool shareable) {
  const Problem base = base_problem(routine, problem);
  if (!shareable) return pack_weights(routine, base, params, allocator_);

  const std::string key = key_of(layer, routine, problem, params);
  std::shared_ptr<Packing> packing;
  Tensor preloaded;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found_packing = packed_.find(key);
    packing = found_packing == packed_.end() ? std::make_shared<Packing>() : found_packing->second;
    packed_.emplace(key, packing);
    if (const auto found = preloaded_.find(key); found != preloaded_.end())
      preloaded = found->second;
  }
  const std::lock_guard<std::mutex> lock(packing->mutex);
  if (packing->weights) return *packing->weights;
  PackedWeights packed;
  const auto bytes = routine.packed_bytes(base, params);
  if (bytes.ok() && *bytes > 0 && *bytes == preloaded.bytes()) {
    packed.bytes = std::move(preloaded);
  } else {
    SN_ASSIGN_OR_RETURN(packed, pack_weights(routine, base, params, allocator_));
  }
  packing->weights = packed;
  return packed;
}

void PackedCache::preload(std::map<std::string, Tensor, std::less<>> packed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  preloaded_ = std::move(packed);
}

void PackedCache::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  packed_.clear();
  preloaded_.clear();
}

std::size_t PackedCache::bytes() const {
  std::vector<std::shared_ptr<Packing>> packings;  // some of which may take a while
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, packing] : packed_) packings.push_back(packing);
  }
  std::size_t bytes = 0;
  for (const auto& packing : packings) {
    const std::lock_guard<std::mutex> lock(packing->mutex);
    if (packing->weights) bytes += packing->weights->bytes.bytes();
  }
  return bytes;
}

}  // namespace softneuro
