// scatter_elements cpu/naive: copies x, then writes the updates one by one, in order.
#include "core/base/element.h"
#include "core/graph/enum_param.h"
#include "core/routine/registry.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/scatter_elements/update.h"

namespace softneuro {
namespace {

class NaiveScatterElementsKernel final : public Kernel {
 public:
  NaiveScatterElementsKernel(int axis, ScatterReduction reduction)
      : axis_(axis), reduction_(reduction) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const TensorView& updates = context.input(2);
    const std::int64_t dim = x.shape[axis_];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    copy_bytes(x.data, y.data, x.elements() * static_cast<std::int64_t>(size_of(x.type)),
               context.pool());

    const IndexReader indices(context.input(1));
    const Shape strides = strides_of(x.shape);
    const std::int64_t count = updates.elements();
    Shape place = index_at(0, updates.shape);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at =
          offset_of(place, strides) + (wrap_index(indices[i], dim) - place[axis_]) * strides[axis_];
      scatter_element(reduction_, y, at, updates, i);
      next_index(place, updates.shape);
    }
    return {};
  }

 private:
  int axis_;
  ScatterReduction reduction_;
};

class NaiveScatterElements final : public Routine {
 public:
  NaiveScatterElements() : Routine("scatter_elements", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                       problem.inputs[0].shape.rank()));
    SN_ASSIGN_OR_RETURN(const int reduction,
                        choice_of(problem.params, "reduction", kScatterReductions));
    return make_kernel<NaiveScatterElementsKernel>(axis, static_cast<ScatterReduction>(reduction));
  }
};

}  // namespace

Status register_routine_scatter_elements_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveScatterElements>());
}

}  // namespace softneuro
