// scatter_elements cpu/naive: copies x, then writes the updates one by one, in order.
#include "core/base/element.h"
#include "core/graph/enum_param.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"
#include "routines/scatter_elements/update.h"

namespace softneuro {
namespace {

class NaiveScatterElementsKernel final : public Kernel {
 public:
  NaiveScatterElementsKernel(int axis, ScatterReduction reduction, TypedConstants constants)
      : axis_(axis), reduction_(reduction), constants_(std::move(constants)) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView x = constants_.input(context, 0);
    const TensorView& y = context.output(0);
    const TensorView updates = constants_.input(context, 2);
    const std::int64_t dim = x.shape[axis_];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    copy_bytes(x.data, y.data, x.elements() * static_cast<std::int64_t>(size_of(x.type)),
               context.pool());

    const IndexReader indices(context.input(1));
    const Shape strides = strides_of(x.shape);
    const std::int64_t count = updates.elements();
    if (count == 0) return {};
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
  TypedConstants constants_;
};

Result<std::unique_ptr<Kernel>> make_naive_scatter_elements(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(const int reduction,
                      choice_of(problem.params, "reduction", kScatterReductions));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_kernel<NaiveScatterElementsKernel>(axis, static_cast<ScatterReduction>(reduction),
                                                 std::move(constants));
}

}  // namespace

Status register_routine_scatter_elements_cpu_naive(Registry& registry) {
  return add_naive(registry, {"scatter_elements"}, make_naive_scatter_elements);
}

}  // namespace softneuro
