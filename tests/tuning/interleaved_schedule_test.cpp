// How a comparison of plans divides its time into warm-up and measured runs.
#include "profiler/measure/interleaved_schedule.h"

#include <catch2/catch.hpp>

using namespace softneuro;

TEST_CASE(
    "interleaved schedule: long enough comparisons have three warm-up and four measured runs a "
    "turn") {
  // Two plans of 2 ms, 3 s: every turn has three warm-up runs.
  const InterleavedSchedule schedule = InterleavedSchedule::in(3e6, 4e3, true, 3);
  CHECK(schedule.warmup == 3);
  CHECK(schedule.measured == 4);
  CHECK(schedule.rounds == 45);  // at most 180 measured runs
  CHECK(InterleavedSchedule::in(1e6, 4e3, true, 3).rounds == 35);
}

TEST_CASE("interleaved schedule: slow plans have one warm-up and one measured run a turn") {
  const InterleavedSchedule schedule = InterleavedSchedule::in(6e5, 1e5, true);
  CHECK(schedule.warmup == 1);
  CHECK(schedule.measured == 1);
  CHECK(schedule.rounds == 4);
}

TEST_CASE("interleaved schedule: without warm-up a turn is one measured run") {
  const InterleavedSchedule schedule = InterleavedSchedule::in(6e5, 1e4, false);
  CHECK(schedule.warmup == 0);
  CHECK(schedule.measured == 1);
  CHECK(schedule.rounds == 60);
  CHECK(InterleavedSchedule::in(6e5, 0, false).rounds == 60);  // a clock that stands still
}
