// Which cache layers find their weights in when the net runs. It is found out once per profile
// cache, since unit profiles depend on it.
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{2} << 20;

}  // namespace

Status Tuner::find_cache_residency() {
  std::size_t bytes = 0;
  for (TensorId id = 0; id < job_.graph->tensor_count(); ++id)
    bytes += job_.graph->tensor(id).constant.bytes();
  if (bytes * 2 <= caches_.own_bytes()) return {};  // with room for what is computed
  caches_.set_residency(CacheResidency::shared_cache);
  if (!can_flush() || budget_.expired()) return {};
  const std::string key = fmt::format("weights|{:x}", whole_key_);
  bool far = false;
  if (const Profile* known = cache_.find(key); known != nullptr) {
    far = known->time_us > 1;
    ++net_from_cache_;
  } else {
    SN_ASSIGN_OR_RETURN(far, net_evicts_weights());
    cache_.put(key, {.time_us = far ? 2.0 : 1.0});
    ++net_measured_;
  }
  if (far) caches_.set_residency(CacheResidency::memory);
  return {};
}

// Whether a run leaves the weights in no cache. Default choices stand for the path to be found.
Result<bool> Tuner::net_evicts_weights() {
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, default_path_, nullptr));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, job_.inputs));
  int late = 0;
  const auto run = [&]() -> Status {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    SN_RETURN_IF_ERROR(bench.run().status());
    const PoolBurst burst(job_.core->pool());
    late += !barrier_.synchronize();
    return {};
  };
  SN_RETURN_IF_ERROR(run());
  const std::vector<std::byte> probe(kProbeBytes, std::byte{1});
  SN_ASSIGN_OR_RETURN(const bool far, evicts_weights(caches_, probe, run));
  if (!far || late == 0) return far;
  // A thread was preempted, and the other process may have evicted them. Reading the weights alone
  // is short enough to happen between two preemptions.
  std::vector<std::span<const std::byte>> weights;
  for (TensorId id = 0; id < job_.graph->tensor_count(); ++id)
    if (const Tensor& constant = job_.graph->tensor(id).constant; constant.bytes() > 0)
      weights.emplace_back(static_cast<const std::byte*>(constant.data()), constant.bytes());
  return evicts_weights(caches_, probe, [&]() -> Status {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    const PoolBurst burst(job_.core->pool());
    caches_.read(weights);
    return {};
  });
}

}  // namespace softneuro
