#include "routines/scatter_elements/update.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"

namespace softneuro {
namespace {

double reduced(ScatterReduction reduction, double a, double b) noexcept {
  switch (reduction) {
    case ScatterReduction::add:
      return a + b;
    case ScatterReduction::mul:
      return a * b;
    case ScatterReduction::max:
      return std::isnan(a) || a > b ? a : b;
    case ScatterReduction::min:
      return std::isnan(a) || a < b ? a : b;
    default:
      return b;
  }
}

// T: int64, or uint64 for the type whose upper half int64 lacks.
template <class T>
std::int64_t reduced(ScatterReduction reduction, T a, T b) noexcept {
  switch (reduction) {
    case ScatterReduction::add:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                       static_cast<std::uint64_t>(b));
    case ScatterReduction::mul:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) *
                                       static_cast<std::uint64_t>(b));
    case ScatterReduction::max:
      return static_cast<std::int64_t>(std::max(a, b));
    case ScatterReduction::min:
      return static_cast<std::int64_t>(std::min(a, b));
    default:
      return static_cast<std::int64_t>(b);
  }
}

}  // namespace

void scatter_element(ScatterReduction reduction, const TensorView& y, std::int64_t at,
                     const TensorView& updates, std::int64_t from) noexcept {
  if (reduction == ScatterReduction::none) {
    const std::size_t bytes = size_of(y.type);
    std::memcpy(y.as_mutable<std::byte>() + at * static_cast<std::int64_t>(bytes),
                updates.as<std::byte>() + from * static_cast<std::int64_t>(bytes), bytes);
  } else if (is_float(y.type)) {
    store(y, at, reduced(reduction, load(y, at), load(updates, from)));
  } else if (y.type == DataType::uint64) {
    store_integer(y, at,
                  reduced(reduction, static_cast<std::uint64_t>(load_integer(y, at)),
                          static_cast<std::uint64_t>(load_integer(updates, from))));
  } else {
    store_integer(y, at, reduced(reduction, load_integer(y, at), load_integer(updates, from)));
  }
}

}  // namespace softneuro
