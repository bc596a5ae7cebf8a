#include "numeric/problem_set.h"

namespace softneuro::test {

// Copies; what changes formats is tested in tests/unit/adapt_test.cpp, format by format.
void add_problems_adapt(ProblemSet& set) {
  set.add("adapt").input({2, 3, 5, 7});
  set.add("adapt").input({17}, explicit_values({-1, 0, 2.5}));
}

}  // namespace softneuro::test
