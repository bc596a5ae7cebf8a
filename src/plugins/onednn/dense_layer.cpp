#include "core/base/error.h"
#include "plugins/onednn/weighted_layer.h"
#include "plugins/partition/chunks.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

struct DenseShape {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool transposed = false;  // weights are [N, K]
};

DenseShape dense_shape(const Problem& problem) {
  const Shape& x = problem.inputs[WeightedLayer::kX].shape;
  const Shape& w = problem.inputs[WeightedLayer::kWeights].shape;
  DenseShape shape;
  shape.transposed = problem.params.integer("transpose_weights") != 0;
  shape.rows = x.elements(0, x.rank() - 1);
  shape.depth = w[shape.transposed ? 1 : 0];
  shape.columns = w[shape.transposed ? 0 : 1];
  return shape;
}

class DenseLayer final : public WeightedLayer {
 public:
  const char* layer_type() const override { return "dense"; }
  std::int64_t outputs(const Problem& problem) const override {
    return dense_shape(problem).columns;
  }
  int channel_axis(const Problem& problem) const override {
    return problem.outputs[0].shape.rank() - 1;
  }
  bool has_padding(const Problem&) const override { return false; }

  // By rows where there are many, else by columns, so that each thread reads its own weights.
  Result<std::vector<WeightedPart>> make_parts(const Problem& problem, const WeightedTask& task,
                                               std::int64_t split, bool) const override {
    constexpr std::int64_t kManyRows = 64;     // per part
    constexpr std::int64_t kColumnBlock = 64;  // what kernels work on at a time
    DenseShape shape = dense_shape(problem);
    // Rounded to 8 bits they are [N, K] (cpu/qint8/weights.h).
    if (task.weights == memory::data_type::s8) shape.transposed = true;
    const bool by_rows = shape.rows >= kManyRows * split;
    std::vector<WeightedPart> parts;
    for_chunks(by_rows ? shape.rows : shape.columns, split, by_rows ? 1 : kColumnBlock,
               [&](std::int64_t first, std::int64_t last) {
                 parts.push_back(by_rows ? make_part(shape, task, first, last, 0, shape.columns)
                                         : make_part(shape, task, 0, shape.rows, first, last));
               });
    return parts;
  }

 private:
  static WeightedPart make_part(const DenseShape& shape, const WeightedTask& task,
                                std::int64_t first_row, std::int64_t last_row,
                                std::int64_t first_column, std::int64_t last_column) {
    const std::int64_t rows = last_row - first_row, columns = last_column - first_column;
    WeightedPart part;
    part.x = desc_of({rows, shape.depth}, task.x, Layout::plain);
    part.y = memory::desc({rows, columns}, task.y, memory::dims{shape.columns, 1});
    const memory::dims strides =
        shape.transposed ? memory::dims{1, shape.depth} : memory::dims{shape.columns, 1};
    part.weights = memory::desc({shape.depth, columns}, task.stored_weights, strides);
    part.weights_mask = 1 << 1;
    part.x_at = first_row * shape.depth;
    part.y_at = first_row * shape.columns + first_column;
    part.weights_at = first_column * (shape.transposed ? shape.depth : 1);
    part.first_out = first_column;
    part.outs = columns;
    part.count = columns == shape.columns ? rows * columns : columns;
    part.repeats = columns == shape.columns ? 1 : rows;
    part.stride = shape.columns;
    const memory::desc any({shape.depth, columns}, task.weights, memory::format_tag::any);
    const memory::desc bias =
        task.bias ? desc_of({1, columns}, memory::data_type::f32, Layout::plain) : memory::desc();
    part.operation = Operation::of<dnnl::matmul>(part.x, any, bias, part.y);
    return part;
  }
};

}  // namespace

const WeightedLayer& dense_layer() {
  static const DenseLayer layer;
  return layer;
}

}  // namespace softneuro::onednn
