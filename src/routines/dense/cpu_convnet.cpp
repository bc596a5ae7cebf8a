// dense cpu/convnet: the childnet reshape → conv2 → reshape (the paper's figure 1a), so that all
// that computes conv2 also computes dense. Rows become images of one pixel, whose bytes are the
// same in every layout.
//
// Routine parameters: layout, in which conv2 is computed, and those of conv2
// (core/childnet/childnet.h).
#include "core/base/error.h"
#include "core/childnet/childnet.h"
#include "core/layers/builtin_layers.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

class ConvNet final : public ChildnetRoutine {
 public:
  ConvNet() : ChildnetRoutine("dense", "cpu/convnet") {}

 protected:
  Applicability fits(const Problem& problem) const override {
    if (problem.inputs[kX].type != DataType::float32) return Applicability::no("needs float32");
    if (problem.inputs[kX].shape.elements() == 0 || problem.outputs[0].shape.elements() == 0)
      return Applicability::no("nothing to compute");
    return Applicability::yes();
  }

  Status build(const Problem& problem, const RoutineParams&, Graph& graph,
               const std::vector<TensorId>& inputs) const override {
    const DenseSizes s(problem);
    TensorId weights = inputs[kWeights];
    if (!s.transposed) weights = add(graph, "transpose", "turn", {weights});
    SN_ASSIGN_OR_RETURN(weights,
                        reshape(graph, "kernels", weights, Shape{s.columns, s.depth, 1, 1}));
    SN_ASSIGN_OR_RETURN(const TensorId pixels,
                        reshape(graph, "pixels", inputs[kX], Shape{s.rows, s.depth, 1, 1}));
    std::vector<TensorId> from = {pixels, weights};
    if (problem.has_input(kBias)) from.push_back(inputs[kBias]);
    const TensorId products = add(graph, "conv2", "conv", std::move(from));
    SN_ASSIGN_OR_RETURN(const TensorId y,
                        reshape(graph, "rows", products, problem.outputs[0].shape));
    graph.outputs = {y};
    return {};
  }

  RoutineParams outer_params(const Problem&) const override {
    RoutineParams params;
    params.set("layout", to_string(Layout::plain));
    return params;
  }
  std::vector<ParamAxis> outer_axes(const Problem&) const override {
    return {{"layout", {to_string(Layout::plain), to_string(Layout::channels_last)}}};
  }
  Layout inner_layout(const RoutineParams& params) const override {
    return params.text("layout") == to_string(Layout::plain) ? Layout::plain
                                                             : Layout::channels_last;
  }

 private:
  static TensorId add(Graph& graph, const char* type, const char* name,
                      std::vector<TensorId> from) {
    TensorDef def;
    def.name = name;
    const TensorId to = graph.add_tensor(std::move(def));
    graph.add_layer(*builtin_layer_types().find(type), name, std::move(from), {to});
    return to;
  }
  static Result<TensorId> reshape(Graph& graph, const char* name, TensorId from,
                                  const Shape& shape) {
    SN_ASSIGN_OR_RETURN(Tensor dims, Tensor::create(DataType::int64, Shape{shape.rank()}));
    for (int i = 0; i < shape.rank(); ++i)
      dims.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = shape[i];
    const TensorId value = graph.add_constant(std::string(name) + "_shape", std::move(dims));
    return add(graph, "reshape", name, {from, value});
  }
};

}  // namespace

Status register_routine_dense_cpu_convnet(Registry& registry) {
  return registry.add(std::make_unique<ConvNet>());
}

}  // namespace softneuro
