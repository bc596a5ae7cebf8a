// Which layers lose their 16-bit candidates to large values, and what becomes of layers alike.
#include "profiler/tune/fp16_overflow.h"

#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "small_net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

bool has_half(const LayerCandidates& layer) {
  return std::any_of(layer.candidates.begin(), layer.candidates.end(), [](const Candidate& c) {
    return c.formats.inputs[0].type == DataType::float16;
  });
}

}  // namespace

TEST_CASE("fp16 overflow: views that lose candidates share nothing with others of their problem") {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{1, 8, 4}));
  const TensorId loud = b.scaled("loud", x, 60000);
  const bool loud_first = GENERATE(true, false);
  const TensorId first = b.layer("flatten", "first", {loud_first ? loud : x});
  const TensorId second = b.layer("flatten", "second", {loud_first ? x : loud});
  b.graph.outputs = {first, second};
  const std::shared_ptr<const Graph> graph = finished(std::move(b.graph));
  NetOptions options;
  options.threads = 1;
  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  const Shape shapes[] = {Shape{1, 8, 4}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  CandidateRules rules;
  rules.schemas = {"cpu:float32", "cpu:float16"};
  auto layers = list_candidates(runtime->routine_context(), problems, rules).value();
  const auto place_of = [&](const std::string& name) {
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerCandidates& l) {
      return l.layer.layer->name == name;
    });
    REQUIRE(found != layers.end());
    return static_cast<std::size_t>(found - layers.begin());
  };
  const std::size_t multiply = place_of("loud"), lost = place_of(loud_first ? "first" : "second"),
                    kept = place_of(loud_first ? "second" : "first");
  REQUIRE(layers[lost].same_as == layers[kept].same_as);
  for (const std::size_t l : {multiply, lost, kept}) REQUIRE(has_half(layers[l]));

  const std::vector<std::vector<Tensor>> inputs = {{random_image(1, shapes[0])}};
  const auto range = Fp16Overflow::measure(runtime, graph, shapes, inputs);
  REQUIRE(range.ok());
  const auto dropped = range->drop_candidates(runtime->routine_context(), problems, rules, layers);
  REQUIRE(dropped.ok());
  // Views have no routine that could be told of.
  CHECK(*dropped == std::map<DataType, std::size_t>{{DataType::float16, 1}});
  CHECK_FALSE(has_half(layers[multiply]));
  CHECK_FALSE(has_half(layers[lost]));
  CHECK(has_half(layers[kept]));
  for (const std::size_t l : {lost, kept})
    CHECK(layers[layers[l].same_as].candidates.size() == layers[l].candidates.size());
}
