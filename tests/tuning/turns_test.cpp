// Turns of plans that are compared: how their time is spent.
#include "profiler/measure/turns.h"

#include <catch2/catch.hpp>

using namespace softneuro;

TEST_CASE("turns: where time allows, plans find their caches as steady runs do") {
  // Two plans of 2 ms, 3 s: every turn has three runs before the ones that count.
  const Turns turns = Turns::in(3e6, 4e3, 4, 180, true);
  CHECK(turns.settling == 3);
  CHECK(turns.counted == 4);
  CHECK(turns.rounds == 45);  // at most 180 runs that count
  CHECK(Turns::in(1e6, 4e3, 4, 180, true).rounds == 35);
}

TEST_CASE("turns: slow plans have short turns, and as many as they need") {
  const Turns turns = Turns::in(6e5, 1e5, 4, 60, true);
  CHECK(turns.settling == 1);
  CHECK(turns.counted == 1);
  CHECK(turns.rounds == 4);
}

TEST_CASE("turns: plans that find nothing in the caches anyway run once a turn") {
  const Turns turns = Turns::in(6e5, 1e4, 4, 60, false);
  CHECK(turns.settling == 0);
  CHECK(turns.counted == 1);
  CHECK(turns.rounds == 60);
  CHECK(Turns::in(6e5, 0, 4, 60, false).rounds == 60);  // a clock that stands still
}
