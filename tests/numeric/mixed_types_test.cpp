// Models may mix real types: a float32 tensor and constants of 16 bits. A routine that takes such a
// problem reads each operand in the type that it has.
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// Of the largest number of the answer. Memory that is read in a wrong type is off by more.
constexpr Tolerance kRightlyRead = {0, 0.1};

struct Tried {
  int mixtures = 0, computed = 0;
};

// The case with real input `index` in float32 and the others in `type`, or the other way round.
Case mixture(const Case& description, std::size_t index, DataType type, bool others) {
  Case mixed = description;
  for (std::size_t i = 0; i < mixed.inputs.size(); ++i)
    if (mixed.inputs[i].type == DataType::float32 && (i != index) == others)
      mixed.inputs[i].type = type;
  return mixed;
}

void check_mixture(const Registry& registry, const Case& description, Tried& tried) {
  const Result<PreparedCase> made = prepare(registry, description, test_seed());
  if (!made.ok()) return;  // the layer type does not mix
  const Routine* naive = registry.find(description.layer_type, "cpu/naive");
  if (!registry.check(*naive, made->problem).ok()) return;
  const RunResult reference = run_routine(*naive, *made, test_pool(1), {});
  if (!reference.status.ok()) return;
  ++tried.mixtures;
  for (const Routine* routine : registry.routines(description.layer_type)) {
    if (!routine->descriptor().device.is_host() || routine == naive) continue;
    if (!registry.check(*routine, made->problem).ok()) continue;
    INFO(routine->descriptor().str()
         << " of " << description.layer_type << ": " << made->problem.str());
    const RunResult result =
        run_routine(*routine, *made, test_pool(1), routine->default_params(made->problem));
    CHECK(result.status.message() == "");
    CHECK(result.defect == "");
    ++tried.computed;
    for (std::size_t o = 0; o < result.outputs.size(); ++o)
      CHECK(difference(reference.outputs[o], result.outputs[o], kRightlyRead,
                       &reference.outputs[o]) == "");
  }
}

}  // namespace

TEST_CASE("numeric: where a model mixes real types, routines read each operand in its own",
          "[numeric]") {
  Tried tried;
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases())
      for (std::size_t input = 0; input < description.inputs.size(); ++input)
        for (const DataType type : {DataType::float16, DataType::bfloat16})
          if (description.inputs[input].type == DataType::float32)
            for (const bool others : {false, true})
              check_mixture(all_routines(), mixture(description, input, type, others), tried);
  }
  CHECK(tried.mixtures > 100);
  CHECK(tried.computed > 0);
}

}  // namespace softneuro::test
