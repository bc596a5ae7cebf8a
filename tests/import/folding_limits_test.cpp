// What is computed ahead of the run is bounded by the steps that it takes, not by sizes: the rest
// is left to the run, where all threads work and the caller can cancel.
#include <catch2/catch.hpp>

#include "import/onnx_model.h"
#include "net/net_access.h"
#include "softneuro/net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

void ones(OnnxModel& model, const std::string& name, std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto& tensor = model.initializer(name, dims);
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(1);
}

// y = x + einsum of constants.
OnnxModel einsum_of_constants(const std::string& equation, std::int64_t size, int operands,
                              bool matrices) {
  OnnxModel model;
  model.input("x", {1});
  OnnxNode node = model.node("Einsum", {}, {"e"}).text("equation", equation);
  for (int i = 0; i < operands; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (matrices)
      ones(model, name, {size, size});
    else
      ones(model, name, {size});
    node.proto().add_input(name);
  }
  model.node("Add", {"x", "e"}, {"y"});
  model.output("y");
  return model;
}

Result<Net> import_net(const OnnxModel& model) {
  const std::string bytes = model.bytes();
  return Net::import_memory(bytes.data(), bytes.size());
}

}  // namespace

TEST_CASE("folding: an einsum of a few steps becomes a constant") {
  const Result<Net> net = import_net(einsum_of_constants("a,b,c->", 4, 3, false));
  REQUIRE(net.ok());
  CHECK(NetAccess::graph(*net).layers().size() == 1);
}

TEST_CASE(
    "folding: an einsum of 64 to the 7th steps over small constants is imported and planned") {
  for (const bool chain : {false, true}) {
    // Seven vectors, or the trace of a product of matrices.
    const Result<Net> net =
        import_net(chain ? einsum_of_constants("ab,bc,cd,de,ef,fg,ga->", 64, 7, true)
                         : einsum_of_constants("a,b,c,d,e,f,g->", 64, 7, false));
    REQUIRE(net.status().message() == "");
    CHECK(net->plan().status().message() == "");
  }
}

TEST_CASE("folding: a product of 5,000 cubed steps is imported and planned, but not computed") {
  // Its result is one number, and its operands are small beside the work.
  OnnxModel model;
  model.input("x", {1});
  model.node("ConstantOfShape", {"shape"}, {"w"});
  model.int64s("shape", {2}, {5000, 5000});
  model.node("MatMul", {"w", "w"}, {"p"});
  model.node("ReduceMax", {"p"}, {"m"}).integer("keepdims", 0);
  model.node("Add", {"x", "m"}, {"y"});
  model.output("y");
  const Result<Net> net = import_net(model);
  REQUIRE(net.status().message() == "");
  CHECK(NetAccess::graph(*net).layers().size() >= 2);
  const auto plan = net->plan();
  REQUIRE(plan.status().message() == "");
  CHECK((*plan)->describe().find("matmul") != std::string::npos);
}
