#include "core/net_core.h"

#include "core/checksum.h"
#include "core/error.h"
#include "core/plugin_loader.h"

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
  return core;
}

Status NetCore::load_plugins(const NetOptions& options) {
  const std::vector<std::string> paths =
      options.plugins.empty() ? plugins_of_environment() : options.plugins;
  for (const std::string& path : paths) {
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

Result<PackedWeights> NetCore::packed(const Layer& layer, const Routine& routine,
                                      const Problem& problem, const RoutineParams& params,
                                      bool shareable) {
  const bool composes = !problem.post_ops.empty() && !routine.supports_post_ops(problem);
  const Problem base = composes ? without_post_ops(problem) : Problem{};
  const Problem& seen = composes ? base : problem;
  if (!shareable) return routine.pack(seen, params, *allocator_);

  const std::string key =
      fmt::format("{}|{}|{}|{}{}", layer.id, routine.descriptor().str(), params.str(),
                  routine.pack_key(seen, params), quantization_key(seen));
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = packed_.find(key); found != packed_.end()) return found->second;
  SN_ASSIGN_OR_RETURN(PackedWeights packed, routine.pack(seen, params, *allocator_));
  packed_.emplace(key, packed);
  return packed;
}

std::size_t NetCore::packed_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [key, packed] : packed_) bytes += packed.bytes.bytes();
  return bytes;
}

}  // namespace softneuro
