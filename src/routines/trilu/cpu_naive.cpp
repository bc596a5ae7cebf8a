// trilu cpu/naive: row by row, what lies in the triangle is copied, the rest is zero.
#include <algorithm>
#include <cstring>

#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_trilu(const Problem& problem) {
  const bool upper = problem.params.integer("upper") != 0;
  const std::int64_t given = problem.has_input(1) ? problem.integers(1)[0] : 0;
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const int rank = x.shape.rank();
    const std::int64_t rows = x.shape[rank - 2];
    const std::int64_t columns = x.shape[rank - 1];
    const std::int64_t all_rows = x.shape.elements(0, rank - 1);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type));
    const std::int64_t k = std::clamp(given, -rows, columns);  // further out changes nothing
    for (std::int64_t row = 0; row < all_rows; ++row) {
      // The triangle's columns: from the diagonal on, or up to and with it.
      const std::int64_t diagonal = row % rows + k + (upper ? 0 : 1);
      const std::int64_t edge = std::clamp<std::int64_t>(diagonal, 0, columns);
      const std::int64_t first = upper ? edge : 0;
      const std::int64_t last = upper ? columns : edge;
      std::byte* to = y.as_mutable<std::byte>() + row * columns * bytes;
      const std::byte* from = x.as<std::byte>() + row * columns * bytes;
      std::memset(to, 0, static_cast<std::size_t>(first * bytes));
      if (from != to && last > first)
        std::memcpy(to + first * bytes, from + first * bytes,
                    static_cast<std::size_t>((last - first) * bytes));
      std::memset(to + last * bytes, 0, static_cast<std::size_t>((columns - last) * bytes));
    }
  });
}

}  // namespace

Status register_routine_trilu_cpu_naive(Registry& registry) {
  return add_naive(registry, {"trilu"}, make_naive_trilu);
}

}  // namespace softneuro
