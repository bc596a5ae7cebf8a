// Runs problems through routines and compares what comes out.
#pragma once

#include "core/routine/registry.h"
#include "numeric/problem_set.h"
#include "support/graph_evaluator.h"  // builtin_registry()

namespace softneuro::test {

// A case with its inputs made: everything that a routine needs.
struct PreparedCase {
  Problem problem;
  std::vector<Tensor> inputs;  // as problem.inputs, empty where left out
  const Registry* registry = nullptr;
  int threads = 1;

  RoutineContext context() const { return RoutineContext(*registry, threads); }
  Result<ImplementationPtr> implement(const Routine& routine) const {
    return context().implement(routine, problem);
  }
};
// The inputs depend on the case and on `seed` only.
Result<PreparedCase> prepare(const Registry& registry, const Case& description, std::uint64_t seed);

// The same case in another format of its real-valued tensors: for routines that work in float16
// and the like, or in another layout. Nothing if it does not exist in that format.
std::optional<PreparedCase> in_format(const PreparedCase& prepared, DataType type, Layout layout);

// The problem with all tensors there but those whose value is known.
void put_on_device(DeviceId device, Problem& problem);

// The same elements in another format.
Result<Tensor> convert_format(const Tensor& tensor, DataType type, Layout layout);

struct RunResult {
  Status status;
  std::vector<Tensor> outputs;  // empty where left out
  std::string defect;           // bytes written out of bounds, inputs changed…; empty: none
};
// Packs, makes and runs a kernel with the routine parameters `params` as a plan would. Outputs and
// workspace are poisoned before and guarded at both ends. in_place: output 0 shares the memory of
// the input that the kernel names; `ran_in_place` (if given) says whether it names one.
RunResult run_routine(const Routine& routine, const PreparedCase& prepared, ThreadPool& pool,
                      const RoutineParams& params, bool in_place = false,
                      bool* ran_in_place = nullptr);
// The same with what was packed before.
RunResult run_packed(const Routine& routine, const PreparedCase& prepared,
                     const PackedWeights& packed, ThreadPool& pool, const RoutineParams& params,
                     bool in_place = false, bool* ran_in_place = nullptr);

// The same of a kernel that does not work on the host, whose memory is guarded by the device.
RunResult run_on_device(const Kernel& kernel, Device& device, const PreparedCase& prepared,
                        ThreadPool& pool, bool in_place, bool* ran_in_place);

// Empty if `actual` is close enough to `expected`; else what differs, in one line.
// norm_of: each difference is bound by that tensor's largest magnitude instead of its own
// element's, as is right for algorithms that transform their data (Winograd): `expected` then.
std::string difference(const Tensor& expected, const Tensor& actual, Tolerance tolerance,
                       const Tensor* norm_of = nullptr);

// Pools of one and of two threads, made once.
ThreadPool& test_pool(int threads);
// The case in a plan for sixteen threads. Routines of our own give the same bits there; those of
// libraries need not, and keep the plan that they have.
PreparedCase for_many_threads(const PreparedCase& prepared, const Routine& routine);
bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

// Catch2 assertions: every qint8 routine of the case's layer type in every tuple of
// Routine::formats() that it takes. The quantisations come from the ranges of the case's inputs and
// of `reference`, what cpu/naive gave: each tensor its own, all alike, signed ones, and powers of
// two with odd zero points. With those each level must be that of cpu/naive on the dequantised
// inputs, rounded half to even, plus the zero point. Else outputs are compared
// - with cpu:qint8/naive of the layer type, if there is one that takes the problem: at most one
//   step off, and at most one element in a hundred (float32 outputs: the usual tolerance);
// - with cpu/naive on the dequantised inputs: every element within one step of the output (plus the
//   case's tolerance); where the routine rounds constant weights, the RMS of the error within 2 %
//   of the output's RMS plus one step, for outputs of at least 24 elements.
// Cases that hold no float32 tensors, or numbers that are not finite, are left out. Gives the
// number of comparisons.
int check_quantized(const Registry& registry, const Case& description, const PreparedCase& prepared,
                    const std::vector<Tensor>& reference);

// Those, the routines of library plugins that are linked in, and those of the test device.
const Registry& all_routines();

// Catch2 assertions: each problem, each routine that applies, against cpu/naive of the built-in
// registry. Without a registry: all_routines().
void check_problems(void (*add)(ProblemSet&));
void check_problems(const Registry& registry, void (*add)(ProblemSet&));

}  // namespace softneuro::test
