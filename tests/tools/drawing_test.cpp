// The picture of a tuned net says what runs where: colours by schema, adapt layers, the legend.
#include "drawing.h"

#include <catch2/catch.hpp>

#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"

using namespace softneuro;
using Catch::Matchers::Contains;

namespace {

// x → first (unary) → adapt → second (unary) → y.
struct Chain {
  Graph graph;
  LayerId first, adapt, second;

  Chain() {
    const auto tensor = [&](const char* name) {
      return graph.add_tensor({name, DataType::float32, Shape{1, 4, 2, 2}, {}, {}});
    };
    const TensorId x = tensor("x"), a = tensor("a"), b = tensor("b"), y = tensor("y \"quoted\"");
    graph.inputs = {x};
    graph.outputs = {y};
    first = add("unary", "first", x, a);
    adapt = add("adapt", "adapt a", a, b);
    second = add("unary", "second", b, y);
  }
  LayerId add(const char* type, const char* name, TensorId from, TensorId to) {
    const LayerType* found = builtin_layer_types().find(type);
    REQUIRE(found != nullptr);
    return graph.add_layer(*found, name, {from}, {to}).id;
  }
};

// The line of the DOT text that defines the box with this text in it.
std::string box(const std::string& dot, const std::string& text) {
  const std::size_t place = dot.find(text);
  REQUIRE(place != std::string::npos);
  const std::size_t begin = dot.rfind("\n  l", place), end = dot.find("];\n", place);
  return dot.substr(begin, end - begin);
}

std::string colour(const std::string& box) {
  const std::string key = "fillcolor=\"";
  const std::size_t place = box.find(key);
  REQUIRE(place != std::string::npos);
  return box.substr(place + key.size(), 7);
}

}  // namespace

TEST_CASE("drawing: notes colour layers by schema and tell routine, parameters and time") {
  Chain chain;
  tool::DrawingNotes notes;
  notes.layers[chain.first] = {"cpu:float32:nhwc/direct", "tile=4", "", 250};
  notes.layers[chain.adapt] = {"cpu/layout", "", "", 2.5};
  notes.layers[chain.second] = {"cpu:qint8:nhwc/direct", "", "", 1500};
  notes.tensors[1] = "1x4x2x2\nfloat32:nhwc";
  notes.title = "net \"a\"";
  const std::string dot = tool::to_dot(chain.graph, notes);

  CHECK_THAT(box(dot, "first"), Contains("cpu:float32:nhwc/direct (tile=4)") && Contains("250.0"));
  CHECK_THAT(box(dot, "second"), Contains("1.50 ms"));
  CHECK(colour(box(dot, "first")) != colour(box(dot, "second")));
  CHECK_THAT(box(dot, "cpu/layout"), Contains("dashed"));
  CHECK_THAT(dot, Contains("1x4x2x2\nfloat32:nhwc"));
  CHECK_THAT(dot, Contains("\"net \\\"a\\\"\""));
  // The legend: one row per schema, adapts apart, in the colours of the boxes.
  CHECK_THAT(dot, Contains(colour(box(dot, "second")) + "\">cpu:qint8:nhwc</td>"));
  CHECK_THAT(dot, Contains(">adapt</td>"));
}

TEST_CASE("drawing: without notes colours stand for kinds, which a legend names") {
  Chain chain;
  const std::string dot = tool::to_dot(chain.graph);
  CHECK(colour(box(dot, "first")) == colour(box(dot, "second")));
  CHECK_THAT(
      dot, Contains(colour(box(dot, "first")) + "\">functions</td>") && Contains("2 layers</td>"));
  CHECK_THAT(dot, Contains("y \\\"quoted\\\""));
}

TEST_CASE("drawing: a layer that no step of the plan computes is pale") {
  Chain chain;
  tool::DrawingNotes notes;
  notes.layers[chain.first] = {"cpu/direct", "", "", 0};
  const std::string dot = tool::to_dot(chain.graph, notes);
  CHECK(colour(box(dot, "second")) == "#ffffff");
  CHECK(colour(box(dot, "first")) != "#ffffff");
}

TEST_CASE("drawing: names are text, whatever bytes they have") {
  Chain chain;
  chain.graph.rename_tensor(chain.graph.inputs[0], "\x1b[31m&#27;<b>\xff\\N");
  const std::string dot = tool::to_dot(chain.graph, {});
  CHECK_THAT(dot, Contains("\"\\\\x1b[31m&amp;#27;<b>\\\\xff\\\\N\n"));
  CHECK_THAT(dot, !Contains("\x1b") && !Contains("\xff"));
}
