// Where layers find their weights when the net runs: once per cache, since the unit profiles that
// follow depend on it.
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{2} << 20;

}  // namespace

Status Tuner::find_weights_place() {
  std::size_t bytes = 0;
  for (TensorId id = 0; id < job_.graph->tensor_count(); ++id)
    bytes += job_.graph->tensor(id).constant.bytes();
  if (bytes * 2 <= caches_.own_bytes()) return {};  // with room for what is computed
  caches_.set_place(WeightsPlace::shared_cache);
  if (!can_flush() || budget_.expired()) return {};
  const std::string key = fmt::format("weights|{:x}", whole_key_);
  bool far = false;
  if (const Profile* known = cache_.find(key); known != nullptr) {
    far = known->time_us > 1;
    ++net_from_cache_;
  } else {
    SN_ASSIGN_OR_RETURN(far, drives_weights_out());
    cache_.put(key, {.time_us = far ? 2.0 : 1.0});
    ++net_measured_;
  }
  if (far) caches_.set_place(WeightsPlace::memory);
  return {};
}

// Whether a run leaves the weights in no cache. Default choices stand for the path to be found.
Result<bool> Tuner::drives_weights_out() {
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, RoutinePath(), nullptr));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, job_.inputs));
  int late = 0;
  const auto run = [&]() -> Status {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    SN_RETURN_IF_ERROR(bench.run().status());
    const PoolBurst burst(job_.core->pool());
    late += !meeting_.gather();
    return {};
  };
  SN_RETURN_IF_ERROR(run());
  const std::vector<std::byte> probe(kProbeBytes, std::byte{1});
  SN_ASSIGN_OR_RETURN(const bool far, weights_are_far(caches_, probe, run));
  if (!far || late == 0) return far;
  // A neighbour has its turn now and then, and may have driven them out. To read the weights
  // alone takes so little time that it often stays away meanwhile.
  std::vector<std::span<const std::byte>> weights;
  for (TensorId id = 0; id < job_.graph->tensor_count(); ++id)
    if (const Tensor& constant = job_.graph->tensor(id).constant; constant.bytes() > 0)
      weights.emplace_back(static_cast<const std::byte*>(constant.data()), constant.bytes());
  return weights_are_far(caches_, probe, [&]() -> Status {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    const PoolBurst burst(job_.core->pool());
    caches_.read(weights);
    return {};
  });
}

}  // namespace softneuro
