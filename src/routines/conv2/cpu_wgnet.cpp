// conv2 cpu:float32:nhwc/wgnet: Winograd convolution as a childnet, wgenc → wgconv → wgdec (the
// paper's figure 1b). The weights' transform, wgweights, is folded away where the weights are
// constant. cpu:float32:nhwc/wg does the same in one piece, and faster; here the steps can be
// measured and chosen one by one, and kernels of any size have them.
//
// Routine parameters: tile_size, and those of the layers inside (core/childnet/childnet.h).
#include "core/base/error.h"
#include "core/childnet/childnet.h"
#include "core/layers/builtin_layers.h"
#include "core/layers/winograd_matrices.h"
#include "routines/conv2/geometry.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

class WgNet final : public ChildnetRoutine {
 public:
  WgNet() : ChildnetRoutine("conv2", "cpu:float32:nhwc/wgnet") {}

 protected:
  Applicability fits(const Problem& problem) const override {
    for (const std::size_t i : {kX, kWeights, kBias})
      if (problem.has_input(i) && problem.inputs[i].type != DataType::float32)
        return Applicability::no("needs float32");
    const Result<ConvGeometry> g = conv_geometry(problem);
    if (!g.ok()) return Applicability::no(std::string(g.status().message()));
    const WindowAxis &y = g->window.axes[1], &x = g->window.axes[2];
    if (y.kernel != x.kernel || !has_winograd(kMaxWinogradTile, x.kernel))
      return Applicability::no("needs a square kernel of 2x2 to 7x7");
    if (y.stride != 1 || x.stride != 1 || y.dilation != 1 || x.dilation != 1)
      return Applicability::no("needs stride and dilation 1");
    if (g->group != 1) return Applicability::no("needs one group");
    return Applicability::yes();
  }

  Status build(const Problem& problem, const RoutineParams& params, Graph& graph,
               const std::vector<TensorId>& inputs) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
    const WindowAxis &y = g.window.axes[1], &x = g.window.axes[2];
    const std::int64_t tile_size = params.integer("tile_size");
    if (!has_winograd(tile_size, x.kernel))
      return unsupported("tile_size {} for a kernel of {}", tile_size, x.kernel);
    const LayerTypes& types = builtin_layer_types();
    const auto add = [&](const char* type, std::vector<TensorId> from, Params layer_params) {
      layer_params.set("tile_size", tile_size);
      layer_params.set("taps", x.kernel);
      TensorDef def;
      def.name = type;
      const TensorId to = graph.add_tensor(std::move(def));
      if (std::string_view(type) == "wgconv") layer_params = {};
      graph.add_layer(*types.find(type), type, std::move(from), {to}, std::move(layer_params));
      return to;
    };
    Params enc, dec;
    enc.set("pads", std::vector<std::int64_t>{y.pad_begin, x.pad_begin, y.pad_end, x.pad_end});
    dec.set("height", y.output);
    dec.set("width", x.output);
    const TensorId u = add("wgweights", {inputs[kWeights]}, {});
    const TensorId v = add("wgenc", {inputs[kX]}, std::move(enc));
    const TensorId m = add("wgconv", {v, u}, {});
    std::vector<TensorId> last = {m};
    if (problem.has_input(kBias)) last.push_back(inputs[kBias]);
    graph.outputs = {add("wgdec", std::move(last), std::move(dec))};
    return {};
  }

  RoutineParams outer_params(const Problem& problem) const override {
    RoutineParams params;
    const std::int64_t kernel = problem.inputs[kWeights].shape[2];
    params.set("tile_size", std::int64_t{has_winograd(6, kernel) ? 6 : 8});
    return params;
  }
  std::vector<ParamAxis> outer_axes(const Problem& problem) const override {
    ParamAxis tile_size{"tile_size", {}};
    for (const std::int64_t tile : {4, 6, 8})
      if (has_winograd(tile, problem.inputs[kWeights].shape[2]))
        tile_size.values.emplace_back(tile);
    return {std::move(tile_size)};
  }
  bool carries_post_ops() const override { return true; }
};

}  // namespace

Status register_routine_conv2_cpu_wgnet(Registry& registry) {
  return registry.add(std::make_unique<WgNet>());
}

}  // namespace softneuro
