#include "profiler/measure/kernel_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/routine/registry.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/timer.h"

namespace softneuro {
namespace {

Result<PackedWeights> packed_for(Runtime& runtime, const Implementation& implementation,
                                 const RoutineParams& params, LastPacking* last) {
  if (last == nullptr) return implementation.pack_weights(params, runtime.allocator());
  SN_ASSIGN_OR_RETURN(const Packing packing, implementation.packing(params));
  std::string key = implementation.routine().descriptor().str() + '|' +
                    formats_of(implementation.problem()).str() + '|' + packing.key;
  if (last->key != key) {
    *last = {};  // first, so that there are never two
    SN_ASSIGN_OR_RETURN(last->packed, implementation.pack_weights(params, runtime.allocator()));
    last->key = std::move(key);
  }
  return last->packed;
}

}  // namespace

Result<KernelBench> KernelBench::create(Runtime& runtime, const Implementation& implementation,
                                        const RoutineParams& params, std::vector<Tensor> inputs,
                                        LastPacking* last) {
  SN_ASSIGN_OR_RETURN(PackedWeights packed, packed_for(runtime, implementation, params, last));
  SN_RETURN_IF_ERROR(runtime.registry().upload(implementation.routine(), packed));
  SN_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, implementation.create(params, packed));
  KernelBench bench;
  bench.runtime_ = &runtime;
  bench.kernel_ = std::move(kernel);
  bench.packed_ = std::move(packed);
  SN_ASSIGN_OR_RETURN(
      bench.run_,
      KernelRun::create(*bench.kernel_, implementation.whole_problem(),
                        runtime.registry().device(implementation.routine().descriptor().device),
                        std::move(inputs), runtime.allocator()));
  for (Tensor& output : bench.run_.outputs())
    if (output.bytes() > 0) std::memset(output.mutable_data(), 0, output.bytes());
  return bench;
}

Status KernelBench::run() noexcept {
  SN_RETURN_IF_ERROR(run_.start(runtime_->pool()));
  return run_.finish();
}

// By the clock of where the work is done; what also touches the host keeps the caller so long.
Result<double> KernelBench::runs_us(int runs) noexcept {
  Stream* const stream = run_.stream();
  const bool by_device = stream != nullptr && !run_.touches_host();
  std::unique_ptr<DeviceEvent> first, last;
  if (by_device) {
    SN_ASSIGN_OR_RETURN(first, stream->record());
  }
  const std::int64_t begin = clock_ns();
  for (int i = 0; i < runs; ++i) SN_RETURN_IF_ERROR(run_.start(runtime_->pool()));
  if (by_device) {
    SN_ASSIGN_OR_RETURN(last, stream->record());
  }
  if (stream != nullptr) SN_RETURN_IF_ERROR(stream->synchronize());
  if (by_device) return stream->microseconds(*first, *last);
  return static_cast<double>(clock_ns() - begin) * 1e-3;
}

double KernelBench::time_us(int runs, PoolBarrier& barrier) noexcept {
  const PoolBurst burst(runtime_->pool());  // as inside of a session's run
  double best = INFINITY;
  barrier.synchronize();
  for (int attempt = 0; attempt < constants::kAttempts; ++attempt)
    if (time_once(runs, barrier, best)) break;
  return best;
}

// Whether there is no need to repeat them.
bool KernelBench::time_once(int runs, PoolBarrier& barrier, double& best) noexcept {
  const Result<double> us = runs_us(runs);
  if (!us.ok()) {
    best = -1;
    return true;
  }
  best = std::min(best, *us / runs);
  return barrier.synchronize() || *us * 1e3 > static_cast<double>(constants::kTimeSliceNs);
}

}  // namespace softneuro
