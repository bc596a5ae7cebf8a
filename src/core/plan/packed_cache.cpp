#include "core/plan/packed_cache.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/isa_variants.h"

namespace softneuro {
struct PackedCache::Entry {
  std::vector<Tensor>
      constants;     // what is packed; kept, so that no other takes its place in memory
  std::mutex mutex;  // held while packing
  std::optional<PackedWeights> weights;
};

namespace {

std::vector<Tensor> constants_of(const Problem& problem) {
  std::vector<Tensor> constants;
  for (const TensorSpec& input : problem.inputs)
    if (!input.value.empty()) constants.push_back(input.value);
  return constants;
}

// What packings of one name may differ by: of other devices than the host, the processor does not
// matter.
std::string machine_of(const Implementation& implementation) {
  const Device* const device =
      implementation.context().registry().device(implementation.routine().descriptor().device);
  return device == nullptr ? best_variant(usable_features()).name : device->name();
}

}  // namespace

std::string PackedCache::key_of(const Layer& layer, const Implementation& implementation,
                                const Packing& packing) {
  const Routine& routine = implementation.routine();
  const RoutineFacts facts = routine.facts();
  return fmt::format("{}|{}|{}|v{}|{}|{}{}", layer.id, routine.descriptor().str(), packing.key,
                     facts.version, facts.library, machine_of(implementation),
                     quantization_key(implementation.problem()));
}

Result<PackedWeights> PackedCache::get(const Layer& layer, const Implementation& implementation,
                                       const RoutineParams& params, bool shareable) {
  const std::vector<Tensor> constants = constants_of(implementation.problem());
  const bool left_out = is_left_out(constants);
  const auto pack = [&]() -> Result<PackedWeights> {
    SN_ASSIGN_OR_RETURN(PackedWeights packed, implementation.pack_weights(params, allocator_));
    SN_RETURN_IF_ERROR(registry_.upload(implementation.routine(), packed));
    if (packed.on_device != nullptr) packed.bytes = Tensor();  // what saves them packs again
    return packed;
  };
  if (!shareable && !left_out) return pack();

  SN_ASSIGN_OR_RETURN(const Packing packing, implementation.packing(params));
  const std::string key = key_of(layer, implementation, packing);
  std::string full_key = key;
  for (const Tensor& constant : constants)
    full_key += fmt::format("|{}", fmt::ptr(constant.data()));
  std::shared_ptr<Entry> entry;
  Tensor preloaded;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Entry>& known = packed_[full_key];
    if (known == nullptr) {
      known = std::make_shared<Entry>();
      known->constants = constants;
    }
    entry = known;
    const bool is_preloaded = std::all_of(
        constants.begin(), constants.end(),
        [&](const Tensor& constant) { return preloaded_for_.contains(constant.data()); });
    if (const auto found = preloaded_.find(key); is_preloaded && found != preloaded_.end())
      preloaded = found->second;
  }
  const std::lock_guard<std::mutex> lock(entry->mutex);
  if (entry->weights) return *entry->weights;
  if (preloaded.bytes() > 0 && preloaded.bytes() == packing.bytes) {
    PackedWeights packed;
    packed.bytes = std::move(preloaded);
    SN_RETURN_IF_ERROR(registry_.upload(implementation.routine(), packed));
    entry->weights = std::move(packed);
  } else if (left_out) {
    return unsupported(
        "the file has only weights packed for another routine, shape, number of threads or "
        "processor: use a file that was saved without SaveOptions::packed_only (tune --packed "
        "only), or tune for this use before saving");
  } else {
    SN_ASSIGN_OR_RETURN(entry->weights, pack());
  }
  return *entry->weights;
}

bool PackedCache::is_left_out(const std::vector<Tensor>& constants) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(constants.begin(), constants.end(),
                     [&](const Tensor& constant) { return left_out_.contains(constant.data()); });
}

void PackedCache::preload(std::map<std::string, Tensor, std::less<>> packed, const Graph& graph) {
  const std::lock_guard<std::mutex> lock(mutex_);
  preloaded_ = std::move(packed);
  preloaded_for_.clear();
  left_out_.clear();
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const TensorDef& def = graph.tensor(id);
    if (def.is_constant() && !preloaded_.empty()) preloaded_for_.insert(def.constant.data());
    if (def.left_out) left_out_.insert(def.constant.data());
  }
}

void PackedCache::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  packed_.clear();
  preloaded_.clear();
  preloaded_for_.clear();
}

PackedCache::Bytes PackedCache::bytes() const {
  std::vector<std::shared_ptr<Entry>> packings;  // some of which may take a while
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, packing] : packed_) packings.push_back(packing);
  }
  Bytes bytes;
  for (const auto& packing : packings) {
    const std::lock_guard<std::mutex> lock(packing->mutex);
    if (!packing->weights) continue;
    bytes.host += packing->weights->bytes.bytes();
    if (packing->weights->on_device != nullptr)
      bytes.devices += packing->weights->on_device->bytes();
  }
  return bytes;
}

}  // namespace softneuro
