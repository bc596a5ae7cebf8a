// einsum cpu/eigen: a contraction of two operands as a batch of products. An operand that is not
// stored as one is copied into the workspace, and so is a result whose axes are mixed.
#include <algorithm>
#include <optional>

#include "core/base/element.h"
#include "core/layers/einsum_equation.h"
#include "core/routine/function_routine.h"
#include "cpu/tensor/strided_copy.h"
#include "plugins/eigen/products.h"
#include "plugins/eigen/routines.h"

namespace softneuro::eigen {
namespace {

// A label of more than one element, with the distance of its neighbours in each operand (0: not
// there) and in the output.
struct Label {
  std::int64_t size = 1, steps[2] = {0, 0}, y_step = 0;
};
using Labels = std::vector<Label>;

std::int64_t elements_of(const Labels& labels) {
  std::int64_t elements = 1;
  for (const Label& label : labels) elements *= label.size;
  return elements;
}

// y[batch, rows, columns] = Σ over depth of first[batch, rows, depth] · second[batch, depth,
// columns]; `first` is the operand with the output's earlier axes.
struct Contraction {
  std::size_t first = 0, second = 1;
  Labels batch, rows, columns, depth;
};

using Axes = std::vector<StridedCopy::Axis>;

// From where `stride` finds an element of labels in the order given, to there without gaps.
template <class Stride>
Axes axes_to(std::initializer_list<const Labels*> groups, Stride stride) {
  Axes axes;
  for (const Labels* const group : groups)
    for (const Label& label : *group) axes.push_back({label.size, stride(label), 0});
  std::int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->target_stride = step;
    step *= axis->count;
  }
  return axes;
}

bool is_identity(const Axes& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const StridedCopy::Axis& axis) {
    return axis.source_stride == axis.target_stride;
  });
}

StridedCopy copy_of(const Axes& axes) {
  StridedCopy copy;
  copy.add_axes(axes);
  return copy;
}

Result<std::vector<Label>> labels_of(const Problem& problem, const EinsumPlan& plan) {
  std::vector<Label> labels(static_cast<std::size_t>(plan.labels));
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = problem.inputs[i].shape;
    const Shape steps = strides_of(shape);
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == 1) continue;  // broadcast
      Label& label = labels[static_cast<std::size_t>(plan.inputs[i][static_cast<std::size_t>(d)])];
      if (label.steps[i] != 0) return unsupported("an index stands twice in one operand");
      label.size = shape[d];
      label.steps[i] = steps[d];
    }
  }
  const Shape steps = strides_of(problem.outputs[0].shape);
  for (int d = 0; d < plan.output_labels; ++d)
    labels[static_cast<std::size_t>(d)].y_step = steps[d];
  return labels;
}

Result<Contraction> contraction_of(const Problem& problem) {
  if (problem.layer_inputs != 2) return unsupported("needs two operands");
  SN_ASSIGN_OR_RETURN(const EinsumPlan plan, parse_einsum(problem.params.text("equation"),
                                                          {problem.inputs[0].shape.rank(),
                                                           problem.inputs[1].shape.rank()}));
  SN_ASSIGN_OR_RETURN(const std::vector<Label> labels, labels_of(problem, plan));
  Contraction c;
  // The output's labels come first and in its order.
  const auto leads = std::find_if(labels.begin(), labels.end(), [](const Label& label) {
    return label.size > 1 && (label.steps[0] == 0 || label.steps[1] == 0);
  });
  if (leads != labels.end() && leads->steps[0] == 0) std::swap(c.first, c.second);
  for (std::size_t l = 0; l < labels.size(); ++l) {
    const Label& label = labels[l];
    if (label.size == 1) continue;
    const bool in_output = l < static_cast<std::size_t>(plan.output_labels);
    const bool in_both = label.steps[0] != 0 && label.steps[1] != 0;
    if (!in_output && !in_both) return unsupported("an index of one operand alone is summed");
    if (in_both)
      (in_output ? c.batch : c.depth).push_back(label);
    else
      (label.steps[c.first] != 0 ? c.rows : c.columns).push_back(label);
  }
  return c;
}

class EinsumKernel final : public Kernel {
 public:
  EinsumKernel(const Contraction& c, int threads) : inputs_{c.first, c.second} {
    const std::int64_t batch = elements_of(c.batch), rows = elements_of(c.rows),
                       columns = elements_of(c.columns), depth = elements_of(c.depth);
    EigenProduct product;
    product.rows = rows;
    product.depth = depth;
    product.columns = product.y_stride = columns;
    product.a_transposed = place(0, c, c.rows, c.depth);
    product.b_transposed = place(1, c, c.depth, c.columns);
    product.a_stride = product.a_transposed ? rows : depth;
    product.b_stride = product.b_transposed ? depth : columns;
    const Axes result =
        axes_to({&c.batch, &c.rows, &c.columns}, [](const Label& label) { return label.y_step; });
    if (!is_identity(result)) {
      Axes axes = result;
      for (StridedCopy::Axis& axis : axes) std::swap(axis.source_stride, axis.target_stride);
      result_ = copy_of(axes);
      result_at_ = workspace_;
      workspace_ += aligned_floats(batch * rows * columns);
    }
    std::vector<Products::Places> places;
    for (std::int64_t i = 0; i < batch; ++i)
      places.push_back({i * rows * depth, i * depth * columns, i * rows * columns});
    products_ = Products(product, std::move(places), threads);
  }

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(workspace_ + products_.workspace()) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    auto* const workspace = reinterpret_cast<float*>(context.workspace());
    const float* operands[2];
    for (std::size_t i = 0; i < 2; ++i) {
      operands[i] = context.input(inputs_[i]).as<float>();
      if (!copies_[i]) continue;
      float* const to = workspace + copy_at_[i];
      copies_[i]->run(operands[i], to, sizeof(float), context.pool());
      operands[i] = to;
    }
    float* const y = context.output(0).as_mutable<float>();
    float* const result = result_ ? workspace + result_at_ : y;
    products_.run(context.pool(), operands[0], operands[1], result, workspace + workspace_);
    if (result_) result_->run(result, y, sizeof(float), context.pool());
    return {};
  }

 private:
  // Operand `i` as [batch, outer, inner], whether it is stored so or [batch, inner, outer], which
  // is transposed: gives whether; else it is copied.
  bool place(std::size_t i, const Contraction& c, const Labels& outer, const Labels& inner) {
    const auto step = [&](const Label& label) { return label.steps[inputs_[i]]; };
    const Axes axes = axes_to({&c.batch, &outer, &inner}, step);
    if (is_identity(axes)) return false;
    if (is_identity(axes_to({&c.batch, &inner, &outer}, step))) return true;
    copies_[i] = copy_of(axes);
    copy_at_[i] = workspace_;
    workspace_ += aligned_floats(elements_of(c.batch) * elements_of(outer) * elements_of(inner));
    return false;
  }

  std::size_t inputs_[2];
  std::optional<StridedCopy> copies_[2], result_;
  std::int64_t copy_at_[2] = {0, 0}, result_at_ = 0;
  std::int64_t workspace_ = 0;  // without that of the products, which comes behind
  Products products_;
};

Applicability applicable(const Problem& problem) {
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    if (problem.inputs[i].type != DataType::float32) return Applicability::no("needs float32");
    if (problem.inputs[i].shape.elements() == 0)
      return Applicability::no("there is nothing to compute");
  }
  const auto contraction = contraction_of(problem);
  return contraction.ok() ? Applicability::yes()
                          : Applicability::no(contraction.status().message());
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  SN_ASSIGN_OR_RETURN(const Contraction contraction, contraction_of(problem));
  return make_kernel<EinsumKernel>(contraction, context.threads());
}

}  // namespace

Status register_einsum(Registry& registry) {
  // Plans that are not tuned go without.
  return add_routines(registry, {"einsum"}, {"cpu"}, "eigen",
                      {.facts = {.default_rank = -1, .library = library_name()},
                       .applicable = applicable,
                       .create_with = create});
}

}  // namespace softneuro::eigen
