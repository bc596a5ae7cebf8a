// NaN propagates (session.h), through what a routine does behind its sums as well: wherever naive
// has NaN, every routine has, whatever activation or operand is fused. Winograd may have more: a
// tile shares its inputs.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/base/element.h"
#include "core/routine/format.h"
#include "numeric/check_routine.h"

namespace softneuro::test {
namespace {

// Layers that fusion puts post-ops behind, each in a few shapes.
void add_layers(ProblemSet& set) {
  set.add("conv2")
      .input({2, 16, 7, 9})
      .constant({32, 16, 3, 3})
      .constant({32})
      .param("pads", {1, 1, 1, 1});
  set.add("conv2").input({1, 32, 5, 6}).constant({16, 32, 1, 1}).constant({16});
  set.add("conv2").input({1, 8, 5, 6}).constant({24, 8, 1, 1}).no_input();
  set.add("conv2")
      .input({1, 3, 12, 12})
      .constant({16, 3, 3, 3})
      .constant({16})
      .param("strides", {2, 2});
  set.add("conv2").input({1, 32, 8, 8}).constant({32, 1, 3, 3}).constant({32}).param("group", 32);
  set.add("conv2").input({1, 32, 8, 8}).constant({32, 4, 3, 3}).constant({32}).param("group", 8);
  set.add("conv_transpose2").input({1, 16, 5, 5}).constant({16, 16, 3, 3}).constant({16});
  set.add("dense").input({5, 48}).constant({48, 20}).constant({20});
  set.add("dense").input({1, 64}).constant({64, 33}).constant({33});
  set.add("dense").input({7, 32}).constant({32, 32}).no_input();
  set.add("matmul").input({2, 5, 16}).input({2, 16, 12});
  set.add("matmul").input({6, 24}).constant({24, 16});
  set.add("batch_norm")
      .input({1, 16, 4, 5})
      .constant({16})
      .constant({16})
      .constant({16})
      .constant({16}, uniform(0.5, 2));
  set.add("avg_pool2").input({1, 16, 6, 6}).param("kernel", {2, 2}).param("strides", {2, 2});
  set.add("max_pool2").input({1, 16, 6, 6}).param("kernel", {2, 2}).param("strides", {2, 2});
  set.add("binary").input({1, 16, 4, 5}).input({1, 16, 4, 5}).param("op", "add");
  set.add("unary").input({1, 16, 4, 5}).param("op", "tanh");
  set.add("softmax").input({1, 16, 4, 5}).param("axis", 1);
  set.add("softmax").input({4, 33}).param("log", 1);
  set.add("reduce").input({2, 16, 4, 5}).value({2, 3}).param("op", "mean");
  set.add("reduce").input({12, 40}).value({1}).param("op", "max");
  set.add("resize")
      .input({1, 16, 3, 4})
      .no_input()
      .no_input()
      .value({1, 16, 6, 8})
      .param("mode", "linear");
  set.add("einsum").param("equation", "bij,bjk->bik").input({2, 5, 16}).input({2, 16, 12});
  for (const char* const op : {"sub", "mul", "div", "max", "min"})
    set.add("binary").input({1, 16, 4, 5}).input({16, 1, 1}).param("op", op);
  for (const char* const op :
       {"relu", "leaky_relu", "elu", "sigmoid", "softplus", "silu", "gelu", "gelu_tanh", "mish",
        "hard_swish", "abs", "square", "sqrt", "exp", "log", "round", "floor", "neg"})
    set.add("unary")
        .input({1, 16, 3, 3}, uniform(0.1, 2))
        .param("op", op)
        .param("alpha", ParamValue(1.0 / 6))
        .param("beta", ParamValue(0.5));
}

// Chains of post-ops, as fusion makes them.
using Chain = void (*)(Case&, const Shape& output);
const std::pair<const char*, Chain> kChains[] = {
    {"nothing", [](Case&, const Shape&) {}},
    {"relu", [](Case& c, const Shape&) { c.post_op(UnaryOp::relu); }},
    {"leaky_relu", [](Case& c, const Shape&) { c.post_op(UnaryOp::leaky_relu, 0.1f); }},
    {"elu", [](Case& c, const Shape&) { c.post_op(UnaryOp::elu, 1); }},
    {"sigmoid", [](Case& c, const Shape&) { c.post_op(UnaryOp::sigmoid); }},
    {"tanh", [](Case& c, const Shape&) { c.post_op(UnaryOp::tanh); }},
    {"softplus", [](Case& c, const Shape&) { c.post_op(UnaryOp::softplus); }},
    {"silu", [](Case& c, const Shape&) { c.post_op(UnaryOp::silu, 1); }},
    {"gelu", [](Case& c, const Shape&) { c.post_op(UnaryOp::gelu); }},
    {"gelu_tanh", [](Case& c, const Shape&) { c.post_op(UnaryOp::gelu_tanh); }},
    {"mish", [](Case& c, const Shape&) { c.post_op(UnaryOp::mish); }},
    {"hard_sigmoid", [](Case& c, const Shape&) { c.post_op(UnaryOp::hard_sigmoid, 0.2f, 0.5f); }},
    {"hard_swish", [](Case& c, const Shape&) { c.post_op(UnaryOp::hard_swish, 1.0f / 6, 0.5f); }},
    {"clip", [](Case& c, const Shape&) { c.post_op(UnaryOp::clip, 0, 6); }},
    {"abs", [](Case& c, const Shape&) { c.post_op(UnaryOp::abs); }},
    {"square", [](Case& c, const Shape&) { c.post_op(UnaryOp::square); }},
    {"linear", [](Case& c, const Shape&) { c.post_op(UnaryOp::linear, 2, 1); }},
    {"add, relu",
     [](Case& c, const Shape& y) { c.post_op(BinaryOp::add, y).post_op(UnaryOp::relu); }},
    {"mul, clip",
     [](Case& c, const Shape& y) { c.post_op(BinaryOp::mul, y).post_op(UnaryOp::clip, -1, 1); }},
    {"relu, add",
     [](Case& c, const Shape& y) { c.post_op(UnaryOp::relu).post_op(BinaryOp::add, y); }},
};

// A few of its elements, far from each other.
void put_nan(Tensor& tensor) {
  const TensorView view = {tensor.data_type(), tensor.layout(), tensor.shape(),
                           tensor.mutable_data()};
  const std::int64_t count = tensor.elements();
  for (const std::int64_t i : {std::int64_t{0}, count / 2 + 1, count - 1})
    store(view, i, std::numeric_limits<double>::quiet_NaN());
}

// Elements that are NaN in `expected` alone. `any`: whether it has any.
std::int64_t lost(const Tensor& expected, const Tensor& actual, bool& any) {
  const TensorView e = view_of(expected), a = view_of(actual);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (!std::isnan(load(e, i))) continue;
    any = true;
    count += !std::isnan(load(a, i));
  }
  return count;
}

// Every routine on one problem, in its own formats and with all of its parameters.
int check_nan(const Case& description) {
  const Registry& registry = all_routines();
  Result<PreparedCase> made = prepare(registry, description, test_seed());
  INFO(made.status().message());
  REQUIRE(made.ok());
  PreparedCase& prepared = *made;
  put_nan(prepared.inputs[0]);
  const Routine* naive = registry.find(description.layer_type, "cpu/naive");
  REQUIRE(naive != nullptr);
  const RunResult expected = run_routine(*naive, prepared, test_pool(1), {});
  REQUIRE(expected.status.ok());
  int checked = 0;
  for (const Routine* routine : registry.routines(description.layer_type)) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    if (descriptor.type == DataType::qint8) continue;  // integers know no NaN
    const auto formatted = in_format(prepared, descriptor.type, descriptor.layout);
    if (!formatted) continue;
    const auto implementation = formatted->implement(*routine);
    if (!implementation.ok()) continue;
    for (const RoutineParams& params : (*implementation)->param_space().list(32)) {
      INFO(descriptor.str() << ' ' << params.str() << ": " << formatted->problem.str());
      const RunResult result = run_routine(*routine, *formatted, test_pool(1), params);
      CHECK(result.status.ok());
      if (!result.status.ok()) continue;
      const Tensor actual =
          convert_format(result.outputs[0], DataType::float32, Layout::plain).value();
      bool any = false;
      CHECK(lost(expected.outputs[0], actual, any) == 0);
      CHECK(any);  // else the problem says nothing
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("numeric: NaN propagates through every routine and what is fused into it", "[numeric]") {
  ProblemSet set;
  add_layers(set);
  int checked = 0;
  for (const Case& layer : set.cases()) {
    const auto made = prepare(all_routines(), layer, test_seed());
    INFO(made.status().message());
    REQUIRE(made.ok());
    for (const auto& [name, chain] : kChains) {
      INFO("post-ops: " << name);
      Case with_chain = layer;
      chain(with_chain, made->problem.outputs[0].shape);
      checked += check_nan(with_chain);
    }
  }
  CHECK(checked > 1000);
}

}  // namespace softneuro::test
