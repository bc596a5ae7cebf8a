// One kernel with everything that it needs to run outside of a net.
#pragma once

#include <memory>
#include <vector>

#include "core/plan/runtime.h"
#include "core/routine/kernel_run.h"
#include "profiler/measure/pool_barrier.h"

namespace softneuro {

// The packing that was made last, for candidates of one layer that differ in nothing that matters
// to it. One only: packed weights can be large.
struct LastPacking {
  std::string key;
  PackedWeights packed;
};

class KernelBench {
 public:
  // Packs the problem's constants, makes the kernel, gives it outputs and workspace. `inputs` are
  // in the types and layouts of the whole problem, on the host (empty where left out), and are
  // shared with the caller. `last`, if it is given, spares packing; it belongs to one layer's
  // problem.
  static Result<KernelBench> create(Runtime& runtime, const Implementation& implementation,
                                    const RoutineParams& params, std::vector<Tensor> inputs,
                                    LastPacking* last = nullptr);

  // A run whose outputs are on the host afterwards.
  Status run() noexcept;
  // Brings the outputs of what was timed last to the host.
  Status finish() noexcept { return work_->run.finish(); }
  const std::vector<Tensor>& outputs() const { return work_->run.outputs(); }
  const std::shared_ptr<const Kernel>& kernel() const { return kernel_; }
  std::size_t workspace_bytes() const {
    return kernel_->workspace_bytes() + kernel_->host_workspace_bytes();
  }
  std::size_t packed_bytes() const { return packed_.bytes.bytes(); }
  // The time of one of `runs` runs; negative if one fails. Where a thread was preempted at the end,
  // the runs are repeated, a few times at most; the minimum counts. On a device alone all but a
  // first run are played from a recording, if the device makes one: launches one by one keep the
  // host busy for longer than small kernels take.
  double time_us(int runs, PoolBarrier& barrier) noexcept;
  // Whether the kernel's time is by the clock of its device, on which it stays. Its first run does
  // not count there: it may load code for long.
  bool is_on_device() const noexcept {
    return work_->run.stream() != nullptr && !work_->run.touches_host();
  }
  // For those, after a first run: runs of a sample. `us`: the time of one, as time_us() gives it.
  int batch_on_device(PoolBarrier& barrier, double& us) noexcept;

 private:
  // What is recorded goes before the stream that it is recorded from.
  struct Work {
    KernelRun run;
    bool has_run = false, is_recordable = true;
    int recorded_runs = 0;
    std::unique_ptr<Recording> recording;
  };

  Result<double> runs_us(int runs) noexcept;
  Result<double> device_us(int runs) noexcept;
  Status put_in(int runs) noexcept;
  Status record(int runs) noexcept;
  bool time_once(int runs, PoolBarrier& barrier, double& best) noexcept;

  Runtime* runtime_ = nullptr;
  PackedWeights packed_;
  std::shared_ptr<const Kernel> kernel_;
  std::unique_ptr<Work> work_;
};

}  // namespace softneuro
