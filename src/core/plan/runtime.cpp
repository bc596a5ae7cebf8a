#include "core/plan/runtime.h"

#include <algorithm>
#include <optional>

#include "core/base/checksum.h"
#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/childnet/childnet.h"
#include "core/plugin/loader.h"
#include "core/plugin/search_path.h"

namespace softneuro {

Result<std::shared_ptr<NetCore>> NetCore::create(const NetOptions& options) {
  SN_ASSIGN_OR_RETURN(Registry registry, make_builtin_registry());
  auto core = std::shared_ptr<NetCore>(new NetCore(std::move(registry)));
  core->log_ = options.log;
  core->schemas_ = options.schemas;
  core->allocator_ = options.allocator != nullptr ? options.allocator : &default_allocator();
  if (options.thread_pool != nullptr) {
    core->pool_ = options.thread_pool;
  } else {
    SN_ASSIGN_OR_RETURN(core->own_pool_, create_thread_pool(options.threads));
    core->pool_ = core->own_pool_.get();
  }
  SN_RETURN_IF_ERROR(core->load_plugins(options));
  for (const Routine* routine : core->registry_.all())
    if (const ChildnetRoutine* childnet = routine->as_childnet())
      childnet->use_registry(core->registry_);
  return core;
}

void NetCore::add_found_plugins() {
  for (const FoundPlugin& found : found_plugins()) {
    std::string reason = found.reason;
    if (found.plugin != nullptr) reason = found.plugin->add(registry_).message();
    if (!reason.empty())
      log(LogLevel::info, fmt::format("plugin '{}' is not used: {}", found.path, reason));
  }
}

Status NetCore::load_plugins(const NetOptions& options) {
  const std::vector<std::string> paths =
      options.plugins.empty() ? plugins_of_environment() : options.plugins;
  if (std::find(paths.begin(), paths.end(), kNoFoundPlugins) == paths.end()) add_found_plugins();
  for (const std::string& path : paths) {
    if (path == kNoFoundPlugins) continue;
    SN_RETURN_IF_ERROR(load_plugin(path, registry_, libraries_.emplace_back()));
    log(LogLevel::info, fmt::format("plugin '{}' is loaded", path));
  }
  return {};
}

namespace {

// Packed 8-bit weights may hold what depends on the scales of the activations.
std::string quantization_key(const Problem& problem) {
  std::string key;
  const auto add = [&](const TensorSpec& spec) {
    if (spec.type != DataType::qint8 || !spec.quantization) return;
    const Quantization& q = *spec.quantization;
    key += fmt::format("|{}{}:{:x}:{:x}", q.is_signed ? 's' : 'u', q.axis,
                       checksum(q.scales.data(), q.scales.size() * sizeof(float)),
                       checksum(q.zero_points.data(), q.zero_points.size() * sizeof(std::int32_t)));
  };
  for (const TensorSpec& spec : problem.inputs) add(spec);
  for (const TensorSpec& spec : problem.outputs) add(spec);
  return key;
}

}  // namespace

struct NetCore::Packing {
  std::mutex mutex;  // held while packing
  std::optional<PackedWeights> weights;
};

std::string NetCore::packed_key(const Layer& layer, const Routine& routine, const Problem& problem,
                                const RoutineParams& params) {
  return fmt::format("{}|{}|{}|v{}|{}|{}{}", layer.id, routine.descriptor().str(),
                     routine.pack_key(problem, params), routine.version(), routine.library(),
                     to_string(current_isa()), quantization_key(problem));
}

Result<PackedWeights> NetCore::packed(const Layer& layer, const Routine& routine,
                                      const Problem& problem, const RoutineParams& params,
                                      bool shareable) {
  const Problem seen = packed_problem(routine, problem);
  if (!shareable) return routine.pack(seen, params, *allocator_);

  const std::string key = packed_key(layer, routine, seen, params);
  std::shared_ptr<Packing> packing;
  Tensor offered;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found_packing = packed_.find(key);
    packing = found_packing == packed_.end() ? std::make_shared<Packing>() : found_packing->second;
    packed_.emplace(key, packing);
    if (const auto found = offered_.find(key); found != offered_.end()) offered = found->second;
  }
  const std::lock_guard<std::mutex> lock(packing->mutex);
  if (packing->weights) return *packing->weights;
  PackedWeights packed;
  if (offered.bytes() > 0 && offered.bytes() == routine.packed_size(seen, params)) {
    packed.bytes = std::move(offered);
  } else {
    SN_ASSIGN_OR_RETURN(packed, routine.pack(seen, params, *allocator_));
  }
  packing->weights = packed;
  return packed;
}

void NetCore::offer_packed(std::map<std::string, Tensor, std::less<>> packed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  offered_ = std::move(packed);
}

void NetCore::forget_packed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  packed_.clear();
  offered_.clear();
}

std::size_t NetCore::packed_bytes() const {
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
