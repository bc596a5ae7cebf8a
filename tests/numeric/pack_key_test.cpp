// Packings with equal keys are shared: by plans, and by candidates while tuning. So a routine whose
// pack() looks at a parameter has to say so in pack_key(). And packings in files are taken by their
// size: what packed_size() says is what pack() makes.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "core/routine/format.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

struct Packings {
  int choices = 0, shared = 0, sized = 0;
};

// Packs for up to 16 combinations of parameters.
Packings check_packings(const Routine& routine, const Problem& problem) {
  const Problem seen = packed_problem(routine, problem);
  const std::vector<RoutineParams> choices = routine.param_space(seen).list(16);
  std::map<std::string, Tensor> by_key;
  Packings result;
  result.choices = static_cast<int>(choices.size());
  for (const RoutineParams& params : choices) {
    INFO(routine.descriptor().str() << ' ' << params.str() << ": " << problem.str());
    const auto packed = routine.pack(seen, params, default_allocator());
    REQUIRE(packed.ok());
    if (const auto size = routine.packed_size(seen, params)) {
      CHECK(*size == packed->bytes.bytes());
      ++result.sized;
    }
    if (packed->bytes.empty()) continue;
    const auto [first, is_new] = by_key.emplace(routine.pack_key(seen, params), packed->bytes);
    if (is_new) continue;
    CHECK(same_bytes(first->second, packed->bytes));
    ++result.shared;
  }
  return result;
}

}  // namespace

TEST_CASE("numeric: packings are equal under equal keys, and of the size that is told",
          "[numeric]") {
  const Registry& registry = all_routines();
  std::map<std::string, int> tried;  // problems per routine: packing the same way ten times will do
  int shared = 0, sized = 0;
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases()) {
      const Result<PreparedCase> made = prepare(registry.layer_types(), description, test_seed());
      if (!made.ok()) continue;
      for (const Routine* routine : registry.routines(description.layer_type)) {
        int& count = tried[description.layer_type + ' ' + routine->descriptor().str()];
        if (count >= 10) continue;
        for (const FormatTuple& formats : routine->formats(made->problem)) {
          const Problem problem = with_formats(made->problem, formats);
          if (!registry.check(*routine, problem).ok()) continue;
          const Packings now = check_packings(*routine, problem);
          shared += now.shared;
          sized += now.sized;
          count += now.shared > 0 || now.choices < 2;
        }
      }
    }
  }
  CHECK(shared > 100);
  CHECK(sized > 100);
}

}  // namespace softneuro::test
