#include "core/graph/graph.h"

#include <catch2/catch.hpp>
#include <limits>

#include "core/graph/graph_key.h"
#include "core/graph/layer_type.h"

using namespace softneuro;
using Catch::Contains;

namespace {

Status infer_same(InferContext& context) {
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set_output(i, context.type(0), context.shape(0));
  return {};
}
Status infer_broadcast(InferContext& context) {
  SN_ASSIGN_OR_RETURN(DynamicShape shape, broadcast(context.shape(0), context.shape(1)));
  context.set_output(0, context.type(0), std::move(shape));
  return {};
}

LayerType make_type(std::string name, int inputs, Status (*infer)(InferContext&)) {
  LayerType type;
  type.name = std::move(name);
  type.doc = "for tests";
  type.inputs = {inputs, inputs};
  type.infer = infer;
  return type;
}

// Own layer types: these tests are about the graph alone.
struct World {
  LayerTypes types;
  Graph graph;

  World() {
    LayerType one = make_type("one", 1, infer_same);
    one.params = {{"axis", 0, "an axis"}};
    REQUIRE(types.add(one).ok());
    REQUIRE(types.add(make_type("two", 2, infer_broadcast)).ok());
    LayerType optional = make_type("optional", 3, infer_same);
    optional.inputs.min = 1;
    optional.outputs.max = 2;
    REQUIRE(types.add(optional).ok());
    LayerType list = make_type("list", 1, infer_same);
    list.inputs.max = -1;
    REQUIRE(types.add(list).ok());
    LayerType view = make_type("view", 1, infer_same);
    view.is_view = true;
    REQUIRE(types.add(view).ok());
    graph.name = "test";
  }

  TensorId tensor(std::string name, DynamicShape shape = {2, 3}) {
    TensorDef def;
    def.name = std::move(name);
    def.type = DataType::float32;
    def.shape = std::move(shape);
    return graph.add_tensor(std::move(def));
  }
  TensorId constant(std::string name, Shape shape = {3}) {
    return graph.add_constant(std::move(name), *Tensor::create(DataType::float32, shape));
  }
  Layer& layer(const char* type, std::string name, std::vector<TensorId> in,
               std::vector<TensorId> out) {
    return graph.add_layer(*types.find(type), std::move(name), std::move(in), std::move(out));
  }
  std::string verify() const {
    const Status status = graph.verify(types);
    CHECK((status.ok() || status.code() == StatusCode::invalid_model));
    return status.message();
  }
};

// x → a → t → b → y, with a constant c.
struct Chain : World {
  TensorId x = tensor("x"), t = tensor("t"), y = tensor("y"), c = constant("c");
  Chain() {
    graph.inputs = {x};
    graph.outputs = {y};
    layer("one", "a", {x}, {t});
    layer("two", "b", {t, c}, {y});
  }
};

}  // namespace

TEST_CASE("graph: names are unique and indexed") {
  World w;
  const TensorId a = w.tensor("a");
  const TensorId b = w.tensor("a");
  CHECK(w.graph.tensor(a).name == "a");
  CHECK(w.graph.tensor(b).name == "a_1");
  CHECK(w.graph.find_tensor("a_1") == b);
  CHECK(w.graph.find_tensor("z") == kNoTensor);
  CHECK(w.graph.unique_tensor_name("z") == "z");
  CHECK_FALSE(w.graph.tensor(w.tensor("")).name.empty());
  w.graph.rename_tensor(b, "z");
  CHECK(w.graph.find_tensor("z") == b);
  CHECK(w.graph.find_tensor("a_1") == kNoTensor);
  w.graph.rename_tensor(b, "a");
  CHECK(w.graph.tensor(b).name == "a_1");
  CHECK(w.graph.unique_layer_name("l") == "l");
  w.layer("one", "l", {a}, {b});
  CHECK(w.graph.unique_layer_name("l") == "l_1");
}

TEST_CASE("graph: many equal names stay cheap and unique") {
  World w;
  for (int i = 0; i < 20000; ++i) w.tensor("same");
  CHECK(w.verify().empty());
}

TEST_CASE("graph: a copy is independent") {
  Chain w;
  Graph copy = w.graph;
  copy.rename_tensor(w.t, "other");
  copy.layers()[0].name = "renamed";
  CHECK(w.graph.find_tensor("t") == w.t);
  CHECK(w.graph.find_layer("a") != nullptr);
  CHECK(copy.find_layer("a") == nullptr);
  CHECK(copy.tensor(w.c).constant.data() == w.graph.tensor(w.c).constant.data());
}

TEST_CASE("graph: producers, consumers") {
  Chain w;
  CHECK(w.graph.producers() == std::vector<std::int32_t>{-1, 0, 1, -1});
  CHECK(w.graph.consumers()[w.t] == std::vector<std::int32_t>{1});
  CHECK(w.graph.is_input(w.x));
  CHECK(w.graph.is_output(w.y));
  CHECK_FALSE(w.graph.is_output(w.t));
  CHECK(w.graph.consumers()[w.y].empty());
}

TEST_CASE("graph: a layer appears once per use") {
  World w;
  const TensorId x = w.tensor("x"), y = w.tensor("y");
  w.layer("two", "l", {x, x}, {y});
  CHECK(w.graph.consumers()[x] == std::vector<std::int32_t>{0, 0});
}

TEST_CASE("graph: sort is topological and stable") {
  World w;
  const TensorId x = w.tensor("x"), a = w.tensor("a"), b = w.tensor("b"), c = w.tensor("c"),
                 d = w.tensor("d");
  w.graph.inputs = {x};
  w.graph.outputs = {d};
  w.layer("two", "last", {b, c}, {d});
  w.layer("one", "first", {x}, {a});
  w.layer("one", "third", {a}, {c});
  w.layer("one", "second", {a}, {b});
  REQUIRE(w.graph.sort().ok());
  std::vector<std::string> names;
  for (const Layer& layer : w.graph.layers()) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"first", "third", "second", "last"});
  CHECK(w.verify().empty());
}

TEST_CASE("graph: sort names a layer on a cycle, not one behind it") {
  World w;
  const TensorId x = w.tensor("x"), a = w.tensor("a"), b = w.tensor("b"), y = w.tensor("y");
  w.graph.inputs = {x};
  w.graph.outputs = {y};
  w.layer("one", "behind", {b}, {y});
  w.layer("two", "p", {x, b}, {a});
  w.layer("one", "q", {a}, {b});
  const Status status = w.graph.sort();
  CHECK(status.code() == StatusCode::invalid_model);
  CHECK_THAT(status.message(), Contains("cycle through layer 'p'") || Contains("layer 'q'"));
  CHECK_THAT(w.verify(), Contains("cycle"));
}

TEST_CASE("graph: a layer that feeds itself is a cycle") {
  World w;
  const TensorId a = w.tensor("a");
  w.layer("one", "self", {a}, {a});
  CHECK_THAT(w.graph.sort().message(), Contains("cycle through layer 'self'"));
  CHECK_THAT(w.verify(), Contains("cycle through layer 'self'"));
}

TEST_CASE("graph: remove_layers and compact_tensors") {
  Chain w;
  const TensorId unused = w.tensor("unused");
  const TensorId z = w.tensor("z");
  w.layer("one", "extra", {w.t}, {z});
  w.graph.remove_layers({false, false, true});
  CHECK(w.graph.layers().size() == 2);
  CHECK(unused < w.graph.tensor_count());
  w.graph.compact_tensors();
  CHECK(w.graph.tensor_count() == 4);
  CHECK(w.graph.find_tensor("unused") == kNoTensor);
  CHECK(w.graph.find_tensor("z") == kNoTensor);
  CHECK(w.graph.tensor(w.graph.layers()[1].inputs[1]).is_constant());
  CHECK(w.graph.tensor(w.graph.outputs[0]).name == "y");
  CHECK(w.verify().empty());
}

TEST_CASE("graph: layer ids are fresh and survive sorting") {
  Chain w;
  CHECK(w.graph.layers()[0].id == 1);
  CHECK(w.graph.layers()[1].id == 2);
  CHECK(w.graph.next_layer_id() == 3);
}

TEST_CASE("graph: add_layer fills in parameters") {
  Chain w;
  CHECK(w.graph.layers()[0].params.has("axis"));
}

// --- verify ------------------------------------------------------------------------------------

TEST_CASE("verify: a good graph passes") {
  CHECK(Chain().verify().empty());
}

TEST_CASE("verify: tensors") {
  Chain w;
  TensorDef& t = w.graph.tensor(w.t);
  TensorDef& c = w.graph.tensor(w.c);
  SECTION("a name changed behind the index") {
    t.name = "x";
    CHECK_THAT(w.verify(), Contains("two tensors are called 'x'"));
    t.name = "fresh";
    CHECK_THAT(w.verify(), Contains("'fresh' is not in the index"));
    t.name.clear();
    CHECK_THAT(w.verify(), Contains("tensor 1 has no name"));
  }
  SECTION("data type out of range") {
    t.type = static_cast<DataType>(200);
    CHECK_THAT(w.verify(), Contains("tensor 't'") && Contains("data type number 200"));
  }
  SECTION("rank") {
    t.shape = DynamicShape(std::vector<Dim>(9, Dim(1)));
    CHECK_THAT(w.verify(), Contains("rank 9"));
  }
  SECTION("negative dimension") {
    t.shape = {Dim(-2)};
    CHECK_THAT(w.verify(), Contains("dimension -2"));
  }
  SECTION("overflow") {
    t.shape = {INT64_MAX / 2, 8};
    CHECK_THAT(w.verify(), Contains("too many elements"));
    t.shape = {INT64_MAX / 2};  // elements fit, bytes do not
    CHECK_THAT(w.verify(), Contains("too many elements"));
  }
  SECTION("constant of another type") {
    c.type = DataType::int64;
    CHECK_THAT(w.verify(), Contains("tensor 'c'") && Contains("declared as int64"));
  }
  SECTION("constant of another shape") {
    c.shape = {4};
    CHECK_THAT(w.verify(), Contains("declared with shape 4"));
    c.shape = {Dim("n")};
    CHECK_THAT(w.verify(), Contains("declared with shape n"));
    c.shape = DynamicShape();
    CHECK_THAT(w.verify(), Contains("declared with shape unknown"));
  }
  SECTION("constant in a layout") {
    c.shape = Shape{1, 8, 2, 2};
    c.constant = *Tensor::create(DataType::float32, Shape{1, 8, 2, 2}, default_allocator(),
                                 Layout::channels_last);
    CHECK_THAT(w.verify(), Contains("not plain"));
  }
}

TEST_CASE("verify: quantisation") {
  Chain w;
  TensorDef& t = w.graph.tensor(w.t);
  const auto message = [&](Quantization q) {
    t.quantization = std::move(q);
    return w.verify();
  };
  CHECK(message({true, -1, {0.5f}, {0}}).empty());
  CHECK(message({false, 1, {1, 2, 3}, {0, 255, 1}}).empty());
  CHECK_THAT(message({true, -1, {}, {}}), Contains("0 scales"));
  CHECK_THAT(message({true, -1, {1}, {0, 0}}), Contains("2 zero points"));
  CHECK_THAT(message({true, 2, {1}, {0}}), Contains("axis 2"));
  CHECK_THAT(message({true, -2, {1}, {0}}), Contains("axis -2"));
  CHECK_THAT(message({true, 1, {1, 2}, {0, 0}}), Contains("2 scales for axis 1"));
  CHECK_THAT(message({true, -1, {1, 2}, {0, 0}}), Contains("per tensor with 2"));
  CHECK_THAT(message({true, -1, {0}, {0}}), Contains("not a positive"));
  CHECK_THAT(message({true, -1, {-1}, {0}}), Contains("not a positive"));
  CHECK_THAT(message({true, -1, {std::numeric_limits<float>::quiet_NaN()}, {0}}),
             Contains("not a positive"));
  CHECK_THAT(message({true, -1, {1}, {128}}), Contains("zero point 128"));
  CHECK_THAT(message({false, -1, {1}, {-1}}), Contains("zero point -1"));
}

TEST_CASE("verify: graph inputs") {
  Chain w;
  w.graph.inputs = {99};
  CHECK_THAT(w.verify(), Contains("graph input 0: there is no tensor 99"));
  w.graph.inputs = {w.x, w.x};
  CHECK_THAT(w.verify(), Contains("'x' is listed twice"));
  w.graph.inputs = {w.x, w.c};
  CHECK_THAT(w.verify(), Contains("'c' is a constant"));
  w.graph.inputs = {w.x, w.t};
  CHECK_THAT(w.verify(), Contains("tensor 't' is a constant, a graph input, or made twice"));
  w.graph.inputs = {w.x};
  w.graph.tensor(w.x).type = DataType::undefined;
  CHECK_THAT(w.verify(), Contains("'x' has no data type"));
}

TEST_CASE("verify: graph outputs") {
  Chain w;
  const TensorId free_tensor = w.tensor("free");
  w.graph.outputs = {99};
  CHECK_THAT(w.verify(), Contains("graph output 0: there is no tensor 99"));
  w.graph.outputs = {w.y, w.y};
  CHECK_THAT(w.verify(), Contains("'y' is listed twice"));
  w.graph.outputs = {free_tensor};
  CHECK_THAT(w.verify(), Contains("'free' is not produced by any layer"));
  w.graph.outputs = {w.x, w.c};  // inputs and constants may be outputs
  CHECK(w.verify().empty());
}

TEST_CASE("verify: layers") {
  Chain w;
  Layer& a = w.graph.layers()[0];
  Layer& b = w.graph.layers()[1];
  SECTION("names") {
    b.name = "a";
    CHECK_THAT(w.verify(), Contains("two layers are called 'a'"));
    b.name.clear();
    CHECK_THAT(w.verify(), Contains("layer 1 has no name"));
  }
  SECTION("ids") {
    b.id = a.id;
    CHECK_THAT(w.verify(), Contains("layer 'b': id 1"));
    b.id = 3;
    CHECK_THAT(w.verify(), Contains("not below 3"));
    b.id = 0;
    CHECK_THAT(w.verify(), Contains("id 0"));
  }
  SECTION("type") {
    b.type = nullptr;
    CHECK_THAT(w.verify(), Contains("layer 'b': it has no type"));
    const LayerType stranger = make_type("one", 1, infer_same);
    b.type = &stranger;
    CHECK_THAT(w.verify(), Contains("type 'one' is unknown"));
  }
  SECTION("parameters") {
    a.params.set("wrong", std::int64_t{1});
    CHECK_THAT(w.verify(), Contains("layer 'a'") && Contains("no parameter 'wrong'"));
  }
  SECTION("too few and too many inputs") {
    b.inputs.pop_back();
    b.layer_inputs = 1;
    CHECK_THAT(w.verify(), Contains("layer 'b'") && Contains("does not take 1 inputs"));
    b.inputs = {w.t, w.c, w.c};
    b.layer_inputs = 3;
    CHECK_THAT(w.verify(), Contains("does not take 3 inputs"));
    b.layer_inputs = 4;
    CHECK_THAT(w.verify(), Contains("4 layer inputs, but 3"));
  }
  SECTION("missing and unknown inputs") {
    b.inputs[1] = kNoTensor;
    CHECK_THAT(w.verify(), Contains("layer 'b': input 1 is missing"));
    b.inputs[1] = 77;
    CHECK_THAT(w.verify(), Contains("input 1: there is no tensor 77"));
    b.inputs[1] = w.tensor("free");
    CHECK_THAT(w.verify(), Contains("input 1: tensor 'free' is not produced by any layer"));
  }
  SECTION("outputs") {
    b.outputs = {};
    CHECK_THAT(w.verify(), Contains("does not give 0 outputs"));
    b.outputs = {w.y, w.tensor("z")};
    CHECK_THAT(w.verify(), Contains("does not give 2 outputs"));
    b.outputs = {kNoTensor};
    CHECK_THAT(w.verify(), Contains("output 0 is missing"));
    b.outputs = {88};
    CHECK_THAT(w.verify(), Contains("output 0: there is no tensor 88"));
    for (const TensorId taken : {w.x, w.c, w.t}) {
      b.outputs = {taken};
      CHECK_THAT(w.verify(), Contains("made twice"));
    }
  }
}

TEST_CASE("verify: optional inputs and outputs") {
  World w;
  const TensorId x = w.tensor("x"), y = w.tensor("y"), z = w.tensor("z");
  w.graph.inputs = {x};
  w.graph.outputs = {y};
  Layer& layer = w.layer("optional", "l", {x, kNoTensor, x}, {y, kNoTensor});
  CHECK(w.verify().empty());
  layer.outputs = {y, z};
  CHECK(w.verify().empty());
  layer.inputs[0] = kNoTensor;
  CHECK_THAT(w.verify(), Contains("input 0 is missing"));
}

TEST_CASE("verify: a list of inputs has no gaps") {
  World w;
  const TensorId x = w.tensor("x"), y = w.tensor("y");
  w.graph.inputs = {x};
  w.graph.outputs = {y};
  Layer& layer = w.layer("list", "l", {x, x, x}, {y});
  CHECK(w.verify().empty());
  layer.inputs[1] = kNoTensor;
  CHECK_THAT(w.verify(), Contains("input 1 is missing"));
}

TEST_CASE("verify: post-ops") {
  Chain w;
  Layer& a = w.graph.layers()[0];
  PostOp relu;
  PostOp add;
  add.kind = PostOp::Kind::binary;
  add.input = 1;
  a.inputs.push_back(w.c);
  a.post_ops = {relu, add};
  CHECK(w.verify().empty());
  SECTION("an input of the layer itself") {
    a.post_ops[1].input = 0;
    CHECK_THAT(w.verify(), Contains("post-op 1: input 0"));
  }
  SECTION("out of range") {
    a.post_ops[1].input = 2;
    CHECK_THAT(w.verify(), Contains("post-op 1: input 2"));
  }
  SECTION("unused input") {
    a.post_ops.pop_back();
    CHECK_THAT(w.verify(), Contains("input 1 belongs to no post-op"));
  }
  SECTION("missing input") {
    a.inputs[1] = kNoTensor;
    CHECK_THAT(w.verify(), Contains("input 1 is missing"));
  }
  SECTION("unknown functions") {
    a.post_ops[0].unary = static_cast<UnaryOp>(250);
    CHECK_THAT(w.verify(), Contains("unary function 250"));
    a.post_ops[0] = relu;
    a.post_ops[1].binary = static_cast<BinaryOp>(250);
    CHECK_THAT(w.verify(), Contains("binary function 250"));
    a.post_ops[1] = add;
    a.post_ops[0].kind = static_cast<PostOp::Kind>(9);
    CHECK_THAT(w.verify(), Contains("kind 9"));
  }
  SECTION("functions that change the data type") {
    a.post_ops[0].unary = UnaryOp::is_nan;
    CHECK_THAT(w.verify(), Contains("'is_nan' changes the data type"));
    a.post_ops[0] = relu;
    a.post_ops[1].binary = BinaryOp::less;
    CHECK_THAT(w.verify(), Contains("'less' changes the data type"));
  }
  SECTION("input of another data type") {
    w.graph.tensor(w.t).type = DataType::float16;
    CHECK_THAT(w.verify(), Contains("its input is float32, but the output is float16"));
  }
  SECTION("on a view") {
    const TensorId v = w.tensor("v");
    w.layer("view", "view", {w.t}, {v}).post_ops = {relu};
    CHECK_THAT(w.verify(), Contains("'view' takes no post-ops"));
  }
}

TEST_CASE("verify: sub-graphs") {
  Chain inner;
  Chain w;
  w.graph.layers()[0].subgraphs = {std::make_shared<const Graph>(inner.graph)};
  // The inner graph's types are those of another world.
  CHECK_THAT(w.verify(), Contains("layer 'a': sub-graph 0: layer 'a': its type 'one' is unknown"));
  w.graph.layers()[0].subgraphs = {nullptr};
  CHECK_THAT(w.verify(), Contains("sub-graph 0 is missing"));

  w.graph.layers()[0].subgraphs.clear();
  Graph leaf = w.graph;
  leaf.outputs = {w.y, w.y};  // by position: may repeat
  auto nested = std::make_shared<const Graph>(leaf);
  for (int depth = 1; depth <= 9; ++depth) {
    w.graph.layers()[0].subgraphs = {nested};
    if (depth <= 8)
      CHECK(w.verify().empty());
    else
      CHECK_THAT(w.verify(), Contains("nested deeper than 8"));
    nested = std::make_shared<const Graph>(w.graph);
  }
}

// --- infer_shapes ------------------------------------------------------------------------------

TEST_CASE("infer_shapes fills in types and shapes") {
  Chain w;
  for (const TensorId id : {w.t, w.y}) {
    w.graph.tensor(id).type = DataType::undefined;
    w.graph.tensor(id).shape = DynamicShape();
  }
  w.graph.tensor(w.x).shape = {Dim("n"), 3};
  REQUIRE(w.graph.infer_shapes().ok());
  CHECK(w.graph.tensor(w.y).shape.str() == "nx3");
  CHECK(w.graph.tensor(w.y).type == DataType::float32);
}

TEST_CASE("infer_shapes names the layer that contradicts") {
  Chain w;
  w.graph.tensor(w.x).shape = {2, 4};
  const Status status = w.graph.infer_shapes();
  CHECK_FALSE(status.ok());
  CHECK_THAT(status.message(), Contains("layer 'b' (two)") && Contains("2x4"));
}

TEST_CASE("infer_shapes wants a topological order") {
  Chain w;
  std::swap(w.graph.layers()[0], w.graph.layers()[1]);
  CHECK(w.graph.infer_shapes().code() == StatusCode::internal);
}

TEST_CASE("infer_shapes checks that post-op inputs broadcast") {
  Chain w;
  Layer& a = w.graph.layers()[0];
  PostOp add;
  add.kind = PostOp::Kind::binary;
  add.input = 1;
  a.post_ops = {add};
  a.inputs.push_back(w.constant("good", {3}));
  CHECK(w.graph.infer_shapes().ok());
  a.inputs[1] = w.constant("larger", {4, 2, 3});
  CHECK_THAT(w.graph.infer_shapes().message(), Contains("layer 'a'") && Contains("broadcast"));
  a.inputs[1] = w.constant("other", {2});
  CHECK_FALSE(w.graph.infer_shapes().ok());
  w.graph.tensor(w.x).shape = {1, 3};
  a.inputs[1] = w.constant("wider", {2, 3});
  CHECK_FALSE(w.graph.infer_shapes().ok());
}

TEST_CASE("post-op strings") {
  PostOp op;
  CHECK(op.str() == "relu");
  op.unary = UnaryOp::clip;
  op.beta = 6;
  CHECK(op.str() == "clip(0,6)");
  op.unary = UnaryOp::leaky_relu;
  op.alpha = 0.25f;
  CHECK(op.str() == "leaky_relu(0.25)");
  op.kind = PostOp::Kind::binary;
  op.input = 3;
  CHECK(op.str() == "add(in3)");
  op.binary = BinaryOp::sub;
  op.swapped = true;
  CHECK(op.str() == "sub(in3,swapped)");
}

TEST_CASE("graph keys: the content key tells weights apart that differ by one number anywhere") {
  const auto graph = [](std::size_t changed) {
    World w;
    Tensor weights = Tensor::create(DataType::float32, Shape{8192}).value();
    std::ranges::fill(weights.mutable_values<float>(), 1.0f);
    weights.mutable_values<float>()[changed] = 2;
    w.graph.add_constant("weights", std::move(weights));
    return std::move(w.graph);
  };
  CHECK(content_key(graph(0)) == content_key(graph(0)));
  CHECK(content_key(graph(0)) != content_key(graph(1)));
  CHECK(content_key(graph(4000)) != content_key(graph(4001)));
  // What times depend on is told from the borders of constants.
  CHECK(graph_key(graph(4000)) == graph_key(graph(4001)));
}
