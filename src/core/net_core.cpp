#include "core/net_core.h"

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

Result<PackedWeights> NetCore::packed(const Layer& layer, const Routine& routine,
                                      const Problem& problem, const RoutineParams& params,
                                      bool shareable) {
  const bool composes = !problem.post_ops.empty() && !routine.supports_post_ops(problem);
  const Problem base = composes ? without_post_ops(problem) : Problem{};
  const Problem& seen = composes ? base : problem;
  if (!shareable) return routine.pack(seen, params, *allocator_);

  const std::string key = fmt::format("{}|{}|{}|{}", layer.id, routine.descriptor().str(),
                                      params.str(), routine.pack_key(seen, params));
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
