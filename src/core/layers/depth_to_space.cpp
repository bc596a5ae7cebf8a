// The layers that exchange channels for resolution: depth_to_space, space_to_depth.
#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr std::string_view kModes[] = {"dcr", "crd"};
// Its square still fits an int64.
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 31;

Result<std::int64_t> block_of(const InferContext& context) {
  const std::int64_t block = context.params().integer("block");
  if (block < 1 || block >= kMaxBlock)
    return invalid_model("block is {}, must be at least 1", block);
  return block;
}

// dim · times, or dim / parts.
Result<Dim> scaled(const Dim& dim, std::int64_t times, std::int64_t parts, const char* what) {
  if (parts > 1) {
    if (!dim.known()) return Dim();
    if (dim.value % parts != 0)
      return invalid_model("input 0 has {} {}, not a multiple of {}", dim.value, what, parts);
    return Dim(dim.value / parts);
  }
  const Dim factors[] = {dim, Dim(times)};
  return product_of(factors);
}

Status infer_depth_to_space(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  SN_RETURN_IF_ERROR(choice_of(context.params(), "mode", kModes).status());
  SN_ASSIGN_OR_RETURN(const std::int64_t block, block_of(context));
  const DynamicShape& x = context.shape(0);
  SN_ASSIGN_OR_RETURN(DynamicShape y, unknown_dims(4));
  if (x.ranked()) {
    y[0] = x[0];
    SN_ASSIGN_OR_RETURN(y[1], scaled(x[1], 1, block * block, "channels"));
    SN_ASSIGN_OR_RETURN(y[2], scaled(x[2], block, 1, "rows"));
    SN_ASSIGN_OR_RETURN(y[3], scaled(x[3], block, 1, "columns"));
  }
  context.set_output(0, context.type(0), std::move(y));
  return {};
}

Status infer_space_to_depth(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  SN_ASSIGN_OR_RETURN(const std::int64_t block, block_of(context));
  const DynamicShape& x = context.shape(0);
  SN_ASSIGN_OR_RETURN(DynamicShape y, unknown_dims(4));
  if (x.ranked()) {
    y[0] = x[0];
    SN_ASSIGN_OR_RETURN(y[1], scaled(x[1], block * block, 1, "channels"));
    SN_ASSIGN_OR_RETURN(y[2], scaled(x[2], 1, block, "rows"));
    SN_ASSIGN_OR_RETURN(y[3], scaled(x[3], 1, block, "columns"));
  }
  context.set_output(0, context.type(0), std::move(y));
  return {};
}

}  // namespace

Status register_layer_depth_to_space(LayerTypes& types) {
  const ParamSpec block = {"block", ParamKind::integer, std::int64_t{1},
                           "rows and columns of a block", true};
  LayerType depth;
  depth.name = "depth_to_space";
  depth.doc =
      "block² channels become a block × block patch of pixels. Input 0: x [N, C, H, W], any type, "
      "C "
      "a multiple of block². Output 0: [N, C / block², H · block, W · block].";
  depth.params = {
      block,
      {"mode", ParamKind::text, std::string("dcr"),
       "dcr: a channel's number is (patch place, output channel); crd: (output channel, "
       "patch place)"}};
  depth.elements = ElementSource::input_0;
  depth.infer = infer_depth_to_space;
  SN_RETURN_IF_ERROR(types.add(std::move(depth)));

  LayerType space;
  space.name = "space_to_depth";
  space.doc =
      "Patches of block × block pixels become channels (patch place, channel). Input 0: x [N, C, "
      "H, "
      "W], any type, H and W multiples of block. Output 0: [N, C · block², H / block, W / block].";
  space.params = {block};
  space.elements = ElementSource::input_0;
  space.infer = infer_space_to_depth;
  return types.add(std::move(space));
}

}  // namespace softneuro
