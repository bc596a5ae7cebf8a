// Routine → Implementation → Kernel → run: how a layer is computed (the paper's section II-B).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cpu.h"
#include "core/routine/format.h"
#include "core/routine/implementation.h"

namespace softneuro {

// What is true of a routine without a problem.
struct RoutineFacts {
  // Where nothing was measured, the applicable routine with the highest rank is used. cpu/naive has
  // rank 0. A guess, not a measurement.
  int default_rank = 0;
  // Raised whenever results or speed may change: part of the profile cache's key.
  int version = 1;
  // Version of the library that does the work ("onednn 2.6.3"); part of that key too. Empty where
  // the routine's device has not been started: no library is opened to answer.
  std::string library = {};
  // Features of the processor without which the kernels must not run: the routine refuses then.
  CpuFeatures needs = {};
  // The data type in which sums of products are kept, or stored before post-ops: 16-bit ones round
  // on the way to the result, and float16 may overflow there though the result fits.
  DataType accumulator = DataType::float32;
  bool is_childnet = false;
};

// One way to compute one layer type. One object per registry.
class SN_INTREE Routine {
 public:
  Routine(std::string_view layer_type,
          std::string_view descriptor);  // must parse: checked by tests
  virtual ~Routine();

  const std::string& layer_type() const { return layer_type_; }
  const RoutineDescriptor& descriptor() const { return descriptor_; }
  virtual RoutineFacts facts() const { return {}; }

  // The formats in which the routine would take and give the tensors of `problem`, which comes in
  // the model's own types and plain layout. Each tuple is a problem of its own to be implemented
  // and measured. Default: every real tensor in the descriptor's type and layout. Constants keep
  // the model's format. A qint8 routine may offer float32 outputs, too.
  virtual std::vector<FormatTuple> formats(const Problem& problem) const;

  // unsupported, with the reason: it does not apply. Called by RoutineContext, which has checked
  // before that the layouts are those of the descriptor and that no data type is undefined, or
  // qint8 unless the descriptor says so, and which puts a kernel behind those that lack post-ops.
  Result<std::shared_ptr<Implementation>> implement(const ProblemPtr& problem,
                                                    const RoutineContext& context) const;

 protected:
  // Whether the kernel does the problem's post-ops itself. If not, the other two functions get the
  // problem without them.
  virtual bool supports_post_ops(const Problem&) const { return false; }
  virtual Applicability applicable(const Problem&) const { return Applicability::yes(); }
  // Precondition: applicable. May refuse all the same, by unsupported.
  virtual Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const = 0;

 private:
  std::string layer_type_;
  RoutineDescriptor descriptor_;
};

}  // namespace softneuro
