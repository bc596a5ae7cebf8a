// channel_shuffle cpu/naive: [N, groups, C/groups, S] becomes [N, C/groups, groups, S].
#include "core/base/element.h"
#include "core/routine/registry.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {
namespace {

class NaiveChannelShuffle final : public Routine {
 public:
  NaiveChannelShuffle() : Routine("channel_shuffle", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    const std::int64_t groups = problem.params.integer("groups");
    const std::int64_t members = x[1] / groups;
    const std::int64_t inner = x.elements(2, x.rank());
    StridedCopy copy;
    copy.add_axis(x[0], x[1] * inner, x[1] * inner);
    copy.add_axis(members, inner, groups * inner);
    copy.add_axis(groups, members * inner, inner);
    copy.add_axis(inner, 1, 1);
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_channel_shuffle_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveChannelShuffle>());
}

}  // namespace softneuro
