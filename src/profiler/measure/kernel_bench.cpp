#include "profiler/measure/kernel_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

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
  bench.work_ = std::make_unique<Work>();
  SN_ASSIGN_OR_RETURN(
      bench.work_->run,
      KernelRun::create(*bench.kernel_, implementation.whole_problem(),
                        runtime.registry().device(implementation.routine().descriptor().device),
                        std::move(inputs), runtime.allocator()));
  for (Tensor& output : bench.work_->run.outputs())
    if (output.bytes() > 0) std::memset(output.mutable_data(), 0, output.bytes());
  return bench;
}

Status KernelBench::run() noexcept {
  SN_RETURN_IF_ERROR(work_->run.start(runtime_->pool()));
  work_->has_run = true;
  return work_->run.finish();
}

// By the clock of where the work is done; what also touches the host keeps the caller so long.
Result<double> KernelBench::runs_us(int runs) noexcept {
  if (is_on_device()) return device_us(runs);
  const std::int64_t begin = clock_ns();
  SN_RETURN_IF_ERROR(put_in(runs));
  if (Stream* const stream = work_->run.stream()) SN_RETURN_IF_ERROR(stream->synchronize());
  return static_cast<double>(clock_ns() - begin) * 1e-3;
}

Result<double> KernelBench::device_us(int runs) noexcept {
  Stream& stream = *work_->run.stream();
  const bool is_first = !std::exchange(work_->has_run, true);
  if (!is_first && work_->is_recordable && work_->recorded_runs != runs)
    if (const Status status = record(runs); !status.ok()) {
      work_->is_recordable = false;
      work_->recording.reset();
      // What is left of it in the stream is no error of the runs.
      (void)stream.synchronize();
    }
  const bool plays = !is_first && work_->recording != nullptr;
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> begin, stream.record());
  SN_RETURN_IF_ERROR(plays ? stream.play(*work_->recording) : put_in(runs));
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceEvent> end, stream.record());
  SN_RETURN_IF_ERROR(stream.synchronize());
  return stream.microseconds(*begin, *end);
}

Status KernelBench::put_in(int runs) noexcept {
  for (int i = 0; i < runs; ++i) SN_RETURN_IF_ERROR(work_->run.start(runtime_->pool()));
  return {};
}

// And plays it, for the first sample not to be its first play.
Status KernelBench::record(int runs) noexcept {
  Stream& stream = *work_->run.stream();
  work_->recording.reset();
  SN_RETURN_IF_ERROR(stream.begin_recording());
  const Status status = put_in(runs);
  Result<std::unique_ptr<Recording>> recording = stream.end_recording();
  SN_RETURN_IF_ERROR(status);
  SN_ASSIGN_OR_RETURN(work_->recording, std::move(recording));
  work_->recorded_runs = runs;
  for (int i = 0; i < constants::kWarmUpReplays; ++i)
    SN_RETURN_IF_ERROR(stream.play(*work_->recording));
  return stream.synchronize();
}

// What an event and a launch take is part of the sample: the more runs, the less of it is in each.
int KernelBench::batch_on_device(PoolBarrier& barrier, double& us) noexcept {
  int batch = 1;
  us = time_us(batch, barrier);
  while (us >= 0 && us * batch < constants::kReplayUs && batch < constants::kMostBatch) {
    const double wanted = us > 0 ? std::ceil(constants::kReplayUs / us) : INFINITY;
    batch = static_cast<int>(std::clamp(wanted, batch + 1.0, 1.0 * constants::kMostBatch));
    us = time_us(batch, barrier);
  }
  return batch;
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
