// Schemas and names of routines: what is written is read, and what patterns let in.
#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/routine/evaluate.h"
#include "core/routine/registry.h"
#include "core/routine/routine_context.h"
#include "support/rounding_matmul.h"

namespace softneuro {
Status register_routine_matmul_cpu_naive(Registry& registry);
}

using namespace softneuro;
using namespace softneuro::test;

namespace {

bool matches(const std::string& name, const std::string& pattern) {
  return matches_schema(RoutineDescriptor::parse(name).value(), pattern);
}

bool is_default(const std::string& name, const std::vector<std::string>& patterns) {
  return is_default_schema(RoutineDescriptor::parse(name).value(), patterns);
}

Problem product() {
  Layer layer;
  layer.type = builtin_layer_types().find("matmul");
  layer.name = "tested";
  layer.layer_inputs = 2;
  layer.outputs = {0};
  TensorSpec a, b;
  a.type = b.type = DataType::float32;
  a.shape = Shape{3, 4};
  b.shape = Shape{4, 5};
  return make_problem(layer, std::vector<TensorSpec>{a, b}).value();
}

// cpu/naive, and cpu:tf32/rounding, which ranks above it.
Registry registry_with_tf32() {
  Registry registry(builtin_layer_types());
  REQUIRE(register_routine_matmul_cpu_naive(registry).ok());
  REQUIRE(registry.add(std::make_unique<RoundingMatmul>("cpu:tf32/rounding")).ok());
  return registry;
}

}  // namespace

TEST_CASE("schema: names of routines are read as they are written") {
  for (const char* name : {"cpu/naive", "cpu:float32:nhwc/wg", "cpu:qint8/direct",
                           "cuda:tf32/cudnn", "cuda:tf32:nhwc/cudnn", "test:bfloat16:nchw4c/x"}) {
    const auto descriptor = RoutineDescriptor::parse(name);
    INFO(name << ": " << descriptor.status().message());
    REQUIRE(descriptor.ok());
    CHECK(descriptor->str() == name);
  }
  CHECK(RoutineDescriptor::parse("cpu:float32:plain/naive").value().str() == "cpu/naive");
  CHECK(RoutineDescriptor::parse("cuda:tf32:plain/x").value().str() == "cuda:tf32/x");
}

TEST_CASE("schema: tf32 is arithmetic on float32 tensors, and no type of theirs") {
  const RoutineDescriptor descriptor = RoutineDescriptor::parse("cuda:tf32:nhwc/cudnn").value();
  CHECK(descriptor.type == DataType::float32);
  CHECK(descriptor.arithmetic == Arithmetic::tf32);
  CHECK(descriptor.schema() == "cuda:tf32:nhwc");
  CHECK(descriptor.precision() != DataType::float32);
  CHECK(digits_of(descriptor.precision()) == DataType::float16);
  CHECK_FALSE(Format::parse("cuda:tf32").ok());
  const auto formats = RoundingMatmul("cpu:tf32/rounding").formats(product());
  REQUIRE(formats.size() == 1);
  CHECK(formats[0].str() == "float32,float32 -> float32");
}

TEST_CASE("schema: what is no name is refused, and quoted") {
  for (const char* name : {"cuda:tf33/x", "cuda:tf32:tf32/x", "cuda:tf32:/x", "cuda:/x",
                           "cuda:float32:tf32/x", "cuda:tf32", "cuda:tf32/", ":tf32/x"}) {
    const Status status = RoutineDescriptor::parse(name).status();
    INFO(name << ": " << status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    const std::string schema = std::string(name).substr(0, std::string(name).find('/'));
    CHECK(status.message().find(schema) != std::string::npos);
  }
}

TEST_CASE("schema: patterns tell arithmetic from types") {
  CHECK(matches("cuda:tf32/x", "cuda"));
  CHECK(matches("cuda/x", "cuda"));
  CHECK(matches("cuda:tf32/x", "cuda:tf32"));
  CHECK(matches("cuda:tf32:nhwc/x", "cuda:tf32"));
  CHECK(matches("cuda:tf32:nhwc/x", "cuda:tf32:nhwc"));
  CHECK_FALSE(matches("cuda:tf32/x", "cuda:tf32:nhwc"));
  CHECK_FALSE(matches("cuda:tf32/x", "cuda:float32"));
  CHECK_FALSE(matches("cuda/x", "cuda:tf32"));
  CHECK_FALSE(matches("cuda:float16/x", "cuda:tf32"));
  CHECK_FALSE(matches("cuda:tf32/x", "cpu:tf32"));
}

TEST_CASE("schema: where nothing is measured, other arithmetic serves those who name it") {
  CHECK(is_default("cuda/x", {}));
  CHECK(is_default("cuda/x", {"cuda"}));
  CHECK_FALSE(is_default("cuda/x", {"cuda:tf32"}));
  CHECK_FALSE(is_default("cuda:tf32/x", {}));
  CHECK_FALSE(is_default("cuda:tf32/x", {"cpu", "cuda"}));
  CHECK(is_default("cuda:tf32/x", {"cuda", "cuda:tf32"}));
  CHECK(is_default("cuda:tf32:nhwc/x", {"cuda:tf32:nhwc"}));

  const Registry registry = registry_with_tf32();
  const auto chosen = [&](const std::vector<std::string>& schemas) {
    return RoutineContext(registry)
        .default_choice(product(), schemas)
        .value()
        ->routine()
        .descriptor()
        .str();
  };
  CHECK(chosen({}) == "cpu/naive");
  CHECK(chosen({"cpu"}) == "cpu/naive");
  CHECK(chosen({"cpu:float32"}) == "cpu/naive");
  CHECK(chosen({"cpu:tf32"}) == "cpu:tf32/rounding");
}

TEST_CASE("schema: an unknown one is an error that lists what there is, arithmetic included") {
  const Registry registry = registry_with_tf32();
  const std::vector<std::string> good = {"cpu:tf32", "cpu:float32", "cpu"};
  CHECK(check_schemas(registry, good).ok());
  for (const std::string schema : {"cpu:tf32:nhwc", "cpu:tf33", "cuda:tf32", "tf32"}) {
    const Status status = check_schemas(registry, {&schema, 1});
    INFO(status.message());
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message().find('\'' + schema + '\'') != std::string::npos);
    CHECK(status.message().find("there are cpu:float32, cpu:tf32") != std::string::npos);
  }
}

TEST_CASE("schema: a routine of tf32 takes no problem without float32 tensors") {
  const Registry registry = registry_with_tf32();
  Problem integers = product();
  for (TensorSpec* spec : {&integers.inputs[0], &integers.inputs[1], &integers.outputs[0]})
    spec->type = DataType::int32;
  const Applicability answer =
      RoutineContext(registry).check(*registry.find("matmul", "cpu:tf32/rounding"), integers);
  CHECK(answer.reason().find("has the data type float32") != std::string::npos);
}
