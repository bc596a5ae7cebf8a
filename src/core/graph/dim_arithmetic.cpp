#include "core/graph/dim_arithmetic.h"

namespace softneuro {

Result<Dim> product_of(std::span<const Dim> dims) {
  std::int64_t product = 1;
  const Dim* unknown = nullptr;
  int unknowns = 0;
  bool overflow = false;
  for (const Dim& dim : dims) {
    if (!dim.known()) {
      unknown = &dim;
      ++unknowns;
    } else if (dim.value == 0) {
      return Dim(0);
    } else if (__builtin_mul_overflow(product, dim.value, &product)) {
      overflow = true;
    }
  }
  if (overflow && unknowns == 0) return invalid_model("product of dimensions overflows int64");
  if (unknowns == 0) return Dim(product);
  if (unknowns == 1 && product == 1 && !overflow) return *unknown;
  return Dim();
}

Result<Dim> sum_of(std::span<const Dim> dims) {
  std::int64_t sum = 0;
  const Dim* unknown = nullptr;
  int unknowns = 0;
  for (const Dim& dim : dims) {
    if (!dim.known()) {
      unknown = &dim;
      ++unknowns;
    } else if (__builtin_add_overflow(sum, dim.value, &sum)) {
      return invalid_model("sum of dimensions overflows int64");
    }
  }
  if (unknowns == 0) return Dim(sum);
  if (unknowns == 1 && sum == 0) return *unknown;
  return Dim();
}

std::optional<Dim> merge_dims(const Dim& a, const Dim& b) {
  if (a.known() && b.known() && a.value != b.value) return std::nullopt;
  if (a.known() || (!b.known() && !a.symbol.empty())) return a;
  return b;
}

Status check_rank(std::int64_t rank) {
  if (rank >= 0 && rank <= kMaxRank) return {};
  return unsupported("a tensor of {} dimensions; at most {} are possible", rank, kMaxRank);
}

Result<DynamicShape> unknown_dims(std::int64_t rank) {
  SN_RETURN_IF_ERROR(check_rank(rank));
  return DynamicShape(std::vector<Dim>(static_cast<std::size_t>(rank)));
}

}  // namespace softneuro
