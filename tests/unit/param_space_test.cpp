// The parameters that a routine may take, and those that a tuner tries.
#include "core/routine/param_space.h"

#include <catch2/catch.hpp>

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

}  // namespace

TEST_CASE("parameter space: all that is allowed is listed, promising or not") {
  ParamSpace all = space();
  CHECK(all.list(100).size() == 18);
  CHECK(all.list_promising(100) == all.list(100));
  all.promising = [](const Params& params) { return params.integer("split", 0) == 2; };
  CHECK(all.list(100).size() == 18);
  const std::vector<Params> promising = all.list_promising(100);
  CHECK(promising.size() == 9);
  for (const Params& params : promising) {
    CHECK(params.integer("split", 0) == 2);
    CHECK(params.integer("size", 0) != 3);
  }
  for (const Params& params : all.list(100)) CHECK(all.contains(params));  // files may name them
}

TEST_CASE("parameter space: what is not promising takes no place among samples") {
  ParamSpace all = space();
  all.promising = [](const Params& params) { return params.integer("split", 0) == 2; };
  const std::vector<Params> some = all.list_promising(4);
  CHECK(some.size() == 4);
  for (const Params& params : some) CHECK(params.integer("split", 0) == 2);
  CHECK(some == all.list_promising(4));
}
