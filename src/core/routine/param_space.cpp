#include "core/routine/param_space.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softneuro {
namespace {

// Of a larger grid as many points are looked at, spread.
constexpr std::int64_t kMostPoints = 1 << 14;
// Steps of that part of a cycle visit it evenly, however many there are: the golden ratio.
constexpr double kSpread = 0.618034;

// A step with which index * step % size visits every index, the first few far from each other.
std::int64_t spread_step(std::int64_t size) {
  auto step = std::max<std::int64_t>(1, std::llround(kSpread * static_cast<double>(size)));
  while (std::gcd(step, size) != 1) ++step;
  return step;
}

std::size_t position(const ParamAxis& axis, const Params& params) {
  const ParamValue* value = params.find(axis.name);
  if (value == nullptr) return axis.values.size();
  return static_cast<std::size_t>(std::ranges::find(axis.values, *value) - axis.values.begin());
}

std::int64_t size_of(const std::vector<ParamAxis>& axes) {
  std::int64_t product = 1;
  for (const ParamAxis& axis : axes) {
    const auto count = static_cast<std::int64_t>(axis.values.size());
    if (product > kMostPoints * kMostPoints / count) return kMostPoints * kMostPoints;
    product *= count;
  }
  return product;
}

// The last axis runs fastest.
Params point(const std::vector<ParamAxis>& axes, std::int64_t index) {
  Params params;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto count = static_cast<std::int64_t>(axes[a].values.size());
    params.set(axes[a].name, axes[a].values[static_cast<std::size_t>(index % count)]);
    index /= count;
  }
  return params;
}

// Spread: any number of the first ones are from all over the list.
std::vector<Params> spread(std::vector<Params> points) {
  const auto size = static_cast<std::int64_t>(points.size());
  const std::int64_t step = spread_step(size);
  std::vector<Params> result;
  result.reserve(points.size());
  for (std::int64_t i = 0; i < size; ++i)
    result.push_back(std::move(points[static_cast<std::size_t>(i * step % size)]));
  return result;
}

}  // namespace

bool ParamSpace::contains(const Params& params) const {
  return params.entries().size() == axes.size() &&
         std::ranges::all_of(
             axes,
             [&](const ParamAxis& axis) { return position(axis, params) < axis.values.size(); }) &&
         (!allows || allows(params));
}

std::vector<Params> ParamSpace::points(bool promising_only) const {
  std::vector<Params> found;
  if (axes.empty()) return found;
  const std::int64_t size = size_of(axes);
  const std::int64_t step = size > kMostPoints ? spread_step(size) : 1;
  std::int64_t index = 0;
  for (std::int64_t i = 0; i < std::min(size, kMostPoints); ++i) {
    Params params = point(axes, index);
    index = (index + step) % size;
    if ((!allows || allows(params)) && (!promising_only || !promising || promising(params)))
      found.push_back(std::move(params));
  }
  return found;
}

std::vector<Params> ParamSpace::list(std::size_t limit) const {
  std::vector<Params> found = points(false);
  if (found.size() <= limit) return found;
  found = spread(std::move(found));
  found.resize(limit);
  return found;
}

bool ParamSpace::are_neighbours(const Params& a, const Params& b) const {
  int differences = 0;
  for (const ParamAxis& axis : axes) {
    const std::size_t i = position(axis, a), j = position(axis, b);
    if (i == j) continue;
    const bool is_step = std::max(i, j) - std::min(i, j) == 1;
    const bool is_number = kind_of(axis.values.front()) == ParamKind::integer;
    if ((is_number && !is_step) || ++differences > 1) return false;
  }
  return true;
}

Proposal ParamSpace::propose(std::span<const Trial> known, std::size_t count) const {
  const auto is_known = [&](const Params& params) {
    return std::ranges::find(known, params, &Trial::params) != known.end();
  };
  Proposal proposal;
  if (next) {
    std::optional<Params> params = next(known);
    if (!params || is_known(*params) || count == 0) return proposal;
    proposal.params.push_back(std::move(*params));
    proposal.is_last = false;
    return proposal;
  }
  std::vector<Params> left = points(true);
  std::erase_if(left, is_known);
  if (left.size() > count) {
    left = spread(std::move(left));
    if (rank) std::ranges::stable_sort(left, {}, rank);
    const auto best = std::ranges::min_element(known, {}, &Trial::us);
    if (best == known.end() || std::isinf(best->us)) {
      count = (count + 1) / 2;
    } else {
      std::erase_if(left,
                    [&](const Params& params) { return !are_neighbours(params, best->params); });
    }
    proposal.is_last = left.empty();
    left.resize(std::min(left.size(), count));
  }
  proposal.params = std::move(left);
  return proposal;
}

}  // namespace softneuro
