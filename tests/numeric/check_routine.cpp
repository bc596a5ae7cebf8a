// The comparison of every routine with cpu/naive.
#include "numeric/check_routine.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/base/element.h"
#include "routines/builtin.h"

namespace softneuro::test {

ThreadPool& test_pool(int threads) {
  static const auto one = create_thread_pool(1).value();
  static const auto two = create_thread_pool(2).value();
  return threads == 1 ? *one : *two;
}

PreparedCase for_many_threads(const PreparedCase& prepared, const Routine& routine) {
  PreparedCase many = prepared;
  if (routine.facts().library.empty()) many.threads = 16;
  return many;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.bytes() == y.bytes() && x.shape() == y.shape() &&
           (x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  });
}

namespace {

bool transforms_data(const Routine& routine, const RoutineParams& params) {
  const std::string& algorithm = routine.descriptor().algorithm;
  return algorithm.rfind("wg", 0) == 0 || algorithm.find("wino") != std::string::npos ||
         params.text("impl").find("wino") != std::string_view::npos;
}

// Rounded on the way, factors or sums: an element's error depends on the partial sums, not on what
// is left of them in the end. As it is with transforms, the largest magnitude counts.
bool rounds_on_the_way(const Routine& routine) {
  return routine.facts().accumulator != DataType::float32 ||
         routine.descriptor().arithmetic != Arithmetic::of_type;
}

// What cpu/naive gave.
struct Reference {
  std::vector<Tensor> outputs;
  std::vector<Tensor> plain_outputs;  // without post-ops; only for rounds_on_the_way()
};

// Relative to the largest magnitude, for tiles up to 6x6.
constexpr Tolerance kTransformTolerance = {1e-5, 1e-4};

Tolerance tolerance_of(const Case& description, const Routine& routine, DataType type,
                       bool transforms) {
  if (!is_float(type)) return description.allowed.value_or(Tolerance{});
  const Precision precision = routine.descriptor().precision();
  if (transforms && precision == DataType::float32) return kTransformTolerance;
  if (description.allowed) return *description.allowed;
  if (description.exact_sums && precision == DataType::float32) return {};
  // The arithmetic may be coarser than the tensors.
  const Tolerance tensors = default_tolerance(type);
  const Tolerance arithmetic = default_tolerance(digits_of(precision));
  return type == DataType::float64 || tensors.absolute > arithmetic.absolute ? tensors : arithmetic;
}

// Every element zero, although the inputs are not: more likely a defect than a result.
bool suspiciously_zero(const Case& description, const Tensor& output) {
  const bool random =
      std::any_of(description.inputs.begin(), description.inputs.end(), [](const CaseInput& input) {
        return input.fill.kind == Fill::Kind::normal || input.fill.kind == Fill::Kind::uniform;
      });
  if (!random || !is_float(output.data_type()) || output.elements() < 8) return false;
  const TensorView view = {output.data_type(), output.layout(), output.shape(),
                           const_cast<void*>(output.data())};
  for (std::int64_t i = 0; i < output.elements(); ++i)
    if (load(view, i) != 0) return false;
  return true;
}

void check_expectations(const Case& description, const std::vector<Tensor>& outputs) {
  for (const CaseExpectation& expectation : description.expected) {
    REQUIRE(expectation.output < outputs.size());
    const Tensor& output = outputs[expectation.output];
    if (expectation.shape) CHECK(output.shape().str() == expectation.shape->str());
    REQUIRE(output.elements() == static_cast<std::int64_t>(expectation.values.size()));
    auto expected = Tensor::create(output.data_type(), output.shape()).value();
    const TensorView view = {expected.data_type(), Layout::plain, expected.shape(),
                             expected.mutable_data()};
    for (std::size_t i = 0; i < expectation.values.size(); ++i)
      store(view, static_cast<std::int64_t>(i), expectation.values[i]);
    INFO("cpu/naive against the case's own values, output " << expectation.output);
    const Tolerance tolerance =
        is_float(output.data_type())
            ? description.allowed.value_or(default_tolerance(output.data_type()))
            : Tolerance{};
    CHECK(difference(expected, output, tolerance) == "");
  }
}

// What every writer of a blocked layout owes to the readers.
bool padding_is_zero(const Tensor& tensor) {
  const std::int64_t block = block_of(tensor.layout());
  if (tensor.empty() || block == 1 || tensor.shape().rank() < 3) return true;
  const std::int64_t channels = tensor.shape()[1];
  const std::int64_t pixels = tensor.shape().elements(2, tensor.shape().rank());
  const std::int64_t blocks = (channels + block - 1) / block;
  const auto* const bytes = static_cast<const unsigned char*>(tensor.data());
  const auto size = static_cast<std::int64_t>(size_of(tensor.data_type()));
  for (std::int64_t image = 0; image < tensor.shape()[0]; ++image)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t last = ((image * blocks + blocks - 1) * pixels + pixel) * block;
      for (std::int64_t i = (last + block - (blocks * block - channels)) * size;
           i < (last + block) * size; ++i)
        if (bytes[i] != 0) return false;
    }
  return true;
}

void check_run(const Case& description, const Routine& routine, const RunResult& run,
               const Reference* expected, bool transforms = false) {
  INFO(run.status.message());
  CHECK(run.defect == "");
  if (description.failure) {
    CHECK(run.status.code() == *description.failure);
    return;
  }
  REQUIRE(run.status.ok());
  if (expected == nullptr) return;
  REQUIRE(run.outputs.size() == expected->outputs.size());
  for (std::size_t i = 0; i < expected->outputs.size(); ++i) {
    INFO("output " << i);
    auto actual = run.outputs[i];
    const Tensor& wanted = expected->outputs[i];
    if (actual.empty() && wanted.empty()) continue;
    const Tolerance tolerance = tolerance_of(description, routine, wanted.data_type(), transforms);
    const Tensor* norm_of = transforms ? &wanted : nullptr;
    if (rounds_on_the_way(routine)) norm_of = &expected->plain_outputs[i];
    std::string found = difference(wanted, actual, tolerance, norm_of);
    // Post-ops that enlarge the sums enlarge the sums' errors with them.
    if (!found.empty() && rounds_on_the_way(routine))
      found = difference(wanted, actual, tolerance, &wanted);
    CHECK(found == "");
  }
}

// Outputs in the plain layout and, as far as they are real, in the reference's data type.
std::vector<Tensor> as_reference(const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& reference) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    if (output.empty() || i >= reference.size() || output.data_type() == DataType::undefined ||
        (output.layout() == Layout::plain && output.data_type() == reference[i].data_type()))
      result.push_back(output);
    else
      result.push_back(convert_format(output, reference[i].data_type(), Layout::plain).value());
  }
  return result;
}

void check_params(const Case& description, const Routine& routine, const PreparedCase& prepared,
                  const RoutineParams& params, const Reference* expected) {
  INFO("parameters: " << params.str());
  RunResult first = run_routine(routine, prepared, test_pool(1), params);
  const std::vector<Tensor> bits = first.outputs;
  for (const Tensor& output : bits) CHECK(padding_is_zero(output));
  if (expected != nullptr) first.outputs = as_reference(first.outputs, expected->outputs);
  check_run(description, routine, first, expected, transforms_data(routine, params));
  if (!first.status.ok()) return;

  const RunResult second =
      run_routine(routine, for_many_threads(prepared, routine), test_pool(2), params);
  {
    INFO("several threads");
    check_run(description, routine, second, nullptr);
    CHECK(same_bits(bits, second.outputs));
  }
  bool ran_in_place = false;
  const RunResult in_place =
      run_routine(routine, prepared, test_pool(1), params, true, &ran_in_place);
  if (ran_in_place) {
    INFO("in place");
    check_run(description, routine, in_place, nullptr);
    CHECK(same_bits(bits, in_place.outputs));
  }
}

// With the parameters that are taken where nothing is tuned, and with what the profiler may try.
void check_all_params(const Case& description, const Routine& routine, const PreparedCase& prepared,
                      const Reference* expected) {
  constexpr std::size_t kMostParams = 12;
  INFO("routine: " << routine.descriptor().str() << " of " << routine.layer_type());
  const auto implementation = prepared.implement(routine);
  INFO(implementation.status().message());
  REQUIRE(implementation.ok());
  const RoutineParams usual = (*implementation)->default_params();
  check_params(description, routine, prepared, usual, expected);
  const ParamSpace space = (*implementation)->param_space();
  if (!space.axes.empty()) CHECK(space.contains(usual));
  for (const RoutineParams& params : space.list(kMostParams))
    if (!(params == usual)) check_params(description, routine, prepared, params, expected);
}

void check_routine(const Case& description, const Routine& routine, const PreparedCase& prepared,
                   const Reference* expected) {
  check_all_params(description, routine, prepared, expected);
  if (routine.facts().library.empty() || routine.descriptor().device != DeviceId()) return;
  // Libraries of the host partition the work when the kernel is made.
  INFO("made for three threads");
  PreparedCase threaded = prepared;
  threaded.threads = 3;
  check_all_params(description, routine, threaded, expected);
}

// The case as a routine of that descriptor takes it: itself, or in the descriptor's format.
std::optional<PreparedCase> case_for(const Routine& routine, const PreparedCase& prepared) {
  const RoutineDescriptor& descriptor = routine.descriptor();
  if (descriptor.type == DataType::qint8) return std::nullopt;
  std::optional<PreparedCase> adapted = prepared;
  if (descriptor.type != DataType::float32 || descriptor.layout != Layout::plain)
    adapted = in_format(prepared, descriptor.type, descriptor.layout);
  if (adapted && !descriptor.device.is_host()) put_on_device(descriptor.device, adapted->problem);
  return adapted;
}

void check_case(const Registry& registry, const Case& description) {
  const std::uint64_t seed = test_seed();
  const Result<PreparedCase> made = prepare(registry, description, seed);
  INFO(description.layer_type << "{" << description.params.str()
                              << "}: " << made.status().message());
  REQUIRE(made.ok());
  const PreparedCase& prepared = *made;
  INFO("problem: " << prepared.problem.str() << ", SOFTNEURO_TEST_SEED=" << seed);

  const Routine* naive = builtin_registry().find(description.layer_type, "cpu/naive");
  REQUIRE(naive != nullptr);
  check_routine(description, *naive, prepared, nullptr);
  const RunResult reference = run_routine(*naive, prepared, test_pool(1), {});
  if (reference.status.ok()) {
    check_expectations(description, reference.outputs);
    if (description.expected.empty() && !reference.outputs.empty())
      CHECK_FALSE(suspiciously_zero(description, reference.outputs[0]));
  }
  for (const Routine* routine : registry.routines(description.layer_type)) {
    if (routine->descriptor() == naive->descriptor()) continue;
    const std::optional<PreparedCase> adapted = case_for(*routine, prepared);
    if (!adapted) continue;
    if (!adapted->implement(*routine).ok()) continue;
    // In another data type the inputs are rounded: the reference is to see them like that too.
    const bool same_type = routine->descriptor().type == DataType::float32;
    const std::optional<PreparedCase> rounded =
        same_type ? std::nullopt : in_format(prepared, routine->descriptor().type, Layout::plain);
    const RunResult expected =
        rounded ? run_routine(*naive, *rounded, test_pool(1), {}) : reference;
    Reference wanted{expected.outputs, {}};
    if (rounds_on_the_way(*routine)) {
      PreparedCase plain = rounded.value_or(prepared);
      plain.problem.post_ops.clear();
      wanted.plain_outputs = run_routine(*naive, plain, test_pool(1), {}).outputs;
    }
    check_routine(description, *routine, *adapted, expected.status.ok() ? &wanted : nullptr);
  }
  if (reference.status.ok()) check_quantized(registry, description, prepared, reference.outputs);
}

}  // namespace

void check_problems(const Registry& registry, void (*add)(ProblemSet&)) {
  ProblemSet set;
  add(set);
  REQUIRE_FALSE(set.cases().empty());
  const auto [one_in, first] = problem_sample();
  const std::size_t count = set.cases().size();
  for (std::size_t i = first % std::min(one_in, count); i < count; i += one_in)
    check_case(registry, set.cases()[i]);
}

void check_problems(void (*add)(ProblemSet&)) {
  check_problems(all_routines(), add);
}

}  // namespace softneuro::test
