// What the layer type `reduce` means, shared by its shape inference and its routines.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/graph/params.h"
#include "softneuro/export.h"
#include "softneuro/shape.h"

namespace softneuro {

// In the order of the names in `reduce`'s parameter op.
enum class ReduceOp : std::uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  l1,
  l2,
  log_sum,
  log_sum_exp,
  sum_square,
};

SN_INTREE Result<ReduceOp> parse_reduce_op(const Params& params);

// Bit d: axis d is reduced. `params`: of the layer, complete. No axes: all of them, or none if its
// noop_with_empty_axes says so. An axis out of range, or twice, is an error.
SN_INTREE Result<std::uint32_t> reduced_axes(const Params& params,
                                             std::span<const std::int64_t> axes, int rank);

// A reduction of a plain tensor, with neighbouring axes of one kind joined: the dimensions that
// stay and those that go, outermost first, with the input's strides.
struct ReductionPlan {
  Shape kept, kept_strides;
  Shape gone, gone_strides;
};
SN_INTREE ReductionPlan plan_reduction(const Shape& shape, std::uint32_t axes) noexcept;

}  // namespace softneuro
