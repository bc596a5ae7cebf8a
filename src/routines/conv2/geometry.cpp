#include "routines/conv2/geometry.h"

#include <algorithm>

#include "cpu/gemm/packed_panel.h"

namespace softneuro {
namespace {

Result<ConvGeometry> geometry_of(const Problem& problem, bool transposed) {
  const Shape& x = problem.inputs[0].shape;
  const Shape& w = problem.inputs[1].shape;
  ConvGeometry g;
  g.batch = x[0];
  g.group = problem.params.integer("group", 1);
  g.in = transposed ? w[0] / g.group : w[1];
  g.out = transposed ? w[1] : w[0] / g.group;
  g.bias = problem.has_input(2);
  const auto make = transposed ? make_transposed_window : make_window;
  SN_ASSIGN_OR_RETURN(g.window, make(problem.params, x, w.dims().subspan(2)));
  return g;
}

}  // namespace

Result<ConvGeometry> conv_geometry(const Problem& problem) {
  return geometry_of(problem, false);
}

Result<ConvGeometry> transposed_conv_geometry(const Problem& problem) {
  return geometry_of(problem, true);
}

double filled_panel(const Problem& problem) {
  const std::int64_t columns =
      problem.inputs[1].shape[0] / std::max<std::int64_t>(problem.params.integer("group", 1), 1);
  return static_cast<double>(std::clamp<std::int64_t>(columns, 1, kTilePanel)) / kTilePanel;
}

}  // namespace softneuro
