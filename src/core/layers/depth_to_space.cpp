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

template <bool ToSpace>
Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_rank(0, 4));
  if (ToSpace) SN_RETURN_IF_ERROR(choice_of(context.params(), "mode", kModes).status());
  SN_ASSIGN_OR_RETURN(const std::int64_t block, block_of(context));
  // What rows and columns are multiplied and divided by; channels the other way round, squared.
  const std::int64_t times = ToSpace ? block : 1, parts = ToSpace ? 1 : block;
  const DynamicShape& x = context.shape(0);
  SN_ASSIGN_OR_RETURN(DynamicShape y, unknown_dims(4));
  if (x.ranked()) {
    y[0] = x[0];
    SN_ASSIGN_OR_RETURN(y[1], scaled(x[1], parts * parts, times * times, "channels"));
    SN_ASSIGN_OR_RETURN(y[2], scaled(x[2], times, parts, "rows"));
    SN_ASSIGN_OR_RETURN(y[3], scaled(x[3], times, parts, "columns"));
  }
  return context.set_shape(std::move(y));
}

}  // namespace

Status register_layer_depth_to_space(LayerTypes& types) {
  const ParamSpec block = {"block", 1, "rows and columns of a block", true};
  return types.add_all(
      {{.name = "depth_to_space",
        .doc = "block² channels become a block × block patch of pixels. Input 0: x [N, C, H, W], "
               "any type, C a multiple of block². Output 0: [N, C / block², H · block, W · block].",
        .params = {block,
                   {"mode", "dcr",
                    "dcr: a channel's number is (patch place, output channel); crd: (output "
                    "channel, patch place)"}},
        .elements = ElementSource::input_0,
        .infer = infer<true>},
       {.name = "space_to_depth",
        .doc = "Patches of block × block pixels become channels (patch place, channel). Input 0: x "
               "[N, C, H, W], any type, H and W multiples of block. Output 0: [N, C · block², H / "
               "block, W / block].",
        .params = {block},
        .elements = ElementSource::input_0,
        .infer = infer<false>}});
}

}  // namespace softneuro
