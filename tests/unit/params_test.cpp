#include "core/graph/params.h"

#include <catch2/catch.hpp>

#include "core/graph/layer_type.h"

using namespace softneuro;

TEST_CASE("params: set, replace, erase, find") {
  Params params;
  params.set("strides", std::vector<std::int64_t>{2, 1});
  params.set("axis", std::int64_t{1});
  params.set("mode", std::string("linear"));
  CHECK(params.integer("axis") == 1);
  params.set("axis", std::int64_t{-1});
  CHECK(params.integer("axis") == -1);
  CHECK(params.integers("strides").size() == 2);
  CHECK(params.text("mode") == "linear");
  CHECK(params.entries().size() == 3);
  CHECK(params.entries()[0].name == "axis");  // sorted
  params.erase("axis");
  params.erase("nothing");
  CHECK_FALSE(params.has("axis"));
  CHECK(params.find("mode") != nullptr);
}

TEST_CASE("params: absent or of another kind gives the fallback") {
  Params params;
  params.set("axis", std::int64_t{1});
  CHECK(params.integer("absent", 7) == 7);
  CHECK(params.real("axis", 0.5) == 0.5);
  CHECK(params.text("axis", "x") == "x");
  CHECK(params.integers("axis").empty());
  CHECK(params.reals("axis").empty());
  CHECK(params.texts("axis").empty());
}

TEST_CASE("params: canonical string") {
  Params params;
  params.set("strides", std::vector<std::int64_t>{2, -1});
  params.set("axis", std::int64_t{1});
  params.set("epsilon", 1e-5);
  params.set("pads", std::vector<std::int64_t>{});
  params.set("alphas", std::vector<double>{0.5, 2});
  CHECK(params.str() == "alphas=0.5x2,axis=1,epsilon=1e-05,pads=,strides=2x-1");
  Params texts;
  texts.set("activations", std::vector<std::string>{"tanh", "relu"});
  texts.set("equation", std::string("ij,jk->ik"));
  CHECK(texts.str() == "activations=tanhxrelu,equation=\"ij,jk->ik\"");
  Params forged;
  forged.set("a", std::string("1,b=\"2"));
  CHECK(forged.str() == "a=\"1,b=\\\"2\"");
  CHECK(Params().str().empty());
}

namespace {

Status infer_nothing(InferContext&) {
  return {};
}

LayerType declared() {
  LayerType type;
  type.name = "pool";
  type.doc = "for tests";
  type.params = {
      {"kernel", std::vector<std::int64_t>{}, "window", true},
      {"axis", -1, "axis"},
      {"epsilon", 1e-5, "added"},
      {"mode", "max", "what"},
  };
  type.infer = infer_nothing;
  return type;
}

}  // namespace

TEST_CASE("check_params fills in fallbacks") {
  Params params;
  params.set("kernel", std::vector<std::int64_t>{3});
  params.set("axis", std::int64_t{2});
  REQUIRE(declared().check_params(params).ok());
  CHECK(params.str() == "axis=2,epsilon=1e-05,kernel=3,mode=max");
}

TEST_CASE("check_params refuses what is wrong and says what") {
  const auto message_of = [](const Params& given) {
    Params params = given;
    const Status status = declared().check_params(params);
    CHECK(status.code() == StatusCode::invalid_model);
    return status.message();
  };
  using Catch::Contains;
  CHECK_THAT(message_of(Params()), Contains("needs the parameter 'kernel'"));
  Params unknown;
  unknown.set("kernal", std::vector<std::int64_t>{3});
  CHECK_THAT(message_of(unknown), Contains("no parameter 'kernal'") && Contains("epsilon"));
  Params kind;
  kind.set("kernel", std::int64_t{3});
  CHECK_THAT(message_of(kind), Contains("must be integers, but is integer"));
}

TEST_CASE("layer types: add and find") {
  LayerTypes types;
  LayerType a = declared();
  a.name = "b";
  REQUIRE(types.add(a).ok());
  const LayerType* b = types.find("b");
  a.name = "a";
  REQUIRE(types.add(a).ok());
  CHECK(types.find("b") == b);
  CHECK(types.find("c") == nullptr);
  REQUIRE(types.all().size() == 2);
  CHECK(types.all()[0]->name == "a");
  CHECK_FALSE(types.add(a).ok());
}

TEST_CASE("layer types: a wrong declaration is refused") {
  LayerTypes types;
  const auto refused = [&](auto&& change) {
    LayerType type = declared();
    change(type);
    return !types.add(std::move(type)).ok();
  };
  CHECK(refused([](LayerType& t) { t.name.clear(); }));
  CHECK(refused([](LayerType& t) { t.doc.clear(); }));
  CHECK(refused([](LayerType& t) { t.infer = nullptr; }));
  CHECK(refused([](LayerType& t) { t.inputs.min = 2; }));
  CHECK(refused([](LayerType& t) { t.outputs.max = 0; }));
  CHECK(refused([](LayerType& t) { t.params[1].name = "kernel"; }));
  CHECK(types.all().empty());
}

TEST_CASE("normalize_axis") {
  CHECK(*normalize_axis(-1, 4) == 3);
  CHECK(*normalize_axis(0, 4) == 0);
  CHECK(*normalize_axis(3, 4) == 3);
  CHECK(*normalize_axis(-4, 4) == 0);
  CHECK_FALSE(normalize_axis(4, 4).ok());
  CHECK_FALSE(normalize_axis(-5, 4).ok());
  CHECK_FALSE(normalize_axis(0, 0).ok());
  CHECK_FALSE(normalize_axis(INT64_MIN, 4).ok());
}

TEST_CASE("broadcast of known shapes") {
  CHECK(*broadcast(Shape{2, 1, 4}, Shape{3, 1}) == Shape{2, 3, 4});
  CHECK(*broadcast(Shape{}, Shape{5}) == Shape{5});
  CHECK(*broadcast(Shape{0}, Shape{1}) == Shape{0});
  CHECK_FALSE(broadcast(Shape{2}, Shape{3}).ok());
  CHECK_FALSE(broadcast(Shape{0}, Shape{3}).ok());
}

TEST_CASE("broadcast of shapes that are partly known") {
  const Dim n("n"), m("m"), unknown;
  const auto text = [](const DynamicShape& a, const DynamicShape& b) {
    const auto result = broadcast(a, b);
    const auto mirrored = broadcast(b, a);
    REQUIRE(result.ok() == mirrored.ok());
    if (!result.ok()) return std::string("error");
    CHECK(result->str() == mirrored->str());
    return result->str();
  };
  CHECK(text({n, 3}, {n, 3}) == "nx3");
  CHECK(text({n, 3}, {1, 3}) == "nx3");
  CHECK(text({n}, {m}) == "?");
  CHECK(text({n}, {4}) == "4");  // n is 1 or 4
  CHECK(text({unknown}, {unknown}) == "?");
  CHECK(text({unknown, 2}, {3}) == "error");
  CHECK(text({n, 2}, {2}) == "nx2");
  CHECK(text({n}, DynamicShape()) == "unknown");
}

TEST_CASE("integers_of") {
  std::int64_t wide[] = {1, -2};
  std::int32_t narrow[] = {3};
  float real[] = {1};
  CHECK(integers_of(*Tensor::borrow_const(DataType::int64, Shape{2}, wide, 16)) ==
        std::vector<std::int64_t>{1, -2});
  CHECK(integers_of(*Tensor::borrow_const(DataType::int32, Shape{}, narrow, 4)) ==
        std::vector<std::int64_t>{3});
  CHECK_FALSE(integers_of(*Tensor::borrow_const(DataType::float32, Shape{1}, real, 4)));
  CHECK_FALSE(integers_of(Tensor()));
}

TEST_CASE("infer context: shared checks name the input") {
  const Params params;
  const InferContext::Input inputs[] = {
      {DataType::float32, DynamicShape{1, 2}}, {}, {DataType::int64, DynamicShape()}};
  InferContext::Output outputs[1];
  const InferContext context(params, inputs, outputs);
  using Catch::Contains;
  CHECK(context.expect_rank(0, 2).ok());
  CHECK(context.expect_rank(2, 5).ok());  // unknown rank passes
  CHECK_THAT(context.expect_rank(0, 3).message(), Contains("input 0") && Contains("1x2"));
  CHECK_THAT(context.expect_rank(1, 3).message(), Contains("input 1 is missing"));
  CHECK(context.expect_min_rank(0, 2).ok());
  CHECK_FALSE(context.expect_min_rank(0, 3).ok());
  CHECK_FALSE(context.expect_min_rank(9, 0).ok());
  const DataType reals[] = {DataType::float32, DataType::float16};
  CHECK(context.expect_type(0, reals).ok());
  CHECK_THAT(context.expect_type(2, reals).message(), Contains("int64") && Contains("float16"));
  CHECK_FALSE(context.expect_same_type(0, 2).ok());
  CHECK_FALSE(context.expect_same_type(0, 1).ok());
  CHECK(context.expect_same_type(0, 0).ok());
  CHECK_FALSE(context.integers(2));
}
