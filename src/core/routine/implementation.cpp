#include "core/routine/implementation.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/routine/routine.h"

namespace softneuro {
namespace {

// Kernels may keep tables by the dimensions that are not zero, which may be huge.
class EmptyKernel final : public Kernel {
 public:
  Status run(Context&) const noexcept override { return {}; }
};

bool writes_nothing(const Problem& problem) {
  return !problem.type->data_dependent_output &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), [](const TensorSpec& spec) {
           return !spec.present() || spec.shape.elements() == 0;
         });
}

}  // namespace

Implementation::~Implementation() = default;

Applicability Implementation::check_params(const RoutineParams& params) const {
  if (params == default_params()) return Applicability::yes();
  const ParamSpace space = param_space();
  if (!space.axes.empty() && space.contains(params)) return Applicability::yes();
  return Applicability::no("the routine does not have the parameters " + params.str());
}

Status Implementation::pack(const RoutineParams&, Allocator&, std::byte*) const {
  return internal_error("{} of {} packs no weights", routine().descriptor().str(),
                        routine().layer_type());
}

Result<PackedWeights> Implementation::pack_weights(const RoutineParams& params,
                                                   Allocator& allocator) const {
  PackedWeights packed;
  SN_ASSIGN_OR_RETURN(const Packing packing, this->packing(params));
  if (packing.bytes == 0) return packed;
  SN_ASSIGN_OR_RETURN(packed.bytes, allocate_bytes(packing.bytes, allocator));
  SN_RETURN_IF_ERROR(pack(params, allocator, static_cast<std::byte*>(packed.bytes.mutable_data())));
  return packed;
}

Result<std::unique_ptr<Kernel>> Implementation::create(const RoutineParams& params,
                                                       const PackedWeights& packed) const {
  if (writes_nothing(*problem_)) return softneuro::make_kernel<EmptyKernel>();
  if (tail_.problem == nullptr) return create_kernel(params, packed);
  SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> base, create_kernel(params, packed));
  return tail_.append(std::move(base), *tail_.problem);
}

}  // namespace softneuro
