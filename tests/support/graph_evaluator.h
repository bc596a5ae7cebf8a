// Building small graphs, running passes on them, and running graphs layer by layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/routine/registry.h"
#include "passes/pass.h"

namespace softneuro::test {

// The registry of all built-in routines, made once.
const Registry& builtin_registry();

// Writes down a graph layer by layer. Random constants differ from each other, but are the same in
// every run.
class GraphBuilder {
 public:
  TensorId input(std::string name, DynamicShape shape, DataType type = DataType::float32);
  TensorId constant(Tensor value, std::string name = "c");
  // One element, rank 0.
  TensorId scalar(double value, DataType type = DataType::float32);
  TensorId reals(const Shape& shape, const std::vector<double>& values,
                 DataType type = DataType::float32);
  TensorId integers(const std::vector<std::int64_t>& values);  // 1-D int64
  TensorId random(const Shape& shape, double low = -1, double high = 1,
                  DataType type = DataType::float32);
  // A layer with one output, which is called like it; name: type and number.
  TensorId layer(const char* type, std::vector<TensorId> inputs,
                 const std::vector<Params::Entry>& params = {});
  TensorId unary(const char* op, TensorId x, double alpha = 0, double beta = 0);
  TensorId binary(const char* op, TensorId a, TensorId b);
  TensorId reduce(const char* op, TensorId x, const std::vector<std::int64_t>& axes,
                  bool keepdims = true);
  // The layer added last.
  Layer& last() { return graph_.layers().back(); }
  Graph& graph() { return graph_; }
  // Makes the tensors outputs; the graph is sorted, inferred and verified.
  Graph finish(std::vector<TensorId> outputs);

 private:
  Graph graph_;
  std::uint32_t seed_ = 1;
};

// Sizes for the symbols of input shapes; unknown dimensions without symbol take "?".
using Sizes = std::map<std::string, std::int64_t>;
std::vector<Tensor> random_inputs(const Graph& graph, const Sizes& sizes, std::uint32_t seed);
// Runs the graph layer by layer through evaluate(). Outputs in the graph's order; fails the test
// if a layer errs.
std::vector<Tensor> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs);

// The graph after the passes of these names, in this order, repeated until none finds anything
// (empty: run_passes with all). Checks that the graph still verifies, and that inputs and outputs
// keep names, types and shapes.
Graph apply_passes(const Graph& graph, const std::vector<std::string>& passes);
// The same, and checks that outputs for random inputs stay the same up to rounding.
Graph after_passes(const Graph& graph, const std::vector<std::string>& passes,
                   const Sizes& sizes = {});
// "conv2+relu+add unary:gelu": layer types in order, functions, post-ops.
std::string outline(const Graph& graph);

}  // namespace softneuro::test
