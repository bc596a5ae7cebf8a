// Implementation: one routine for one problem, analysed once. What oneDNN calls a primitive
// descriptor, FFTW a plan and MIOpen a solution.
#pragma once

#include <memory>
#include <string>

#include "core/routine/descriptor.h"
#include "core/routine/kernel.h"
#include "core/routine/param_space.h"
#include "core/routine/problem.h"
#include "core/routine/routine_context.h"

namespace softneuro {

class Routine;

// What Implementation::pack() makes.
struct Packing {
  std::size_t bytes = 0;  // 0: the kernel reads the original constants
  // Everything besides the weights that the packed bytes depend on: routine parameters, shapes of
  // other inputs. Equal keys share the bytes. They should not depend on shapes, so that plans for
  // several shapes share them.
  std::string key;
  // Kernels use the packed bytes alone: the original constants need not be kept.
  bool replaces_constants = false;
};

// Made by RoutineContext::implement(); the routine outlives it.
// Immutable and thread safe.
class SN_INTREE Implementation {
 public:
  Implementation(ProblemPtr problem, const RoutineContext& context)
      : problem_(std::move(problem)), context_(context) {}
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  virtual ~Implementation();

  const Routine& routine() const { return *routine_; }
  // What the routine computes, and packs weights for: without post-ops that it does not fuse.
  const Problem& problem() const { return *problem_; }
  // What the kernels of create() compute: with all post-ops.
  const Problem& whole_problem() const { return tail_.problem ? *tail_.problem : *problem_; }
  const RoutineContext& context() const { return context_; }
  // This object if its routine is a ChildnetRoutine, else nullptr: a dynamic_cast for builds
  // without type information.
  virtual const class ChildnetImplementation* as_childnet() const { return nullptr; }

  // Whether there are any parameters with which it computes the problem, where that takes a while
  // to find out. RoutineContext::implement() asks, unless it is given parameters. Default: yes.
  virtual Applicability applicable() const { return Applicability::yes(); }
  // How fast it computes the problem where nothing was measured, > 0: multiply-adds (or other
  // steps) in a given time, as a multiple of those of the library's dense products on channels-last
  // tensors. It weighs formats against each other; among routines of the same formats the rank
  // decides. A guess that holds for the kind of kernel, on every processor. infinity: the
  // application brought the routine along to have it used, and no other format may win.
  virtual double speed() const { return 1; }
  // Parameters to use where nothing was tuned; constant time.
  virtual RoutineParams default_params() const { return {}; }
  // Values that the profiler may try; contains default_params(). Default: those alone.
  virtual ParamSpace param_space() const { return {}; }
  // Whether the other functions take `params`, which may come from a file; if not, why. Default:
  // those of default_params() and param_space().
  virtual Applicability check_params(const RoutineParams& params) const;
  // Does not depend on the values of the constants. Packed weights of that size in a file are used
  // unchecked.
  virtual Result<Packing> packing(const RoutineParams&) const { return Packing(); }
  // Writes the weights, reordered for create(), to `packed`: Packing::bytes bytes, aligned to
  // kTensorAlignment. `scratch` is for temporary memory. Uses no threads. Not called where there
  // are no bytes.
  virtual Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const;
  // packing() and pack() in memory of `allocator`; empty if nothing is packed.
  Result<PackedWeights> pack_weights(const RoutineParams& params, Allocator& allocator) const;
  // The kernel for whole_problem(); one that does nothing where all outputs are empty. It keeps
  // what it needs (Tensor handles share ownership), but nothing of this object. Precondition:
  // `params` are checked, and `packed` has Packing::bytes and is on the routine's device.
  Result<std::unique_ptr<Kernel>> create(const RoutineParams& params,
                                         const PackedWeights& packed = {}) const;

 protected:
  // The kernel for problem(), whose outputs are not all empty.
  virtual Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                        const PackedWeights& packed) const = 0;

 private:
  friend class Routine;
  friend class RoutineContext;
  // Post-ops that the routine does not fuse.
  struct Tail {
    ProblemPtr problem;  // null: there are none
    Result<std::unique_ptr<Kernel>> (*append)(std::unique_ptr<Kernel> base,
                                              const Problem& problem) = nullptr;
  };

  ProblemPtr problem_;
  RoutineContext context_;
  const Routine* routine_ = nullptr;
  Tail tail_;
};

// For Routine::make_implementation().
template <class I, class... Args>
Result<std::shared_ptr<Implementation>> make_implementation_of(Args&&... args) {
  return std::shared_ptr<Implementation>(std::make_shared<I>(std::forward<Args>(args)...));
}

}  // namespace softneuro
