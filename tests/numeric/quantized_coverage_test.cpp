// That the comparison of qint8 routines is not empty.
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

bool takes(const Routine& routine, const Case& description) {
  const Registry& registry = builtin_registry();
  const Result<PreparedCase> made = prepare(registry, description, test_seed());
  if (!made.ok()) return false;
  Problem problem = made->problem;
  const auto quantize = [](TensorSpec& spec) {
    if (spec.type == DataType::float32 && !spec.constant)
      spec.quantization = Quantization{false, -1, {1.0f / 32}, {128}, {}};
  };
  for (TensorSpec& spec : problem.inputs) quantize(spec);
  for (TensorSpec& spec : problem.outputs) quantize(spec);
  for (const FormatTuple& formats : routine.formats(problem))
    if (made->context().implement(routine, with_formats(problem, formats)).ok()) return true;
  return false;
}

bool takes_some_problem(const Routine& routine) {
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases())
      if (description.layer_type == routine.layer_type() && takes(routine, description))
        return true;
  }
  return false;
}

}  // namespace

// A qint8 routine whose formats() or applicable() is too narrow would be "tested" by no problem.
TEST_CASE("numeric: every qint8 routine takes some problem of its layer type", "[numeric]") {
  int routines = 0;
  for (const Routine* routine : builtin_registry().all()) {
    if (routine->descriptor().type != DataType::qint8) continue;
    INFO(routine->descriptor().str() << " of " << routine->layer_type());
    CHECK(takes_some_problem(*routine));
    ++routines;
  }
  CHECK(routines > 0);
}

}  // namespace softneuro::test
