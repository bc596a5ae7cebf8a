// contract_einsums.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// One einsum of inputs with the given shapes.
Graph einsum_of(const std::string& equation, const std::vector<DynamicShape>& shapes,
                DataType type = DataType::float32) {
  GraphBuilder b;
  std::vector<TensorId> inputs;
  for (const DynamicShape& shape : shapes)
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), shape, type));
  return b.finish({b.layer("einsum", inputs, {{"equation", equation}})});
}

std::vector<std::string> equations(const Graph& graph) {
  std::vector<std::string> result;
  for (const Layer& layer : graph.layers())
    if (layer.type->name == "einsum") result.emplace_back(layer.params.text("equation"));
  return result;
}

std::vector<std::string> contracted(const std::string& equation,
                                    const std::vector<DynamicShape>& shapes) {
  return equations(after_passes(einsum_of(equation, shapes), {"contract_einsums"}));
}

using Texts = std::vector<std::string>;

// An equation of up to six operands over up to seven indices, some of which stand twice in one
// operand or have one element there.
Graph random_einsum(std::mt19937& random) {
  const auto up_to = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  std::vector<std::int64_t> sizes(1 + random() % 7);
  for (std::int64_t& size : sizes) size = 1 + up_to(3);
  std::string equation;
  std::vector<DynamicShape> shapes;
  std::set<char> seen;
  for (std::int64_t operand = 1 + up_to(6); operand > 0; --operand) {
    std::vector<Dim> dims;
    for (std::int64_t axis = up_to(4); axis > 0; --axis) {
      const std::size_t label = random() % sizes.size();
      equation += static_cast<char>('a' + label);
      seen.insert(equation.back());
      dims.emplace_back(up_to(5) == 0 ? 1 : sizes[label]);
    }
    shapes.emplace_back(std::move(dims));
    if (operand > 1) equation += ',';
  }
  equation += "->";
  for (const char label : seen)
    if (up_to(3) == 0) equation += label;
  return einsum_of(equation, shapes);
}

}  // namespace

TEST_CASE(
    "contract_einsums multiplies two operands at a time, those with the smallest product first") {
  const Graph graph =
      after_passes(einsum_of("ij,jk,kl->il", {{50, 2}, {2, 50}, {50, 3}}), {"contract_einsums"});
  CHECK(equations(graph) == Texts{"ab,bc->ca", "ab,cb->ac"});
  CHECK(graph.layers()[0].inputs == std::vector<TensorId>{graph.inputs[1], graph.inputs[2]});
}

TEST_CASE("contract_einsums sums an index that one operand has alone before it multiplies") {
  CHECK(contracted("a,b,c->", {{5}, {4}, {3}}) == Texts{"a->", "a->", "a->", ",->", ",->"});
  CHECK(contracted("ij,jk->k", {{5, 4}, {4, 3}}) == Texts{"ab->b", "ab,a->b"});
}

TEST_CASE("contract_einsums leaves alone what the definition computes in fewer steps") {
  CHECK(contracted("i,i,i->i", {{5}, {5}, {5}}) == Texts{"i,i,i->i"});
  CHECK(contracted("ij,jk->ik", {{5, 4}, {4, 3}}) == Texts{"ij,jk->ik"});
  CHECK(contracted("ij->i", {{5, 4}}) == Texts{"ij->i"});
}

TEST_CASE("contract_einsums contracts operands whose sizes are not known yet") {
  const Graph graph =
      after_passes(einsum_of("...ij,jk,kl->...il", {{Dim("n"), Dim("m"), 3}, {3, 4}, {4, 2}}),
                   {"contract_einsums"}, {{"n", 2}, {"m", 5}});
  CHECK(equations(graph).size() == 2);
}

TEST_CASE("contract_einsums keeps float32 between the products of 16-bit operands") {
  // 300 · 300 is no float16.
  GraphBuilder b;
  std::vector<TensorId> inputs = {b.input("x", {3, 4}, DataType::float16)};
  for (const double value : {300.0, 0.001})
    inputs.push_back(b.reals({4, 4}, std::vector<double>(16, value), DataType::float16));
  inputs.push_back(b.reals({4, 4}, std::vector<double>(16, 300), DataType::float16));
  const Graph before =
      b.finish({b.layer("einsum", inputs, {{"equation", std::string("ab,bc,cd,de->ae")}})});
  const Graph after = after_passes(before, {"contract_einsums"});
  CHECK(equations(after).size() == 3);
  CHECK(after.tensor(after.outputs[0]).type == DataType::float16);
}

TEST_CASE("contract_einsums keeps the values of random equations") {
  std::mt19937 random(7);
  std::size_t changed = 0;
  for (int i = 0; i < 300; ++i) {
    const Graph graph = random_einsum(random);
    CAPTURE(i, equations(graph));
    changed += after_passes(graph, {"contract_einsums"}).layers().size() > 1 ? 1 : 0;
  }
  CHECK(changed > 50);
}

TEST_CASE("contract_einsums makes an einsum of eight operands of 64 elements one of short layers") {
  std::string equation;
  std::vector<DynamicShape> shapes(8, {64});
  for (char label = 'a'; label < 'i'; ++label) equation += std::string(label > 'a', ',') + label;
  Graph graph = einsum_of(equation + "->", shapes);
  REQUIRE(run_passes(graph, builtin_registry()).ok());
  for (const Layer& layer : graph.layers()) CHECK(layer.inputs.size() <= 2);
  const std::vector<Tensor> inputs = random_inputs(graph, {}, 1);
  CHECK(evaluate_graph(graph, inputs).size() == 1);
}
