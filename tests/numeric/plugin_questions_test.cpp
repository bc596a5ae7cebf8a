// What routines of library plugins answer. The same to threads that ask at once: oneDNN 2.6 does
// not of itself, on processors with AMX, see src/plugins/onednn/implementations.cpp; packed weights
// that one thread made would not fit the kernel that another makes of them. And nothing where a
// name is asked for that the library does not know.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/routine/format.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// How weights are packed: what the library decides, and what kernels rely on.
struct Question {
  const Routine* routine;
  Problem problem;
  RoutineParams params;

  Result<ImplementationPtr> implement() const {
    return RoutineContext(all_routines(), 2).implement(*routine, problem);
  }
  std::string ask() const {
    const auto implementation = implement();
    if (!implementation.ok()) return "refused";
    const Result<Packing> packing = (*implementation)->packing(params);
    return packing.ok() ? packing->key + std::to_string(packing->bytes) : "unknown";
  }
};

// About pointwise and other convolutions whose input channels are no multiple of a block.
std::vector<Question> questions(DataType type) {
  ProblemSet set;
  set.add("conv2").input({1, 112, 14, 14}).constant({672, 112, 1, 1}, normal(0.1)).constant({672});
  set.add("conv2")
      .input({1, 72, 10, 10})
      .constant({48, 72, 3, 3}, normal(0.1))
      .constant({48})
      .param("pads", {1, 1, 1, 1});
  Quantization bytes;
  bytes.is_signed = false;
  bytes.scales = {0.02f};
  bytes.zero_points = {3};
  std::vector<Question> found;
  for (const Case& description : set.cases()) {
    Problem problem = prepare(all_routines(), description, test_seed()).value().problem;
    problem.inputs[0].quantization = problem.outputs[0].quantization = bytes;
    for (const Routine* routine : all_routines().routines(description.layer_type)) {
      if (routine->facts().library.empty() || routine->descriptor().type != type) continue;
      for (const FormatTuple& formats : routine->formats(problem)) {
        Question question{routine, with_formats(problem, formats), {}};
        const auto implementation = question.implement();
        if (!implementation.ok()) continue;
        for (RoutineParams& params : (*implementation)->param_space().list(64)) {
          question.params = std::move(params);
          found.push_back(question);
        }
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("library routines pack weights alike, whatever other threads ask", "[plugin]") {
  constexpr int kRepeats = 100;
  struct Asked {
    Question question;
    std::string alone;  // the answer while no other thread asks
  };
  std::vector<std::vector<Asked>> asked;
  for (const DataType type : {DataType::float32, DataType::qint8}) {
    asked.emplace_back();
    for (Question& question : questions(type)) {
      std::string alone = question.ask();
      asked.back().push_back({std::move(question), std::move(alone)});
    }
    if (asked.back().empty()) WARN("no library plugin has routines of type " << to_string(type));
  }

  std::atomic<int> differ{0};
  std::vector<std::thread> threads;
  for (const std::vector<Asked>& of_type : asked)
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&of_type, &differ] {
        for (int repeat = 0; repeat < kRepeats; ++repeat)
          for (const auto& [question, alone] : of_type) differ += question.ask() != alone;
      });
  for (std::thread& thread : threads) thread.join();
  CHECK(differ == 0);
}

// As a path names that was tuned with another version of the library.
TEST_CASE("library routines refuse implementations that the library does not have", "[plugin]") {
  std::size_t refused = 0;
  for (const DataType type : {DataType::float32, DataType::qint8})
    for (const Question& question : questions(type)) {
      const auto& [routine, problem, params] = question;
      if (params.text("impl").empty()) continue;
      INFO(routine->descriptor().str() << " of " << routine->layer_type());
      RoutineParams other = params;
      other.set("impl", "of_another_version");
      const ImplementationPtr implementation = question.implement().value();
      const Applicability allowed = implementation->check_params(other);
      CHECK_FALSE(allowed.ok());
      CHECK(allowed.reason().find("of_another_version") != std::string::npos);
      // Nor is anything packed or made under that name.
      CHECK_FALSE(implementation->packing(other).ok());
      CHECK(implementation->create(other).status().code() == StatusCode::invalid_argument);
      ++refused;
    }
  if (refused == 0) WARN("no library plugin names implementations");
}

}  // namespace softneuro::test
