// A net with what makes tuning interesting: branches, a skip connection, a fused add, pooling, a
// view, a tensor that several layers read.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"
#include "core/layers/builtin_layers.h"
#include "softneuro/net.h"

namespace softneuro::test {

class SmallNetBuilder {
 public:
  TensorId input(const std::string& name, DynamicShape shape) {
    TensorDef def;
    def.name = name;
    def.type = DataType::float32;
    def.shape = std::move(shape);
    graph.inputs.push_back(graph.add_tensor(std::move(def)));
    return graph.inputs.back();
  }
  TensorId weights(const std::string& name, const Shape& shape) {
    Tensor tensor = Tensor::create(DataType::float32, shape).value();
    const float scale = 1.5f / std::sqrt(static_cast<float>(shape.elements() / shape[0]));
    for (float& value : tensor.mutable_values<float>())
      value = scale * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f);
    return graph.add_constant(name, std::move(tensor));
  }
  TensorId layer(const std::string& type, const std::string& name, std::vector<TensorId> inputs,
                 Params params = {}) {
    TensorDef def;
    def.name = name + ":0";
    const TensorId out = graph.add_tensor(std::move(def));
    graph.add_layer(*builtin_layer_types().find(type), name, std::move(inputs), {out},
                    std::move(params));
    return out;
  }
  TensorId conv(const std::string& name, TensorId x, std::int64_t in, std::int64_t out,
                std::int64_t kernel) {
    Params params;
    params.set("pads", std::vector<std::int64_t>(4, kernel / 2));
    return layer("conv2", name,
                 {x, weights(name + ".w", {out, in, kernel, kernel}), weights(name + ".b", {out})},
                 params);
  }
  TensorId unary(const std::string& op, const std::string& name, TensorId x) {
    Params params;
    params.set("op", op);
    return layer("unary", name, {x}, params);
  }
  TensorId mul(const std::string& name, TensorId a, TensorId b) {
    Params params;
    params.set("op", std::string("mul"));
    return layer("binary", name, {a, b}, params);
  }
  TensorId scaled(const std::string& name, TensorId x, float factor) {
    Tensor scalar = Tensor::create(DataType::float32, Shape{1}).value();
    scalar.mutable_values<float>()[0] = factor;
    return mul(name, x, graph.add_constant(name + ".factor", std::move(scalar)));
  }
  TensorId add(const std::string& name, TensorId a, TensorId b) {
    Params params;
    params.set("op", std::string("add"));
    return layer("binary", name, {a, b}, params);
  }

  Graph graph;

 private:
  std::mt19937 random_{7};
};

// The graph as an importer leaves it: verified, in order, all shapes known.
inline std::shared_ptr<const Graph> finished(Graph graph) {
  const auto require = [](const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
  };
  require(graph.verify(builtin_layer_types()));
  require(graph.sort());
  require(graph.infer_shapes());
  return std::make_shared<const Graph>(std::move(graph));
}

// image [1 x 3 x 12 x 12] → scores [1 x 10] and features [1 x 20 x 6 x 6].
inline Graph small_graph() {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 3, 12, 12}));
  const TensorId stem = b.unary("relu", "stem_relu", b.conv("stem", image, 3, 16, 3));
  const TensorId left = b.conv("left", stem, 16, 20, 3);
  const TensorId right = b.conv("right", stem, 16, 20, 1);
  const TensorId sum = b.unary("relu", "sum_relu", b.add("sum", left, right));
  Params pool;
  pool.set("kernel", std::vector<std::int64_t>{2, 2});
  pool.set("strides", std::vector<std::int64_t>{2, 2});
  const TensorId pooled = b.layer("max_pool2", "pool", {sum}, pool);
  const TensorId deep = b.add("skip", b.conv("deep", pooled, 20, 20, 3), pooled);
  const TensorId flat = b.layer("flatten", "flat", {deep});
  const TensorId scores =
      b.layer("dense", "fc", {flat, b.weights("fc.w", {720, 10}), b.weights("fc.b", {10})});
  b.graph.outputs = {scores, deep};
  return b.graph;
}

// Runs on no synthetic inputs: x [2] is reshaped to `shape`, of which only three columns fit.
inline Graph graph_without_synthetic_inputs() {
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{2}));
  const TensorId shape = b.input("shape", DynamicShape(Shape{2}));
  b.graph.tensor(shape).type = DataType::int64;
  const TensorId three = b.layer("reshape", "three", {x, shape});
  b.graph.outputs = {b.layer("dense", "fc", {three, b.weights("w", {3, 4})})};
  return std::move(b.graph);
}

inline Tensor random_image(std::uint32_t seed, const Shape& shape = {1, 3, 12, 12}) {
  std::mt19937 random(seed);
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  for (float& value : tensor.mutable_values<float>())
    value = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
  return tensor;
}

}  // namespace softneuro::test
