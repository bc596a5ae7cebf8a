// The parameters that a routine may take, and those that a tuner tries.
#include "core/routine/param_space.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace softneuro;

namespace {

// split = 1, 2; size = 0 … 9, without 3.
ParamSpace space() {
  ParamSpace space;
  ParamAxis split{"split", {std::int64_t{1}, std::int64_t{2}}}, size{"size", {}};
  for (std::int64_t i = 0; i < 10; ++i) size.values.emplace_back(i);
  space.axes = {split, size};
  space.allows = [](const Params& params) { return params.integer("size", 0) != 3; };
  return space;
}

// What a tuner gets that measures `time` of what is proposed, at most `most` of them.
std::vector<Trial> measured(const ParamSpace& space, std::size_t most,
                            double (*time)(const Params&)) {
  std::vector<Trial> known;
  while (known.size() < most) {
    const Proposal proposal = space.propose(known, most - known.size());
    for (const Params& params : proposal.params) known.push_back({params, time(params)});
    if (proposal.is_last) break;
  }
  return known;
}

double fastest(const std::vector<Trial>& known) {
  return std::ranges::min(known, {}, &Trial::us).us;
}

}  // namespace

TEST_CASE("parameter space: all that is allowed is listed, promising or not") {
  ParamSpace all = space();
  CHECK(all.list(100).size() == 18);
  all.promising = [](const Params& params) { return params.integer("split", 0) == 2; };
  CHECK(all.list(100).size() == 18);
  const Proposal promising = all.propose({}, 100);
  CHECK(promising.is_last);
  CHECK(promising.params.size() == 9);
  for (const Params& params : promising.params) {
    CHECK(params.integer("split", 0) == 2);
    CHECK(params.integer("size", 0) != 3);
  }
  for (const Params& params : all.list(100)) CHECK(all.contains(params));  // files may name them
}

TEST_CASE("parameter space: a part of a grid is from all over it, the same each time") {
  const ParamSpace all = space();
  std::set<std::int64_t> splits, thirds;
  for (const Params& params : all.list(6)) {
    splits.insert(params.integer("split", 0));
    thirds.insert(params.integer("size", 0) / 4);
  }
  CHECK(splits.size() == 2);
  CHECK(thirds.size() == 3);
  CHECK(all.list(6) == all.list(6));
}

TEST_CASE("parameter space: a proposal is what is not known yet") {
  const ParamSpace all = space();
  std::vector<Trial> known;
  for (const Params& params : all.list(100))
    if (known.size() < 15) known.push_back({params, 1});
  const Proposal rest = all.propose(known, 8);
  CHECK(rest.is_last);
  CHECK(rest.params.size() == 3);
  for (const Params& params : rest.params)
    CHECK(std::ranges::find(known, params, &Trial::params) == known.end());
}

TEST_CASE("parameter space: what is told leads to the fastest of a large grid") {
  ParamSpace large;
  for (const char* name : {"m", "n", "k"}) {
    ParamAxis axis{name, {}};
    for (std::int64_t i = 0; i < 100; ++i) axis.values.emplace_back(i);
    large.axes.push_back(axis);
  }
  // A bowl whose bottom is at (50, 20, 80).
  const auto time = [](const Params& params) {
    const auto square = [&](const char* name, std::int64_t best) {
      const double x = static_cast<double>(params.integer(name, 0) - best);
      return x * x;
    };
    return 1 + square("m", 50) + square("n", 20) + square("k", 80);
  };
  const std::vector<Trial> known = measured(large, 300, time);
  CHECK(known.size() <= 300);
  CHECK(fastest(known) < 100);  // the mean of the grid is near 4,000
}

TEST_CASE("parameter space: ranked points are tried in their order") {
  ParamSpace ranked = space();
  ranked.rank = [](const Params& params) { return static_cast<double>(params.integer("size", 0)); };
  const Proposal first = ranked.propose({}, 8);
  REQUIRE(first.params.size() == 4);
  CHECK_FALSE(first.is_last);
  for (const Params& params : first.params) CHECK(params.integer("size", 0) < 2);
}

TEST_CASE("parameter space: a search of its own is asked until it has nothing new") {
  ParamSpace search;
  search.next = [](std::span<const Trial> known) -> std::optional<Params> {
    Params params;
    params.set("step", static_cast<std::int64_t>(std::min<std::size_t>(known.size(), 4)));
    return params;
  };
  CHECK(measured(search, 20, [](const Params&) { return 1.0; }).size() == 5);
  CHECK(measured(search, 3, [](const Params&) { return 1.0; }).size() == 3);
}
