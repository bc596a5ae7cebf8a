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
  static Result<KernelBench> create(Runtime& core, const Implementation& implementation,
                                    const RoutineParams& params, std::vector<Tensor> inputs,
                                    LastPacking* last = nullptr);
  // The same of a kernel that is there, of `routine`.
  static Result<KernelBench> of(Runtime& core, std::shared_ptr<const Kernel> kernel,
                                const Routine& routine, const Problem& problem,
                                std::vector<Tensor> inputs);

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

  Runtime* core_ = nullptr;
  PackedWeights packed_;
  std::shared_ptr<const Kernel> kernel_;
  KernelRun run_;
};

// The layer that takes `tensor` from one format to another.
Problem adapt_problem(Runtime& core, TensorSpec tensor, const Format& from, const Format& to);

// `tensor` in another type and layout, by the default adapt routine of the host. `quantization`
// says what 8-bit numbers mean on either side; null where there are none.
Result<Tensor> in_format(Runtime& core, const Tensor& tensor, const Format& to,
                         const std::optional<Quantization>& quantization);

// Inputs of a problem in the model's own formats: constants as they are, real numbers from a fixed
// random sequence within the range of the tensor's quantisation (else normal), integers zero.
Result<std::vector<Tensor>> random_inputs(const Problem& problem, Allocator& allocator);

// Such numbers for one of them.
void fill_random(const TensorSpec& spec, Tensor& tensor);

// The same with real numbers of all magnitudes, whole ones and ties among them, most of them where
// exponentials are neither 0 nor infinite: for element-wise layers, whose errors hide in the tails.
Result<std::vector<Tensor>> tail_inputs(const Problem& problem, Allocator& allocator);

}  // namespace softneuro
