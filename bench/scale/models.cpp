#include "scale/models.h"

#include <fmt/format.h>

#include <utility>

#include "import/onnx_model.h"

namespace softneuro::scale {
namespace {

using test::OnnxModel;

std::string inner(int i) {
  return fmt::format("t{}", i);
}

// `add(i, from, to)` adds node i, which turns the tensor `from` into `to`.
template <class Add>
void chain(OnnxModel& model, int nodes, Add add) {
  std::string from = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string to = i + 1 == nodes ? "y" : inner(i);
    add(i, from, to);
    from = to;
  }
  model.output("y");
}

void constant(OnnxModel& model, const std::string& name, float first) {
  model.floats(name, {8}, {first, 1, -2, 3, -4, 5, -6, 7});
}

// Nodes of these operators in turns.
void unary_chain(OnnxModel& model, int nodes, std::vector<std::string> operators) {
  chain(model, nodes, [&](int i, const std::string& from, const std::string& to) {
    model.node(operators[static_cast<std::size_t>(i) % operators.size()], {from}, {to});
  });
}

void one_constant(OnnxModel& model, int nodes) {
  constant(model, "c", 0.5f);
  chain(model, nodes, [&](int, const std::string& from, const std::string& to) {
    model.node("Add", {from, "c"}, {to});
  });
}

void add_and_relu(OnnxModel& model, int nodes) {
  constant(model, "c", 0.5f);
  chain(model, nodes, [&](int i, const std::string& from, const std::string& to) {
    if (i % 2 == 0)
      model.node("Add", {from, "c"}, {to});
    else
      model.node("Relu", {from}, {to});
  });
}

void scalars(OnnxModel& model, int nodes) {
  model.floats("c", {}, {0.5f});
  chain(model, nodes, [&](int, const std::string& from, const std::string& to) {
    model.node("Add", {from, "c"}, {to});
  });
}

void many_constants(OnnxModel& model, int nodes, bool equal) {
  for (int i = 0; i < nodes; ++i)
    constant(model, fmt::format("c{}", i), equal ? 0.5f : static_cast<float>(i));
  chain(model, nodes, [&](int i, const std::string& from, const std::string& to) {
    model.node("Add", {from, fmt::format("c{}", i)}, {to});
  });
}

void reshapes(OnnxModel& model, int nodes, bool with_work) {
  model.int64s("s0", {2}, {2, 4});
  model.int64s("s1", {2}, {4, 2});
  chain(model, nodes, [&](int i, const std::string& from, const std::string& to) {
    if (with_work && i % 2 == 0)
      model.node("Sin", {from}, {to});
    else
      model.node("Reshape", {from, i / 2 % 2 == 0 ? "s0" : "s1"}, {to});
  });
}

void transposes(OnnxModel& model, int nodes) {
  chain(model, nodes, [&](int, const std::string& from, const std::string& to) {
    model.node("Transpose", {from}, {to}).integers("perm", {1, 0});
  });
}

void casts(OnnxModel& model, int nodes) {
  constexpr int kOnnxDouble = 11;
  chain(model, nodes, [&](int i, const std::string& from, const std::string& to) {
    model.node("Cast", {from}, {to}).integer("to", i % 2 == 0 ? kOnnxDouble : test::kOnnxFloat);
  });
}

// y = y + sin(y), again and again.
void residuals(OnnxModel& model, int nodes) {
  std::string sum = "x";
  chain(model, nodes / 2 * 2, [&](int i, const std::string& from, const std::string& to) {
    if (i % 2 == 0) {
      model.node("Sin", {from}, {to});
    } else {
      model.node("Add", {from, sum}, {to});
      sum = to;
    }
  });
}

void products(OnnxModel& model, int nodes) {
  onnx::TensorProto& weights = model.initializer("w", {8, 8});
  for (int i = 0; i < 64; ++i) weights.add_float_data(i % 9 == 0 ? 1.0f : 0.0f);
  chain(model, nodes, [&](int, const std::string& from, const std::string& to) {
    model.node("MatMul", {from, "w"}, {to});
  });
}

// Constants only: x is added to the last.
void constant_chain(OnnxModel& model, int nodes) {
  constant(model, "c", 0.5f);
  for (int i = 0; i + 1 < nodes; ++i) model.node("Sin", {i == 0 ? "c" : inner(i - 1)}, {inner(i)});
  model.node("Add", {"x", inner(nodes - 2)}, {"y"});
  model.output("y");
}

// Shape, Reshape to that, Sin.
void shapes(OnnxModel& model, int nodes) {
  chain(model, nodes / 3, [&](int i, const std::string& from, const std::string& to) {
    model.node("Shape", {from}, {fmt::format("s{}", i)});
    model.node("Reshape", {from, fmt::format("s{}", i)}, {fmt::format("r{}", i)});
    model.node("Sin", {fmt::format("r{}", i)}, {to});
  });
}

// One node each between x and an output of its own, or all of them into one Concat.
void fan(OnnxModel& model, int nodes, const std::string& op, bool with_constants, bool joined) {
  if (with_constants)
    for (int i = 0; i < nodes; ++i) constant(model, fmt::format("c{}", i), static_cast<float>(i));
  for (int i = 0; i < nodes; ++i) {
    if (with_constants)
      model.node(op, {"x", fmt::format("c{}", i)}, {inner(i)});
    else
      model.node(op, {"x"}, {inner(i)});
    if (!joined) model.output(inner(i));
  }
  if (!joined) return;
  test::OnnxNode join = model.node("Concat", {}, {"y"}).integer("axis", 0);
  for (int i = 0; i < nodes; ++i) join.proto().add_input(inner(i));
  model.output("y");
}

using Build = void (*)(OnnxModel& model, int nodes);
constexpr std::pair<const char*, Build> kModels[] = {
    {"add", one_constant},
    {"relu", [](OnnxModel& m, int n) { unary_chain(m, n, {"Relu"}); }},
    {"add_relu", add_and_relu},
    {"neg_relu",
     [](OnnxModel& m, int n) {
       unary_chain(m, n, {"Neg", "Relu"});
     }},
    {"sin", [](OnnxModel& m, int n) { unary_chain(m, n, {"Sin"}); }},
    {"identity", [](OnnxModel& m, int n) { unary_chain(m, n, {"Identity"}); }},
    {"scalars", scalars},
    {"constants", [](OnnxModel& m, int n) { many_constants(m, n, false); }},
    {"equal_constants", [](OnnxModel& m, int n) { many_constants(m, n, true); }},
    {"reshape", [](OnnxModel& m, int n) { reshapes(m, n, false); }},
    {"reshape_sin", [](OnnxModel& m, int n) { reshapes(m, n, true); }},
    {"transpose", transposes},
    {"cast", casts},
    {"residual", residuals},
    {"matmul", products},
    {"constant_chain", constant_chain},
    {"shape", shapes},
    {"fan_in", [](OnnxModel& m, int n) { fan(m, n, "Add", true, true); }},
    {"outputs", [](OnnxModel& m, int n) { fan(m, n, "Add", true, false); }},
    {"equal_layers", [](OnnxModel& m, int n) { fan(m, n, "Sin", false, true); }},
    {"equal_outputs", [](OnnxModel& m, int n) { fan(m, n, "Sin", false, false); }},
    {"copied_outputs", [](OnnxModel& m, int n) { fan(m, n, "Identity", false, false); }},
};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, build] : kModels) names.emplace_back(name);
  return names;
}

std::string make_model(const std::string& name, int nodes) {
  for (const auto& [known, build] : kModels) {
    if (name != known) continue;
    OnnxModel model;
    model.input("x", {1, 8});
    build(model, nodes);
    return model.bytes();
  }
  return {};
}

}  // namespace softneuro::scale
