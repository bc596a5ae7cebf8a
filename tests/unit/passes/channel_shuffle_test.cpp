// fuse_channel_shuffle.
#include <catch2/catch.hpp>

#include "support/graph_evaluator.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Ints = std::vector<std::int64_t>;

// x[n, 12, 4, 5] reshaped to `wide`, transposed by `perm`, reshaped to `narrow`.
Graph shuffled(const Ints& wide, const Ints& perm, const Ints& narrow,
               bool wide_is_output = false) {
  GraphBuilder b;
  const TensorId x = b.input("x", {Dim("n"), 12, 4, 5});
  const TensorId a = b.layer("reshape", {x, b.integers(wide)});
  const TensorId t = b.layer("transpose", {a}, {{"perm", perm}});
  const TensorId y = b.layer("reshape", {t, b.integers(narrow)});
  std::vector<TensorId> outputs = {b.unary("relu", y)};
  if (wide_is_output) outputs.push_back(a);
  return after_passes(b.finish(outputs), {"fuse_channel_shuffle"}, {{"n", 2}});
}

}  // namespace

TEST_CASE("fuse_channel_shuffle knows the shuffles of ShuffleNets") {
  const Graph four = shuffled({-1, 3, 4, 4, 5}, {0, 2, 1, 3, 4}, {-1, 12, 4, 5});
  CHECK(outline(four) == "channel_shuffle unary:relu");
  CHECK(four.layers()[0].params.integer("groups") == 3);
  // Positions as one dimension in between.
  const Graph one = shuffled({-1, 2, 6, 20}, {0, 2, 1, 3}, {-1, 12, 4, 5});
  CHECK(outline(one) == "channel_shuffle unary:relu");
  CHECK(one.layers()[0].params.integer("groups") == 2);
}

TEST_CASE("fuse_channel_shuffle leaves alone what is none") {
  const std::string all = "reshape transpose reshape unary:relu";
  CHECK(outline(shuffled({-1, 3, 4, 4, 5}, {0, 1, 2, 4, 3}, {-1, 12, 4, 5})) == all);
  CHECK(outline(shuffled({-1, 3, 4, 4, 5}, {0, 2, 1, 3, 4}, {-1, 4, 12, 5})) == all);
  CHECK(outline(shuffled({-1, 3, 8, 2, 5}, {0, 2, 1, 3, 4}, {-1, 12, 4, 5})) == all);
  CHECK(outline(shuffled({-1, 3, 4, 4, 5}, {0, 2, 1, 3, 4}, {-1, 12, 4, 5}, true)) == all);
}
