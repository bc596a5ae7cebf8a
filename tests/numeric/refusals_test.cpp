// Whatever a routine is asked, it says yes, or no with a reason that a person can use.
#include <catch2/catch.hpp>
#include <set>

#include "core/base/isa_variants.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// The formats in which a problem is put to the routines, beside its own: every data type in many
// layouts, all tensors alike and the outputs plain float32, as at a net's end; and what each
// routine itself offers.
std::vector<FormatTuple> formats_to_ask(const Registry& registry, const Problem& problem) {
  std::vector<FormatTuple> tuples;
  const auto add = [&](DataType type, Layout layout, bool plain_outputs) {
    FormatTuple tuple;
    for (const TensorSpec& spec : problem.inputs) {
      const bool keeps = !is_float(spec.type) || spec.constant;
      tuple.inputs.push_back(keeps ? Format{spec.type, Layout::plain} : Format{type, layout});
    }
    for (const TensorSpec& spec : problem.outputs) {
      const bool keeps = !is_float(spec.type) || plain_outputs;
      tuple.outputs.push_back(keeps ? Format{spec.type, Layout::plain} : Format{type, layout});
    }
    tuples.push_back(std::move(tuple));
  };
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16,
                              DataType::float64, DataType::qint8, DataType::int32})
    for (const Layout layout : {Layout::plain, Layout::channels_last, Layout::nchw8c,
                                Layout::nchw16c, Layout::blocked(32)})
      for (const bool plain_outputs : {false, true}) add(type, layout, plain_outputs);
  for (const Routine* routine : registry.routines(problem.type->name))
    for (FormatTuple tuple : routine->formats(problem)) {
      tuples.push_back(tuple);
      if (!problem.type->is_adapt()) continue;
      tuple.inputs[0].device = DeviceId();  // to a device, from the host
      tuples.push_back(std::move(tuple));
    }
  return tuples;
}

// Ranges, without which qint8 is refused before anything else.
Problem quantised(Problem problem) {
  const auto quantise = [](TensorSpec& spec) {
    if (spec.type == DataType::float32 && !spec.constant)
      spec.quantization = Quantization{false, -1, {1.0f / 32}, {128}, {}};
  };
  for (TensorSpec& spec : problem.inputs) quantise(spec);
  for (TensorSpec& spec : problem.outputs) quantise(spec);
  return problem;
}

// A short sentence of one line, not an empty or forgotten field.
bool is_reason(const std::string& text) {
  return text.size() >= 8 && text.size() <= 300 && text.find(' ') != std::string::npos &&
         text.find('\n') == std::string::npos && text.find("without a reason") == std::string::npos;
}

struct Asked {
  std::set<const Routine*> accepted, refused;
  std::size_t refusals = 0;
};

void ask(const Registry& registry, const Problem& problem, Asked& asked) {
  for (const RoutineAnswer& answer :
       RoutineContext(registry).explain(std::make_shared<const Problem>(problem))) {
    if (answer.implementation != nullptr) {
      asked.accepted.insert(answer.routine);
      continue;
    }
    ++asked.refusals;
    asked.refused.insert(answer.routine);
    if (is_reason(answer.reason)) continue;
    FAIL_CHECK(answer.routine->descriptor().str()
               << " refuses " << problem.str() << " and says '" << answer.reason << "'");
  }
}

}  // namespace

TEST_CASE("numeric: every refusal of every routine has a reason", "[numeric]") {
  const Registry& registry = all_routines();
  Asked asked;
  for (std::size_t i = 0; i < problem_file_count; ++i) {
    ProblemSet set;
    problem_files[i].add(set);
    for (const Case& description : set.cases()) {
      const Result<PreparedCase> made = prepare(registry, description, test_seed());
      if (!made.ok()) continue;  // cases that are wrong on purpose
      ask(registry, made->problem, asked);
      const Problem problem = quantised(made->problem);
      for (const FormatTuple& formats : formats_to_ask(registry, problem))
        ask(registry, with_formats(problem, formats), asked);
    }
  }
  // A routine that takes no problem at all would be tested by none; and one that refuses none has
  // not been asked the right ones (but naive ones of the model's own formats).
  for (const Routine* routine : registry.all()) {
    INFO(routine->descriptor().str() << " of " << routine->layer_type());
    // Libraries have routines for new processors only: nchw16c asks for AVX-512, qint8 for VNNI.
    const CpuFeatures for_libraries =
        routine->facts().library.empty() ? CpuFeatures{} : isa::avx512vnni;
    const bool for_this_one = usable_features().has(routine->facts().needs | for_libraries);
    if (for_this_one) CHECK(asked.accepted.contains(routine));
    if (routine->descriptor().algorithm != "naive") CHECK(asked.refused.contains(routine));
  }
  CHECK(asked.refusals > 10000);
  INFO(asked.refusals);
}

}  // namespace softneuro::test
