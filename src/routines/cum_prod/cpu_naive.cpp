// cum_prod cpu/naive: the specification. Products in double, or in int64 for integers.
#include "routines/cumsum/naive_scan.h"

namespace softneuro {
namespace {

struct ProductOf {
  static constexpr int kStart = 1;
  static double apply(double a, double b) noexcept { return a * b; }
  // Wraps.
  static std::int64_t apply(std::int64_t a, std::int64_t b) noexcept {
    return multiply_add(std::int64_t{0}, a, b);
  }
};

}  // namespace

Status register_routine_cum_prod_cpu_naive(Registry& registry) {
  return add_naive(registry, {"cum_prod"}, make_naive_scan<ProductOf>);
}

}  // namespace softneuro
