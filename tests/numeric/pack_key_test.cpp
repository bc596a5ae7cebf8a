// Packings with equal keys are shared: by plans, and by candidates while tuning. So a routine whose
// pack() looks at a parameter has to say so in Packing::key. Packings go to files: pack() writes
// each of Packing::bytes, and no other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "core/routine/format.h"
#include "numeric/check_routine.h"
#include "numeric/guarded_memory.h"

namespace softneuro::test {
namespace {

// What is packed into memory that held `before`.
std::vector<std::byte> pack_over(std::byte before, const Implementation& implementation,
                                 const RoutineParams& params, std::size_t bytes) {
  GuardedMemory memory(bytes);
  std::byte* const data = memory.data();
  std::fill_n(data, bytes, before);
  REQUIRE(implementation.pack(params, default_allocator(), data).ok());
  CHECK(memory.intact());
  return {data, data + bytes};
}

struct Packings {
  int choices = 0, shared = 0, packed = 0;
};

// Packs for up to 16 combinations of parameters.
Packings check_packings(const Implementation& implementation) {
  const std::vector<RoutineParams> choices = implementation.param_space().list(16);
  std::map<std::string, std::vector<std::byte>> by_key;
  Packings result;
  result.choices = static_cast<int>(choices.size());
  for (const RoutineParams& params : choices) {
    INFO(implementation.routine().descriptor().str()
         << ' ' << params.str() << ": " << implementation.whole_problem().str());
    const Result<Packing> packing = implementation.packing(params);
    REQUIRE(packing.ok());
    if (packing->bytes == 0) continue;
    const auto packed = pack_over(std::byte{0xff}, implementation, params, packing->bytes);
    CHECK(packed == pack_over(std::byte{0}, implementation, params, packing->bytes));
    ++result.packed;
    const auto [first, is_new] = by_key.emplace(packing->key, packed);
    if (is_new) continue;
    CHECK(first->second == packed);
    ++result.shared;
  }
  return result;
}

// The number of comparisons, each in a format that the routine takes.
int check_without_weights(const Routine& routine, const PreparedCase& made) {
  const std::size_t input = made.problem.type->weights->input;
  const RoutineDescriptor& descriptor = routine.descriptor();
  if (descriptor.type == DataType::qint8 || !descriptor.device.is_host()) return 0;
  const auto seen = in_format(made, descriptor.type, descriptor.layout);
  if (!seen || seen->problem.inputs[input].value.empty()) return 0;
  const auto implementation = seen->implement(routine);
  if (!implementation.ok()) return 0;
  const RoutineParams params = (*implementation)->default_params();
  INFO(descriptor.str() << ' ' << params.str() << ": " << seen->problem.str());
  const Result<PackedWeights> packed = (*implementation)->pack_weights(params, default_allocator());
  REQUIRE(packed.ok());
  if (packed->bytes.empty()) return 0;
  const RunResult expected = run_packed(routine, *seen, *packed, test_pool(1), params);

  PreparedCase without = *seen;
  const Tensor& weights = seen->inputs[input];
  Tensor zeros = Tensor::create(weights.data_type(), weights.shape()).value();
  std::memset(zeros.mutable_data(), 0, zeros.bytes());
  without.inputs[input] = without.problem.inputs[input].value = zeros;
  const auto left_out = without.implement(routine);
  REQUIRE(left_out.ok());
  CHECK((*left_out)->packing(params).value().bytes == packed->bytes.bytes());
  const RunResult found = run_packed(routine, without, *packed, test_pool(1), params);
  CHECK(found.status.message() == expected.status.message());
  CHECK(same_bits(found.outputs, expected.outputs));
  return 1;
}

}  // namespace

TEST_CASE("numeric: packings are equal under equal keys, and written as a whole", "[numeric]") {
  const Registry& registry = all_routines();
  std::map<std::string, int> tried;  // problems per routine: packing the same way ten times will do
  int shared = 0, packed = 0;
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases()) {
      const Result<PreparedCase> made = prepare(registry, description, test_seed());
      if (!made.ok()) continue;
      for (const Routine* routine : registry.routines(description.layer_type)) {
        int& count = tried[description.layer_type + ' ' + routine->descriptor().str()];
        if (count >= 10) continue;
        for (const FormatTuple& formats : routine->formats(made->problem)) {
          const auto implementation =
              made->context().implement(*routine, with_formats(made->problem, formats));
          if (!implementation.ok()) continue;
          const Packings now = check_packings(**implementation);
          shared += now.shared;
          packed += now.packed;
          count += now.shared > 0 || now.choices < 2;
        }
      }
    }
  }
  CHECK(shared > 100);
  CHECK(packed > 100);
}

// Files may leave out weights that the kernels of their paths have packed
// (SaveOptions::packed_only): they read as zeros then.
TEST_CASE("numeric: kernels that packed their weights give the same bits where those are zeros",
          "[numeric]") {
  const Registry& registry = all_routines();
  std::map<std::string, int> tried;  // problems per routine
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases()) {
      const Result<PreparedCase> made = prepare(registry, description, test_seed());
      if (!made.ok() || !made->problem.type->weights) continue;
      for (const Routine* routine : registry.routines(description.layer_type)) {
        int& count = tried[description.layer_type + ' ' + routine->descriptor().str()];
        if (count < 10) count += check_without_weights(*routine, *made);
      }
    }
  }
  const auto routines = std::count_if(tried.begin(), tried.end(),
                                      [](const auto& routine) { return routine.second > 0; });
  CHECK(routines > 20);
}

}  // namespace softneuro::test
