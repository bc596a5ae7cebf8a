// Every operator that the importer knows, with inputs of every rank and attributes of every length
// and size: whatever does not fit is refused. The sanitizers see what goes wrong unnoticed.
#include <catch2/catch.hpp>

#include "import/operator_uses.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;

TEST_CASE("onnx: a transposed convolution whose weights have no spatial axes is refused") {
  for (const int rank : {0, 1, 2}) {
    for (const std::size_t sizes : {0, 1, 2, 3}) {
      OnnxModel model;
      model.input("x", {1, 1, 4});
      add_operand(model, "w", rank, kOnnxFloat, true);
      model.node("ConvTranspose", {"x", "w"}, {"y"})
          .integers("output_shape", std::vector<std::int64_t>(sizes, 4));
      model.output("y");
      const Result<Graph> graph = model.import();
      CAPTURE(rank, sizes);
      REQUIRE_FALSE(graph.ok());
      CHECK_THAT(graph.status().message(), Contains("spatial dimensions"));
    }
  }
}

TEST_CASE("onnx: operators with inputs of any rank and attributes of any size never crash") {
  constexpr int kUses = 60;  // of each operator; a few seconds for all
  std::uint32_t seed = 1;
  for (const onnx::Operator& op : all_operators()) {
    for (int i = 0; i < kUses; ++i) {
      CAPTURE(op.name, seed);
      const Result<Graph> graph = random_use(op, seed++).import();
      if (!graph.ok()) CHECK_FALSE(graph.status().message().empty());
    }
  }
}
