// cumsum cpu/naive: the specification. Sums in double, or in int64 for integers.
#include "routines/cumsum/naive_scan.h"

namespace softneuro {
namespace {

struct SumOf {
  static constexpr int kStart = 0;
  // Wraps.
  template <class T>
  static T apply(T a, T b) noexcept {
    return multiply_add(a, b, T{1});
  }
};

}  // namespace

Status register_routine_cumsum_cpu_naive(Registry& registry) {
  return add_naive(registry, {"cumsum"}, make_naive_scan<SumOf>);
}

}  // namespace softneuro
