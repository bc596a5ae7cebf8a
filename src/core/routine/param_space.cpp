#include "core/routine/param_space.h"

#include <algorithm>

namespace softneuro {
namespace {

constexpr int kTries = 64;

// SplitMix64: small, and the same everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::size_t draw(std::uint64_t& state, std::size_t count) {
  return static_cast<std::size_t>(next_random(state) % count);
}

}  // namespace

std::int64_t ParamSpace::size() const {
  std::int64_t product = 1;
  for (const ParamAxis& axis : axes) {
    const auto n = static_cast<std::int64_t>(axis.values.size());
    if (n > 0 && product > INT64_MAX / n) return INT64_MAX;
    product *= n;
  }
  return product;
}

Params ParamSpace::at(std::int64_t index) const {
  Params params;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto n = static_cast<std::int64_t>(axes[a].values.size());
    params.set(axes[a].name, axes[a].values[static_cast<std::size_t>(index % n)]);
    index /= n;
  }
  return params;
}

bool ParamSpace::contains(const Params& params) const {
  if (params.entries().size() != axes.size()) return false;
  for (const ParamAxis& axis : axes) {
    const ParamValue* value = params.find(axis.name);
    if (value == nullptr ||
        std::find(axis.values.begin(), axis.values.end(), *value) == axis.values.end())
      return false;
  }
  return !allows || allows(params);
}

Params ParamSpace::sample(std::uint64_t seed) const {
  Params params;
  for (int t = 0; t < kTries; ++t) {
    for (const ParamAxis& axis : axes)
      params.set(axis.name, axis.values[draw(seed, axis.values.size())]);
    if (!allows || allows(params)) return params;
  }
  return at(0);
}

std::vector<Params> ParamSpace::list_promising(std::size_t limit) const {
  if (!promising) return list(limit);
  ParamSpace narrower = {axes, {}, {}};
  narrower.allows = [&](const Params& params) {
    return (!allows || allows(params)) && promising(params);
  };
  return narrower.list(limit);
}

std::vector<Params> ParamSpace::list(std::size_t limit) const {
  std::vector<Params> found;
  const std::int64_t all = size();
  constexpr std::int64_t kEnumerable = 1 << 14;
  if (all <= kEnumerable) {
    for (std::int64_t i = 0; i < all; ++i)
      if (Params params = at(i); !allows || allows(params)) found.push_back(std::move(params));
    if (found.size() <= limit) return found;
    found.clear();
  }
  for (std::uint64_t seed = 1; found.size() < limit && seed < 8 * limit + 8; ++seed) {
    Params params = sample(seed);
    if (allows && !allows(params)) continue;
    if (std::find(found.begin(), found.end(), params) == found.end())
      found.push_back(std::move(params));
  }
  return found;
}

}  // namespace softneuro
