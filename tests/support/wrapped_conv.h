// conv2 as a net of nothing but itself: a childnet that may stand in, or around, another one.
#pragma once

#include "core/childnet/childnet.h"

namespace softneuro::test {

class Wrapped final : public ChildnetRoutine {
 public:
  Wrapped() : ChildnetRoutine("conv2", "cpu:float32:nhwc/wrapped") {}

 protected:
  Applicability fits(const Problem&) const override { return Applicability::yes(); }
  Status build(const Problem& problem, const RoutineParams&, Graph& graph,
               const std::vector<TensorId>& inputs) const override {
    TensorDef def;
    def.name = "y";
    graph.outputs = {graph.add_tensor(std::move(def))};
    graph.add_layer(*problem.type, "conv", inputs, graph.outputs, problem.params);
    return {};
  }
  bool carries_post_ops() const override { return true; }
};

}  // namespace softneuro::test
