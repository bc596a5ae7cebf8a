// Packings with equal keys are shared: by plans, and by candidates while tuning. So a routine whose
// pack() looks at a parameter has to say so in pack_key().
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "core/format.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

// Packs for up to 16 combinations of parameters. The number of packings that were shared.
int check_packings(const Routine& routine, const Problem& problem) {
  const bool composes = !problem.post_ops.empty() && !routine.supports_post_ops(problem);
  const Problem seen = composes ? without_post_ops(problem) : problem;
  const std::vector<RoutineParams> choices = routine.param_space(seen).list(16);
  if (choices.size() < 2) return 0;
  std::map<std::string, Tensor> by_key;
  int shared = 0;
  for (const RoutineParams& params : choices) {
    INFO(routine.descriptor().str() << ' ' << params.str() << ": " << problem.str());
    const auto packed = routine.pack(seen, params, default_allocator());
    REQUIRE(packed.ok());
    if (packed->bytes.empty()) continue;
    const auto [first, is_new] = by_key.emplace(routine.pack_key(seen, params), packed->bytes);
    if (is_new) continue;
    CHECK(same_bytes(first->second, packed->bytes));
    ++shared;
  }
  return shared;
}

}  // namespace

TEST_CASE("numeric: weights that are packed under equal keys are equal", "[numeric]") {
  const Registry& registry = all_routines();
  std::map<std::string, int> tried;  // problems per routine: packing the same way ten times will do
  int shared = 0;
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
          const int now = check_packings(*routine, problem);
          shared += now;
          count += now > 0;
        }
      }
    }
  }
  CHECK(shared > 100);
}

}  // namespace softneuro::test
