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
  Status finish() noexcept { return run_.finish(); }
  const std::vector<Tensor>& outputs() const { return run_.outputs(); }
  const std::shared_ptr<const Kernel>& kernel() const { return kernel_; }
  std::size_t workspace_bytes() const {
    return kernel_->workspace_bytes() + kernel_->host_workspace_bytes();
  }
  std::size_t packed_bytes() const { return packed_.bytes.bytes(); }
  // The time of one of `runs` runs; negative if one fails. Where a thread was preempted at the end,
  // the runs are repeated, a few times at most; the minimum counts.
  double time_us(int runs, PoolBarrier& barrier) noexcept;

 private:
  Result<double> runs_us(int runs) noexcept;
  bool time_once(int runs, PoolBarrier& barrier, double& best) noexcept;

  Runtime* runtime_ = nullptr;
  PackedWeights packed_;
  std::shared_ptr<const Kernel> kernel_;
  KernelRun run_;
};

}  // namespace softneuro
