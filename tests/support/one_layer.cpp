#include "support/one_layer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/graph/graph.h"
#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/kernel_run.h"
#include "routines/builtin.h"

namespace softneuro::test {
namespace {

const Registry& registry() {
  static const Registry built = make_builtin_registry().value();
  return built;
}

// Several threads as far as kernels can tell, but deterministic: the last task first.
class BackwardPool final : public ThreadPool {
 public:
  int concurrency() const noexcept override { return 4; }
  void run(std::size_t count, Task task, void* context) noexcept override {
    while (count-- > 0) task(context, count);
  }
};

Result<Problem> problem_of(const OneLayer& one) {
  Layer layer;
  layer.type = builtin_layer_types().find(one.type);
  REQUIRE(layer.type != nullptr);
  layer.name = "tested";
  layer.params = one.params;
  layer.layer_inputs = static_cast<std::uint32_t>(one.inputs.size());
  for (std::size_t i = 0; i < one.outputs; ++i) layer.outputs.push_back(static_cast<TensorId>(i));
  std::vector<TensorSpec> specs;
  for (const Tensor& input : one.inputs) {
    TensorSpec spec;
    if (!input.empty()) {
      spec.type = input.data_type();
      spec.shape = input.shape();
      spec.value = input;
    }
    specs.push_back(std::move(spec));
  }
  return make_problem(layer, std::move(specs));
}

Result<std::vector<Tensor>> run_implementation(const Implementation& implementation,
                                               const std::vector<Tensor>& inputs) {
  const Problem& problem = implementation.whole_problem();
  const RoutineParams params = implementation.default_params();
  SN_ASSIGN_OR_RETURN(const PackedWeights packed,
                      implementation.pack_weights(params, default_allocator()));
  SN_ASSIGN_OR_RETURN(const auto kernel, implementation.create(params, packed));
  SN_ASSIGN_OR_RETURN(KernelRun run,
                      KernelRun::create(*kernel, problem, nullptr, inputs, default_allocator()));
  for (Tensor& output : run.outputs())
    if (output.bytes() > 0) std::memset(output.mutable_data(), 0xA5, output.bytes());
  BackwardPool pool;
  SN_RETURN_IF_ERROR(run.start(pool));
  return std::move(run.outputs());
}

bool close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 1e-5 + 1e-4 * std::fabs(b);
}

void require_equal(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK(actual[i].shape() == expected[i].shape());
    const std::vector<double> a = values_of(actual[i]), b = values_of(expected[i]);
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!close(a[k], b[k])) FAIL_CHECK("element " << k << ": " << a[k] << ", not " << b[k]);
  }
}

}  // namespace

Params params(std::initializer_list<Params::Entry> entries) {
  Params all;
  for (const Params::Entry& entry : entries) all.set(entry.name, entry.value);
  return all;
}

Tensor tensor_of(DataType type, const Shape& shape, const void* values) {
  Tensor tensor = Tensor::create(type, shape).value();
  if (tensor.bytes() > 0) std::memcpy(tensor.mutable_data(), values, tensor.bytes());
  return tensor;
}

Tensor counting(DataType type, const Shape& shape) {
  Tensor tensor = Tensor::create(type, shape).value();
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) store(view, i, static_cast<double>(i));
  return tensor;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  const TensorView view = view_of(tensor);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(load(view, i));
  return values;
}

std::vector<Tensor> run(const OneLayer& layer) {
  const Result<Problem> problem = problem_of(layer);
  INFO(problem.status().message());
  REQUIRE(problem.ok());
  std::optional<std::vector<Tensor>> expected;
  const auto answers =
      RoutineContext(registry()).explain(std::make_shared<const Problem>(*problem));
  const auto outputs_of = [&](const RoutineAnswer& answer) {
    INFO(answer.routine->descriptor().str() << ": " << problem->str());
    const auto outputs = run_implementation(*answer.implementation, layer.inputs);
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    return *outputs;
  };
  for (const RoutineAnswer& answer : answers)
    if (answer.routine->descriptor().str() == "cpu/naive") expected = outputs_of(answer);
  REQUIRE(expected.has_value());
  for (const RoutineAnswer& answer : answers) {
    if (answer.implementation == nullptr) continue;
    INFO(answer.routine->descriptor().str());
    require_equal(outputs_of(answer), *expected);
  }
  return *expected;
}

Status error_of(const OneLayer& layer) {
  const Result<Problem> problem = problem_of(layer);
  if (!problem.ok()) return problem.status();
  const Routine* naive = registry().find(layer.type, "cpu/naive");
  REQUIRE(naive != nullptr);
  const auto implementation = RoutineContext(registry()).implement(*naive, *problem);
  if (!implementation.ok()) return implementation.status();
  return run_implementation(**implementation, layer.inputs).status();
}

std::string Inferred::str() const {
  if (!status.ok()) return status.message();
  return std::string(to_string(outputs[0].type)) + " " + outputs[0].shape.str();
}

Inferred infer(std::string_view type, Params params, std::vector<InferContext::Input> inputs,
               std::size_t outputs) {
  const LayerType* layer_type = builtin_layer_types().find(type);
  REQUIRE(layer_type != nullptr);
  Inferred inferred;
  inferred.outputs.resize(outputs);
  inferred.status = layer_type->check_params(params);
  if (!inferred.status.ok()) return inferred;
  InferContext context(params, inputs, inferred.outputs);
  inferred.status = layer_type->infer(context);
  return inferred;
}

InferContext::Input unknown(DataType type, DynamicShape shape) {
  return {type, std::move(shape), nullptr};
}

InferContext::Input known(const Tensor& value) {
  return {value.data_type(), DynamicShape(value.shape()), &value};
}

}  // namespace softneuro::test
