// matmul cpu/eigen: Eigen's product of every pair of matrices.
#include <algorithm>

#include "core/graph/layer_type.h"
#include "core/routine/function_routine.h"
#include "plugins/eigen/products.h"
#include "plugins/eigen/routines.h"

namespace softneuro::eigen {
namespace {

enum Input : std::size_t { kA, kB };

// An operand as matrices: vectors are matrices of one row (a) or one column (b).
struct Operand {
  Shape batch;
  std::int64_t rows = 1, columns = 1, stride = 1;
  bool transposed = false;

  static Operand of(const Problem& problem, Input input) {
    const Shape& shape = problem.inputs[input].shape;
    Operand operand;
    if (shape.rank() == 1) {
      (input == kA ? operand.columns : operand.rows) = shape[0];
      operand.stride = operand.columns;
      return operand;
    }
    operand.transposed = problem.params.integer(input == kA ? "transpose_a" : "transpose_b") != 0;
    operand.rows = shape[shape.rank() - 2];
    operand.columns = operand.stride = shape[shape.rank() - 1];
    if (operand.transposed) std::swap(operand.rows, operand.columns);
    for (int d = 0; d < shape.rank() - 2; ++d) operand.batch.push_back(shape[d]);
    return operand;
  }
};

// Where the matrices of an operand begin for all products, in the order of the output.
std::vector<std::int64_t> places_of(const Operand& operand, const Shape& batch) {
  std::vector<std::int64_t> places;
  const std::int64_t count = batch.elements();
  const int missing = batch.rank() - operand.batch.rank();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0, step = operand.rows * operand.columns, rest = i;
    for (int d = batch.rank() - 1; d >= 0; --d) {
      const std::int64_t index = rest % batch[d];
      rest /= batch[d];
      if (d < missing) continue;
      const std::int64_t size = operand.batch[d - missing];
      if (size != 1) at += index * step;
      step *= size;
    }
    places.push_back(at);
  }
  return places;
}

Result<Products> products_of(const Problem& problem, int threads) {
  const Operand a = Operand::of(problem, kA), b = Operand::of(problem, kB);
  SN_ASSIGN_OR_RETURN(const Shape batch, broadcast(a.batch, b.batch));
  EigenProduct product;
  product.rows = a.rows;
  product.depth = a.columns;
  product.columns = product.y_stride = b.columns;
  product.a_stride = a.stride;
  product.b_stride = b.stride;
  product.a_transposed = a.transposed;
  product.b_transposed = b.transposed;
  if (b.batch.elements() == 1 && !a.transposed) {  // one product of all rows
    product.rows *= batch.elements();
    return Products(product, {{}}, threads);
  }
  const std::vector<std::int64_t> of_a = places_of(a, batch), of_b = places_of(b, batch);
  std::vector<Products::Places> places;
  for (std::size_t i = 0; i < of_a.size(); ++i)
    places.push_back({of_a[i], of_b[i], static_cast<std::int64_t>(i) * a.rows * b.columns});
  return Products(product, std::move(places), threads);
}

class MatmulKernel final : public Kernel {
 public:
  explicit MatmulKernel(Products products) : products_(std::move(products)) {}

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(products_.workspace()) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    products_.run(context.pool(), context.input(kA).as<float>(), context.input(kB).as<float>(),
                  context.output(0).as_mutable<float>(),
                  reinterpret_cast<float*>(context.workspace()));
    return {};
  }

 private:
  Products products_;
};

Applicability applicable(const Problem& problem) {
  for (const Input input : {kA, kB}) {
    if (problem.inputs[input].type != DataType::float32) return Applicability::no("needs float32");
    if (problem.inputs[input].shape.elements() == 0)
      return Applicability::no("there is nothing to compute");
  }
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  SN_ASSIGN_OR_RETURN(Products products, products_of(problem, context.threads()));
  return make_kernel<MatmulKernel>(std::move(products));
}

}  // namespace

Status register_matmul(Registry& registry) {
  return add_routines(
      registry, {"matmul"}, {"cpu"}, "eigen",
      {.facts = {.library = library_name()}, .applicable = applicable, .create_with = create});
}

}  // namespace softneuro::eigen
