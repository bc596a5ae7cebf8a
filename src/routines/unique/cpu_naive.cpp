// unique cpu/naive: sorts the numbers of all slices, equal slices by number; each run of equal ones
// is a group, whose first member stands for it.
#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/tensor/compare_elements.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// x as [outer, slices, inner].
class Slices {
 public:
  Slices(const TensorView& x, int axis) noexcept
      : x_(x),
        outer_(axis < 0 ? 1 : x.shape.elements(0, axis)),
        count_(axis < 0 ? x.elements() : x.shape[axis]),
        inner_(axis < 0 ? 1 : x.shape.elements(axis + 1, x.shape.rank())) {}

  int compare_slices(std::int64_t a, std::int64_t b) const noexcept {
    for (std::int64_t o = 0; o < outer_; ++o)
      for (std::int64_t i = 0; i < inner_; ++i)
        if (const int order =
                compare_elements(x_, (o * count_ + a) * inner_ + i, (o * count_ + b) * inner_ + i))
          return order;
    return 0;
  }
  // Writes slice `from` as slice `to` of a tensor that has `slices` of them.
  void copy(std::int64_t from, std::byte* y, std::int64_t to, std::int64_t slices) const noexcept {
    const std::int64_t run = inner_ * static_cast<std::int64_t>(size_of(x_.type));
    for (std::int64_t o = 0; o < outer_; ++o)
      if (run > 0)
        std::memcpy(y + (o * slices + to) * run, x_.as<std::byte>() + (o * count_ + from) * run,
                    static_cast<std::size_t>(run));
  }

 private:
  const TensorView& x_;
  std::int64_t outer_;
  std::int64_t count_;
  std::int64_t inner_;
};

class NaiveUniqueKernel final : public Kernel {
 public:
  // axis −1: x is flattened. `slices`: how many there are.
  NaiveUniqueKernel(int axis, bool sorted, std::int64_t slices)
      : axis_(axis), sorted_(sorted), slices_(slices) {}
  std::size_t workspace_bytes() const noexcept override {
    return 4 * static_cast<std::size_t>(slices_) * sizeof(std::int64_t);
  }

  Status run(Context& context) const noexcept override {
    const Slices slices(context.input(0), axis_);
    auto* order = reinterpret_cast<std::int64_t*>(context.workspace());
    std::int64_t* group_of = order + slices_;  // of each slice
    std::int64_t* first = group_of + slices_;  // slice of each group
    std::int64_t* by_place = first + slices_;  // groups as they are given out
    const std::int64_t groups = find_groups(slices, order, group_of, first);
    for (std::int64_t g = 0; g < groups; ++g) by_place[g] = g;
    if (!sorted_)
      std::sort(by_place, by_place + groups,
                [first](std::int64_t a, std::int64_t b) { return first[a] < first[b]; });
    SN_RETURN_IF_ERROR(allocate(context, groups));

    std::int64_t* place_of = order;  // free again
    for (std::int64_t p = 0; p < groups; ++p) {
      const std::int64_t g = by_place[p];
      place_of[g] = p;
      if (context.has_output(0))
        slices.copy(first[g], context.output(0).as_mutable<std::byte>(), p, groups);
      if (context.has_output(1)) context.output(1).as_mutable<std::int64_t>()[p] = first[g];
    }
    for (std::int64_t p = 0; context.has_output(3) && p < groups; ++p)
      context.output(3).as_mutable<std::int64_t>()[p] = 0;
    for (std::int64_t i = 0; i < slices_; ++i) {
      const std::int64_t p = place_of[group_of[i]];
      if (context.has_output(2)) context.output(2).as_mutable<std::int64_t>()[i] = p;
      if (context.has_output(3)) ++context.output(3).as_mutable<std::int64_t>()[p];
    }
    return {};
  }

 private:
  std::int64_t find_groups(const Slices& slices, std::int64_t* order, std::int64_t* group_of,
                           std::int64_t* first) const noexcept {
    for (std::int64_t i = 0; i < slices_; ++i) order[i] = i;
    std::sort(order, order + slices_, [&](std::int64_t a, std::int64_t b) {
      const int by_value = slices.compare_slices(a, b);
      return by_value != 0 ? by_value < 0 : a < b;
    });
    std::int64_t groups = 0;
    for (std::int64_t i = 0; i < slices_; ++i) {
      if (i == 0 || slices.compare_slices(order[i - 1], order[i]) != 0) first[groups++] = order[i];
      group_of[order[i]] = groups - 1;
    }
    return groups;
  }

  Status allocate(Context& context, std::int64_t groups) const noexcept {
    Shape y = axis_ < 0 ? Shape{groups} : context.input(0).shape;
    if (axis_ >= 0) y[axis_] = groups;
    const Shape shapes[] = {y, Shape{groups}, Shape{slices_}, Shape{groups}};
    for (std::size_t i = 0; i < 4; ++i)
      if (context.has_output(i)) SN_RETURN_IF_ERROR(context.allocate_output(i, shapes[i]));
    return {};
  }

  int axis_;
  bool sorted_;
  std::int64_t slices_;
};

Result<std::unique_ptr<Kernel>> make_naive_unique(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  int axis = -1;
  const std::int64_t given = problem.params.integer("axis");
  if (given != std::numeric_limits<std::int64_t>::min()) {
    SN_ASSIGN_OR_RETURN(axis, normalize_axis(given, x.rank()));
  }
  return make_kernel<NaiveUniqueKernel>(axis, problem.params.integer("sorted") != 0,
                                        axis < 0 ? x.elements() : x[axis]);
}

}  // namespace

Status register_routine_unique_cpu_naive(Registry& registry) {
  return add_naive(registry, {"unique"}, make_naive_unique);
}

}  // namespace softneuro
