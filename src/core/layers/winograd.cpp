// The steps of Winograd convolution as layers: wgenc → wgconv → wgdec, with the weights from
// wgweights. See core/layers/winograd_matrices.h for the matrices.
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/winograd_matrices.h"

namespace softneuro {
namespace {

// Sums with paddings, which are below 2³¹, still fit an int64.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 61;

Status check_tile(const InferContext& context) {
  const std::int64_t tile = context.params().integer("tile_size");
  const std::int64_t taps = context.params().integer("taps");
  if (!has_winograd(tile, taps))
    return invalid_model("there is no Winograd transform of tile_size={} for taps={}", tile, taps);
  return {};
}

// Tiles that cover `outputs` elements of one axis.
std::int64_t tiles_of(std::int64_t outputs, std::int64_t tile, std::int64_t taps) {
  const std::int64_t m = tile + 1 - taps;
  return outputs / m + (outputs % m != 0 ? 1 : 0);
}

Status infer_wgenc(InferContext& context) {
  SN_RETURN_IF_ERROR(check_tile(context));
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  const std::int64_t tile = context.params().integer("tile_size");
  const std::int64_t taps = context.params().integer("taps");
  const auto pads = context.params().integers("pads");
  if (pads.size() != 4) return invalid_model("pads has {} elements, expected 4", pads.size());
  DynamicShape v(std::vector<Dim>(4));
  v[2] = Dim(tile * tile);
  const DynamicShape& x = context.shape(0);
  if (x.ranked()) {
    v[0] = x[0];
    v[1] = x[1];
    std::vector<Dim> tiles;
    for (const int axis : {0, 1}) {
      const auto i = static_cast<std::size_t>(axis);
      if (pads[i] < 0 || pads[i + 2] < 0 || pads[i] > INT32_MAX || pads[i + 2] > INT32_MAX)
        return invalid_model("pads of axis {} are {} and {}, must be at least 0", axis, pads[i],
                             pads[i + 2]);
      const Dim& size = x[axis + 2];
      if (!size.known()) {
        tiles.emplace_back();
        continue;
      }
      if (size.value > kLargestSize)
        return invalid_model("axis {} of input 0 ({}) has too many elements", axis + 2, x.str());
      const std::int64_t outputs = size.value + pads[i] + pads[i + 2] - taps + 1;
      if (outputs < 1)
        return invalid_model("axis {} of input 0 ({}) is too small for {} taps", axis + 2, x.str(),
                             taps);
      tiles.emplace_back(tiles_of(outputs, tile, taps));
    }
    SN_ASSIGN_OR_RETURN(v[3], product_of(tiles));
  }
  return context.set_shape(std::move(v));
}

Status infer_wgweights(InferContext& context) {
  SN_RETURN_IF_ERROR(check_tile(context));
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  const std::int64_t tile = context.params().integer("tile_size");
  const std::int64_t taps = context.params().integer("taps");
  DynamicShape u(std::vector<Dim>(3));
  u[0] = Dim(tile * tile);
  if (const DynamicShape& w = context.shape(0); w.ranked()) {
    for (const int axis : {2, 3})
      if (w[axis].known() && w[axis].value != taps)
        return invalid_model("axis {} of the weights ({}) should have {} elements", axis, w.str(),
                             taps);
    u[1] = w[0];
    u[2] = w[1];
  }
  return context.set_shape(std::move(u));
}

Status infer_wgconv(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_same_type(1, 0));
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  SN_RETURN_IF_ERROR(context.expect_rank(1, 3));
  DynamicShape y(std::vector<Dim>(4));
  const DynamicShape &v = context.shape(0), &u = context.shape(1);
  if (v.ranked()) y = v;
  if (u.ranked()) y[1] = u[1];
  if (!u.ranked() && v.ranked()) y[1] = Dim();
  if (u.ranked() && v.ranked()) {
    if (u[0].known() && v[2].known() && u[0].value != v[2].value)
      return invalid_model("input 0 ({}) has {} points, the weights ({}) {}", v.str(), v[2].value,
                           u.str(), u[0].value);
    if (u[2].known() && v[1].known() && u[2].value != v[1].value)
      return invalid_model("input 0 ({}) has {} channels, the weights ({}) {}", v.str(), v[1].value,
                           u.str(), u[2].value);
  }
  return context.set_shape(std::move(y));
}

Status infer_wgdec(InferContext& context) {
  SN_RETURN_IF_ERROR(check_tile(context));
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  const std::int64_t tile = context.params().integer("tile_size");
  const std::int64_t taps = context.params().integer("taps");
  const std::int64_t height = context.params().integer("height");
  const std::int64_t width = context.params().integer("width");
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    return invalid_model("height and width are {} and {}, expected 1 to {}", height, width,
                         INT32_MAX);
  DynamicShape y(std::vector<Dim>(4));
  if (const DynamicShape& m = context.shape(0); m.ranked()) {
    const std::int64_t tiles = tiles_of(height, tile, taps) * tiles_of(width, tile, taps);
    if ((m[2].known() && m[2].value != tile * tile) || (m[3].known() && m[3].value != tiles))
      return invalid_model("input 0 ({}) should have {} points and {} tiles", m.str(), tile * tile,
                           tiles);
    y[0] = m[0];
    y[1] = m[1];
  }
  if (context.has_input(1)) {
    SN_RETURN_IF_ERROR(context.expect_rank(1, 1));
    SN_RETURN_IF_ERROR(context.expect_same_type(1, 0));
    if (const DynamicShape& bias = context.shape(1);
        bias.ranked() && bias[0].known() && y[1].known() && bias[0].value != y[1].value)
      return invalid_model("the bias has {} elements, input 0 {} channels", bias[0].value,
                           y[1].value);
  }
  y[2] = Dim(height);
  y[3] = Dim(width);
  return context.set_shape(std::move(y));
}

}  // namespace

Status register_layer_winograd(LayerTypes& types) {
  const ParamSpec tile_size = {"tile_size", 6, "inputs per side of a tile: 4, 6, 8"};
  const ParamSpec taps = {"taps", 3, "rows and columns of the kernel: 2 … tile_size − 1"};
  return types.add_all(
      {{.name = "wgenc",
        .doc =
            "Tiles of an image, transformed for Winograd convolution: Bᵀ d B for each tile_size² "
            "tile d, which overlaps its neighbours by taps − 1; outside of x is zero. Input 0: "
            "x[N,C,H,W]. Output: v[N,C,P,T] with P = tile_size² points and T tiles, row by row.",
        .params = {tile_size,
                   taps,
                   {"pads", std::vector<std::int64_t>{0, 0, 0, 0},
                    "zeros around x: top, left, bottom, right, >= 0"}},
        .infer = infer_wgenc},
       {.name = "wgweights",
        .doc = "Weights of a convolution, transformed for Winograd convolution: G g Gᵀ of each "
               "kernel g. Input 0: w[M,C,taps,taps]. Output: u[P,M,C] with P = tile_size² points.",
        .params = {tile_size, taps},
        .infer = infer_wgweights},
       {.name = "wgconv",
        .doc = "The products of Winograd convolution: y[n,m,p,t] = Σ u[p,m,c] · v[n,c,p,t] over "
               "the channels c. Inputs: v[N,C,P,T], u[P,M,C]. Output: y[N,M,P,T].",
        .inputs = {2, 2},
        .infer = infer_wgconv},
       {.name = "wgdec",
        .doc = "Back from Winograd's domain: Aᵀ m A + bias of each tile m, of which tile_size + 1 "
               "− taps rows and columns are outputs; outputs outside of the image are dropped. "
               "Inputs: m[N,M,P,T], bias[M] (optional). Output: y[N,M,height,width].",
        .params =
            {tile_size, taps, {"height", 1, "rows of y", true}, {"width", 1, "columns of y", true}},
        .inputs = {1, 2},
        .infer = infer_wgdec}});
}

}  // namespace softneuro
