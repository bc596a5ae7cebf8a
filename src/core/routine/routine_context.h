// RoutineContext: what a problem is computed with: the routines that there are, and how many
// threads run them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/routine/descriptor.h"
#include "core/routine/problem.h"

namespace softneuro {

class Implementation;
class Registry;
class Routine;

using ImplementationPtr = std::shared_ptr<const Implementation>;

// What a routine says to a problem.
struct RoutineAnswer {
  const Routine* routine = nullptr;
  ImplementationPtr implementation;  // null: it refuses
  std::string reason;                // why
};

// A value, cheap to copy. Thread safe.
class SN_INTREE RoutineContext {
 public:
  // The registry outlives this object, and what is made with it.
  explicit RoutineContext(const Registry& registry, int threads = 1)
      : registry_(&registry), threads_(threads < 1 ? 1 : threads) {}

  const Registry& registry() const { return *registry_; }
  // That will work on the problem: for routines that partition it beforehand. At least 1.
  int threads() const { return threads_; }
  // Childnets that the problem is inside of.
  int childnet_depth() const { return childnet_depth_; }
  RoutineContext inside_childnet() const;

  // `routine` for `problem`, its post-ops included: a kernel behind it applies those that it does
  // not fuse. unsupported, with the reason (format rules, processor, one of the routine): it does
  // not apply.
  Result<ImplementationPtr> implement(const Routine& routine, const ProblemPtr& problem) const;
  Result<ImplementationPtr> implement(const Routine& routine, Problem problem) const;
  // The same with parameters, which may come from a file; unsupported, too: check_params() refuses
  // them. Other parameters are not asked about: a library may have none.
  Result<ImplementationPtr> implement(const Routine& routine, Problem problem,
                                      const RoutineParams& params) const;
  // Whether it applies.
  Applicability check(const Routine& routine, Problem problem) const;
  // Every routine of the problem's layer type, in order of descriptor.
  std::vector<RoutineAnswer> explain(const ProblemPtr& problem) const;
  // Those of `problem`'s device that apply besides `routine`, which is of that device, and round no
  // more than it; by falling default rank.
  std::vector<ImplementationPtr> instead_of(const Routine& routine,
                                            const ProblemPtr& problem) const;
  // The applicable routine of highest default rank (ties: the lowest descriptor). Only schemas
  // that match `schemas` (patterns; empty: all); where none does, cpu float32 ones; cpu/naive
  // always counts. unsupported if nothing applies, with every reason.
  Result<ImplementationPtr> default_choice(const ProblemPtr& problem,
                                           std::span<const std::string> schemas = {}) const;
  Result<ImplementationPtr> default_choice(Problem problem,
                                           std::span<const std::string> schemas = {}) const;

 private:
  Result<ImplementationPtr> analyse(const Routine& routine, const ProblemPtr& problem) const;

  const Registry* registry_;
  int threads_;
  int childnet_depth_ = 0;
};

// "cpu/wg: the kernel is not 3x3; …": those that refuse, and why.
std::string refusals_of(std::span<const RoutineAnswer> answers);

}  // namespace softneuro
