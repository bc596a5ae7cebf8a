// The noise of each layer in 8 bits.
#include "quantization/noise.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "net/net_access.h"
#include "quantization/calibration.h"
#include "unit/graph_evaluator.h"

using namespace softneuro;
using test::GraphBuilder;

TEST_CASE("noise: layers rank by what 8 bits do to them", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4, 64});
  const TensorId good = b.layer("dense", {x, b.random({64, 32})});
  // A few huge values leave few levels for the rest, whose share of the output's power is large.
  const TensorId spread = b.unary("exp", b.unary("linear", good, 0.9, 0));
  const TensorId bad = b.layer("dense", {spread, b.random({32, 8})});
  const Net net = NetAccess::from_graph(b.finish({bad}), {}).value();
  std::vector<NamedTensors> samples(3);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].emplace(
        "x", test::random_inputs(NetAccess::graph(net), {}, static_cast<std::uint32_t>(i))[0]);

  Graph graph = NetAccess::graph(net);
  REQUIRE(annotate(graph, calibrate(net, samples_of(samples)).value()).ok());
  const std::vector<LayerNoise> noise = measure_layer_noise(net, graph, samples).value();
  REQUIRE(noise.size() == 4);
  for (std::size_t i = 1; i < noise.size(); ++i) CHECK(noise[i - 1].noise >= noise[i].noise);
  for (const LayerNoise& layer : noise) {
    INFO(layer.name);
    CHECK(layer.noise > 0);
    CHECK(layer.noise < 0.1);
    CHECK(layer.signal_to_noise() > 10);
    CHECK(layer.signal_to_noise() == Approx(-10 * std::log10(layer.noise)));
  }
  // Levels ten times as wide: a hundred times the noise, roughly.
  const TensorId y = graph.outputs[0];
  const auto noise_of_last = [&] {
    const std::vector<LayerNoise> all = measure_layer_noise(net, graph, samples).value();
    for (const LayerNoise& layer : all)
      if (layer.layer == graph.layers().back().id) return layer.noise;
    return 0.0;
  };
  const double before = noise_of_last();
  graph.tensor(y).quantization->scales[0] *= 10;
  graph.tensor(y).quantization->zero_points[0] = 128;
  CHECK(noise_of_last() > 10 * before);
}

TEST_CASE("noise: without a sample, or a quantisation, there is none", "[quantization]") {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4});
  const Net net = NetAccess::from_graph(b.finish({b.unary("exp", x)}), {}).value();
  CHECK(measure_layer_noise(net, NetAccess::graph(net), {}).status().code() ==
        StatusCode::invalid_argument);
  std::vector<NamedTensors> samples(1);
  samples[0].emplace("x", test::random_inputs(NetAccess::graph(net), {}, 1)[0]);
  CHECK(measure_layer_noise(net, NetAccess::graph(net), samples).value().empty());
}
