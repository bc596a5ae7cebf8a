#include <algorithm>

#include "core/base/error.h"
#include "plugins/onednn/weighted_layer.h"
#include "plugins/partition/chunks.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

// One operand or the result as [batches, rows, columns], with the steps of each in elements.
struct Matrices {
  std::int64_t batches = 1, rows = 1, columns = 1;
  std::int64_t batch_step = 0, row_step = 0, column_step = 0;
};

Matrices matrices_of(const Shape& shape, bool transposed, bool is_row_vector) {
  Matrices m;
  if (shape.rank() == 1) {
    (is_row_vector ? m.columns : m.rows) = shape[0];
    m.row_step = is_row_vector ? shape[0] : 1;
    m.column_step = 1;
    return m;
  }
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  m.batches = shape.elements(0, shape.rank() - 2);
  m.batch_step = rows * columns;
  m.rows = transposed ? columns : rows;
  m.columns = transposed ? rows : columns;
  m.row_step = transposed ? 1 : columns;
  m.column_step = transposed ? columns : 1;
  return m;
}

// Batches [batch, batch + batches) and rows [row, row + rows); one batch stands for all.
memory::desc part_desc(const Matrices& m, memory::data_type type, std::int64_t batches,
                       std::int64_t rows) {
  const std::int64_t used = m.batches == 1 ? 1 : batches;
  const std::int64_t step = std::max<std::int64_t>(m.batch_step, rows * m.columns);
  return memory::desc({used, rows, m.columns}, type, memory::dims{step, m.row_step, m.column_step});
}

// The operands are inputs of the kernel: nothing is packed.
class MatmulLayer final : public WeightedLayer {
 public:
  const char* layer_type() const override { return "matmul"; }
  std::int64_t outputs(const Problem& problem) const override { return right(problem).columns; }
  int channel_axis(const Problem& problem) const override {
    return problem.outputs[0].shape.rank() - 1;
  }
  bool has_padding(const Problem&) const override { return false; }
  bool packs_weights() const override { return false; }

  // By batches where there are enough, else by rows.
  Result<std::vector<WeightedPart>> make_parts(const Problem& problem, const WeightedTask& task,
                                               std::int64_t split, bool) const override {
    const Matrices a = left(problem), b = right(problem);
    std::vector<WeightedPart> parts;
    const std::int64_t batches = std::max(a.batches, b.batches);
    const bool broadcasts_in_part =
        (a.batches != 1 && a.batches != batches) || (b.batches != 1 && b.batches != batches) ||
        problem.outputs[0].shape.elements() != batches * a.rows * b.columns;
    if (broadcasts_in_part) return parts;
    const bool by_batch = batches >= split;
    for_chunks(by_batch ? batches : a.rows, split, 1, [&](std::int64_t first, std::int64_t last) {
      parts.push_back(by_batch ? make_part(task, a, b, first, last - first, 0, a.rows)
                               : make_part(task, a, b, 0, batches, first, last - first));
    });
    return parts;
  }

 private:
  static Matrices left(const Problem& problem) {
    return matrices_of(problem.inputs[kX].shape, problem.params.integer("transpose_a") != 0, true);
  }
  static Matrices right(const Problem& problem) {
    return matrices_of(problem.inputs[kWeights].shape, problem.params.integer("transpose_b") != 0,
                       false);
  }

  static WeightedPart make_part(const WeightedTask& task, const Matrices& a, const Matrices& b,
                                std::int64_t batch, std::int64_t batches, std::int64_t row,
                                std::int64_t rows) {
    Matrices y;
    y.batches = std::max(a.batches, b.batches);
    y.rows = a.rows;
    y.columns = b.columns;
    y.batch_step = y.rows * y.columns;
    y.row_step = y.columns;
    y.column_step = 1;
    WeightedPart part;
    part.x = part_desc(a, task.x, batches, rows);
    part.weights = part_desc(b, task.weights, batches, b.rows);
    part.y =
        memory::desc({batches, rows, y.columns}, task.y, memory::dims{y.batch_step, y.row_step, 1});
    part.x_at = (a.batches == 1 ? 0 : batch * a.batch_step) + row * a.row_step;
    part.weights_at = b.batches == 1 ? 0 : batch * b.batch_step;
    part.y_at = batch * y.batch_step + row * y.row_step;
    part.channel = 2;
    part.outs = y.columns;
    part.count = rows * y.columns;
    part.repeats = batches;
    part.stride = y.batch_step;
    part.operation = Operation::of<dnnl::matmul>(part.x, part.weights, part.y);
    return part;
  }
};

}  // namespace

const WeightedLayer& matmul_layer() {
  static const MatmulLayer layer;
  return layer;
}

}  // namespace softneuro::onednn
