// dense cpu/xnnpack: XNNPACK's product, partitioned by rows of x where there are enough of them;
// `split` says in how many chunks. Each session keeps weights of its own.
#include <algorithm>

#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/xnnpack/operator_kernel.h"
#include "plugins/xnnpack/routines.h"

namespace softneuro::xnnpack {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

struct DenseShape {
  std::size_t rows, depth, columns;
  bool transposed;  // weights are [N, K], as the library has them
};

DenseShape dense_shape(const Problem& problem) {
  const Shape& x = problem.inputs[kX].shape;
  const Shape& w = problem.inputs[kWeights].shape;
  const bool transposed = problem.params.integer("transpose_weights") != 0;
  return {static_cast<std::size_t>(x.elements(0, x.rank() - 1)),
          static_cast<std::size_t>(w[transposed ? 1 : 0]),
          static_cast<std::size_t>(w[transposed ? 0 : 1]), transposed};
}

class DenseImplementation final : public SplitImplementation {
 public:
  using SplitImplementation::SplitImplementation;

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights&) const override {
    const DenseShape shape = dense_shape(problem());
    OperatorWork work;
    SN_ASSIGN_OR_RETURN(work.tail, PostOpProgram::create(problem()));
    work.constants = {problem().inputs[kWeights].value,
                      problem().has_input(kBias) ? problem().inputs[kBias].value : Tensor()};
    const auto* const weights = static_cast<const float*>(work.constants[0].data());
    const auto* const bias = static_cast<const float*>(work.constants[1].data());
    const std::size_t count =
        std::min(static_cast<std::size_t>(thread_parts(params, context().threads())), shape.rows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = shape.rows * i / count, rows = shape.rows * (i + 1) / count - first;
      OperatorChunk chunk;
      chunk.create = [=](xnn_operator_t* op) {
        return xnn_create_fully_connected_nc_f32(
            shape.depth, shape.columns, shape.depth, shape.columns, weights, bias, -kUnlimited,
            kUnlimited, shape.transposed ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS, op);
      };
      chunk.setup = [=](xnn_operator_t op, const float* x, const float*, float* y) {
        return xnn_setup_fully_connected_nc_f32(op, rows, x, y, nullptr);
      };
      chunk.element = [=](const float* x, const float*, std::int64_t at) {
        const std::size_t row = static_cast<std::size_t>(at) / shape.columns;
        const std::size_t column = static_cast<std::size_t>(at) % shape.columns;
        double sum = bias != nullptr ? bias[column] : 0;
        for (std::size_t d = 0; d < shape.depth; ++d)
          sum += static_cast<double>(x[row * shape.depth + d]) *
                 static_cast<double>(weights[shape.transposed ? column * shape.depth + d
                                                              : d * shape.columns + column]);
        return sum;
      };
      chunk.x_at = static_cast<std::int64_t>(first * shape.depth);
      chunk.y_at = static_cast<std::int64_t>(first * shape.columns);
      chunk.y_count = static_cast<std::int64_t>(rows * shape.columns);
      work.chunks.push_back(std::move(chunk));
    }
    return make_operator_kernel(std::move(work));
  }
};

class Dense final : public OperatorRoutine {
 public:
  Dense() : OperatorRoutine("dense", "cpu/xnnpack") {}

 protected:
  Applicability applicable(const Problem& problem) const override { return takes_inputs(problem); }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<DenseImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_dense(Registry& registry) {
  return registry.add(std::make_unique<Dense>());
}

}  // namespace softneuro::xnnpack
