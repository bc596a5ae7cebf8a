#include "core/layers/grid_sample.h"

#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// x [N, C, spatial…] and grid [N, output spatial…, number of spatial axes].
Status check_shapes(const DynamicShape& x, const DynamicShape& grid) {
  if (x.rank() != grid.rank() || x.rank() < 3)
    return invalid_model("input 0 is {} and grid {}: both need the same rank, at least 3", x.str(),
                         grid.str());
  const Dim& coordinates = grid[grid.rank() - 1];
  if (coordinates.known() && coordinates.value != x.rank() - 2)
    return invalid_model("grid is {}, but input 0 has {} spatial axes", grid.str(), x.rank() - 2);
  if (!merge_dims(x[0], grid[0]))
    return invalid_model("input 0 is {} and grid {}: batches differ", x.str(), grid.str());
  for (int i = 2; i < x.rank(); ++i)
    if (x[i] == Dim(0)) return invalid_model("input 0 is {}: nothing to sample", x.str());
  return {};
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kFloatTypes));
  SN_ASSIGN_OR_RETURN(const int mode, choice_of(context.params(), "mode", kGridModes));
  SN_RETURN_IF_ERROR(choice_of(context.params(), "padding", kGridPaddings).status());
  const DataType type = context.type(0);
  if (static_cast<GridMode>(mode) != GridMode::nearest && !is_float(type) && !is_integer(type))
    return invalid_model("input 0 is {}, of which there is no mean", to_string(type));
  const DynamicShape& x = context.shape(0);
  const DynamicShape& grid = context.shape(1);
  DynamicShape y;
  if (x.ranked() && grid.ranked()) {
    SN_RETURN_IF_ERROR(check_shapes(x, grid));
    y = x;
    y[0] = *merge_dims(x[0], grid[0]);
    for (int i = 2; i < x.rank(); ++i) y[i] = grid[i - 1];
  } else if (x.ranked() || grid.ranked()) {
    SN_ASSIGN_OR_RETURN(y, unknown_dims(x.ranked() ? x.rank() : grid.rank()));
  }
  context.set_output(0, type, std::move(y));
  return {};
}

}  // namespace

Status register_layer_grid_sample(LayerTypes& types) {
  return types.add(
      {.name = "grid_sample",
       .doc = "x sampled at given places. Input 0: x [N, C, spatial…]. Input 1: grid [N, output "
              "spatial…, axes], real: each place's coordinates, last axis first, −1 and 1 being "
              "the ends of the axis. Output 0: x's type, [N, C, output spatial…].",
       .params = {{"mode", "linear", "linear, nearest or cubic"},
                  {"padding", "zeros",
                   "what lies outside x: zeros, border (the edge repeated), reflection"},
                  {"align_corners", 0,
                   "1: −1 and 1 are the centres of the outermost elements; 0: their outer edges"}},
       .inputs = {2, 2},
       .infer = infer});
}

}  // namespace softneuro
