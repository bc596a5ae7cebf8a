// Arithmetic on dimensions that may be unknown, for shape inference. Symbols survive where the
// result certainly equals the named dimension.
#pragma once

#include <optional>
#include <span>

#include "core/base/error.h"
#include "softneuro/shape.h"

namespace softneuro {

// Product of all dimensions; 1 for none. Unknown if a factor is, but 0 absorbs, and one unknown
// factor among ones stays what it is. invalid_model if the product overflows int64.
SN_INTREE Result<Dim> product_of(std::span<const Dim> dims);

// Sum of all dimensions; 0 for none. Unknown if a term is, but one unknown term among zeros stays
// what it is. invalid_model if the sum overflows int64.
SN_INTREE Result<Dim> sum_of(std::span<const Dim> dims);

// What is known of a dimension of which both descriptions hold; nothing if they contradict.
SN_INTREE std::optional<Dim> merge_dims(const Dim& a, const Dim& b);

// A shape of `rank` unknown dimensions. unsupported if the rank is beyond kMaxRank.
SN_INTREE Result<DynamicShape> unknown_dims(std::int64_t rank);

// unsupported if `rank` is beyond kMaxRank.
SN_INTREE Status check_rank(std::int64_t rank);

}  // namespace softneuro
