// The steps of Winograd convolution: wgenc, wgweights, wgconv, wgdec.
#include "numeric/problem_set.h"

namespace softneuro::test {
namespace {

// The matrices' entries are up to 5.25 (input) and 32 (output), twice each.
constexpr double kSteps = 2e-4;

void add_known(ProblemSet& set) {
  // F(2, 3) by hand, on one tile: along each axis d2 − d0, d2 + d1, d2 − d1, d3 − d1.
  set.add("wgenc")
      .input({1, 1, 4, 4}, explicit_values({1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8}))
      .param("tile_size", 4)
      .expect({0, 0, 0, 0, 6, 12, 4, 12, 0, 0, 0, 0, 0, 0, 0, 0}, Shape{1, 1, 16, 1});
  // −g0, (g0 + g1 + g2) / 2, (g0 − g1 + g2) / 2, g2; then the same across.
  set.add("wgweights")
      .constant({1, 1, 3, 3}, explicit_values({2, 4, 6, 0, 0, 0, 0, 0, 0}))
      .param("tile_size", 4)
      .expect({2, -6, -2, -6, -1, 3, 1, 3, -1, 3, 1, 3, 0, 0, 0, 0}, Shape{16, 1, 1});
  // Two channels into one output, two tiles, for each of two points.
  set.add("wgconv")
      .input({1, 2, 2, 2}, explicit_values({1, 2, 3, 4, 5, 6, 7, 8}))
      .constant({2, 1, 2}, explicit_values({1, 10, 100, 1000}))
      .expect({51, 62, 7300, 8400}, Shape{1, 1, 2, 2});
  // Rows m0 + m1 + m2 and m1 − m2 + m3; of the second column of tiles one column is left.
  set.add("wgdec")
      .input({1, 1, 16, 2}, explicit_values({1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
                                             0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
      .constant({1}, explicit_values({100}))
      .param("tile_size", 4)
      .param("height", 2)
      .param("width", 3)
      .expect({103, 100, 105, 102, 100, 95}, Shape{1, 1, 2, 3});
}

void add_steps(ProblemSet& set, std::int64_t tile, std::int64_t taps) {
  const std::int64_t m = tile + 1 - taps;
  for (const std::int64_t channels : {1, 5, 16, 48})
    for (const std::int64_t size : {taps, m + taps - 1, m + taps, 2 * m + taps + 1}) {
      set.add("wgenc")
          .input({2, channels, size, size + 1})
          .param("tile_size", tile)
          .param("taps", taps)
          .param("pads", {1, 0, 2, taps / 2})
          .tolerance(kSteps, kSteps);
      const std::int64_t height = size, width = size + 3;
      const std::int64_t tiles = ((height + m - 1) / m) * ((width + m - 1) / m);
      set.add("wgdec")
          .input({2, channels, tile * tile, tiles})
          .constant({channels})
          .param("tile_size", tile)
          .param("taps", taps)
          .param("height", height)
          .param("width", width)
          .post_op(UnaryOp::relu)
          .tolerance(kSteps * 10, kSteps);
    }
  set.add("wgweights").input({3, 4, taps, taps}).param("tile_size", tile).param("taps", taps);
}

}  // namespace

void add_problems_winograd(ProblemSet& set) {
  add_known(set);
  for (const std::int64_t tile : {4, 6, 8})
    for (const std::int64_t taps : {2, 3, 5, 7})
      if (taps < tile) add_steps(set, tile, taps);
  for (const std::int64_t tiles : {1, 6, 7, 16, 17, 100})
    set.add("wgconv").input({2, 7, 4, tiles}, integers()).constant({4, 19, 7}, integers()).exact();
  set.add("wgconv").input({1, 33, 9, 5}).constant({9, 48, 33}, normal(0.2));
  set.add("wgconv").input({1, 3, 4, 5}).input({4, 2, 3});  // weights that are known later
}

}  // namespace softneuro::test
