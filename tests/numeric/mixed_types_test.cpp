// Models may mix real types, and tuning takes the tensors of a 16-bit model to other types, but not
// its constants. A routine that takes such a problem reads each operand in the type that it has.
#include <algorithm>
#include <catch2/catch.hpp>

#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// Of the largest number of the output. Memory that is read in a wrong type is off by more.
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

void check_outputs(const Routine& routine, const PreparedCase& prepared,
                   const RunResult& reference) {
  const RunResult result = run_routine(routine, prepared, test_pool(1),
                                       prepared.implement(routine).value()->default_params());
  CHECK(result.status.message() == "");
  CHECK(result.defect == "");
  for (std::size_t o = 0; o < result.outputs.size(); ++o)
    CHECK(difference(reference.outputs[o], result.outputs[o], kRightlyRead,
                     &reference.outputs[o]) == "");
}

void check_mixture(const Registry& registry, const Case& description, Tried& tried) {
  const Result<PreparedCase> made = prepare(registry, description, test_seed());
  if (!made.ok()) return;  // the layer type does not mix
  const Routine* naive = registry.find(description.layer_type, "cpu/naive");
  if (!made->implement(*naive).ok()) return;
  const RunResult reference = run_routine(*naive, *made, test_pool(1), {});
  if (!reference.status.ok()) return;
  ++tried.mixtures;
  for (const Routine* routine : registry.routines(description.layer_type)) {
    if (!routine->descriptor().device.is_host() || routine == naive) continue;
    if (!made->implement(*routine).ok()) continue;
    INFO(routine->descriptor().str()
         << " of " << description.layer_type << ": " << made->problem.str());
    check_outputs(*routine, *made, reference);
    ++tried.computed;
  }
}

// The case with input `index` as a constant of 16 bits, the others in float32.
void check_half_constant(const Registry& registry, const PreparedCase& prepared, std::size_t index,
                         DataType half, Tried& tried) {
  const auto constant = convert_format(prepared.inputs[index], half, Layout::plain);
  if (!constant.ok()) return;
  PreparedCase mixed = prepared, plain = prepared;
  TensorSpec& spec = mixed.problem.inputs[index];
  spec.type = half;
  spec.constant = true;
  spec.value = mixed.inputs[index] = *constant;
  plain.inputs[index] = convert_format(*constant, DataType::float32, Layout::plain).value();
  if (plain.problem.inputs[index].constant) plain.problem.inputs[index].value = plain.inputs[index];
  const std::string& type = prepared.problem.type->name;
  const RunResult reference =
      run_routine(*registry.find(type, "cpu/naive"), plain, test_pool(1), {});
  if (!reference.status.ok()) return;
  ++tried.mixtures;
  bool is_taken = false;
  for (const Routine* routine : registry.routines(type)) {
    if (!routine->descriptor().device.is_host() ||
        routine->descriptor().type != DataType::float32 ||
        routine->descriptor().layout != Layout::plain || !mixed.implement(*routine).ok())
      continue;
    is_taken = true;
    INFO(routine->descriptor().str() << " of " << type << ": " << mixed.problem.str());
    check_outputs(*routine, mixed, reference);
    ++tried.computed;
  }
  INFO("no routine takes a constant of " << to_string(half) << ": " << mixed.problem.str());
  CHECK(is_taken);
}

// Large problems tell no more about types, and naive routines take their time.
bool is_large(const PreparedCase& prepared) {
  constexpr std::int64_t kElements = 8192;
  return std::any_of(prepared.inputs.begin(), prepared.inputs.end(),
                     [](const Tensor& input) { return input.elements() > kElements; });
}

// Whether the input is a float32 tensor beside others that are: a layer of constants alone is
// computed beforehand, as the model has it.
bool is_operand(const PreparedCase& prepared, std::size_t index) {
  const std::vector<TensorSpec>& inputs = prepared.problem.inputs;
  const auto is_float32 = [&](std::size_t i) {
    return inputs[i].present() && inputs[i].type == DataType::float32;
  };
  bool has_others = false;
  for (std::size_t i = 0; i < prepared.problem.layer_inputs; ++i)
    has_others = has_others || (i != index && is_float32(i));
  return index < prepared.problem.layer_inputs && is_float32(index) && has_others;
}

}  // namespace

TEST_CASE("numeric: constants of 16 bits beside float32 tensors are read as what they are",
          "[numeric]") {
  Tried tried;
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases()) {
      const Result<PreparedCase> prepared = prepare(all_routines(), description, test_seed());
      if (!prepared.ok() || description.failure || is_large(*prepared)) continue;
      for (std::size_t index = 0; index < prepared->inputs.size(); ++index)
        if (is_operand(*prepared, index))
          check_half_constant(all_routines(), *prepared, index,
                              tried.mixtures % 2 == 0 ? DataType::float16 : DataType::bfloat16,
                              tried);
    }
  }
  CHECK(tried.mixtures > 1000);
  CHECK(tried.computed > tried.mixtures);
}

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
