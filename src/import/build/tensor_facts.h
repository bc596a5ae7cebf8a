// What is known of the tensors of a graph that is being built.
#pragma once

#include "core/base/element.h"
#include "import/build/graph_builder.h"

namespace softneuro::build {

// All of it may be asked of kNoTensor.
class TensorFacts {
 public:
  explicit TensorFacts(GraphBuilder& builder) : builder_(builder) {}

  const TensorDef& tensor(TensorId id) const {
    static const TensorDef none;
    return id == kNoTensor ? none : builder_.graph().tensor(id);
  }
  DataType type(TensorId id) const { return tensor(id).type; }  // undefined for kNoTensor
  const DynamicShape& shape(TensorId id) const { return tensor(id).shape; }
  // −1: unknown
  int rank(TensorId id) const { return shape(id).ranked() ? shape(id).rank() : -1; }
  std::int64_t dim(TensorId id, int axis) const {
    return axis >= 0 && axis < rank(id) ? shape(id)[axis].value : -1;
  }
  // The type of 2 or 4 bits that the model gives the tensor; nothing if it is of another one.
  std::optional<NarrowType> narrow(TensorId id) const { return builder_.narrow(id); }
  // The tensor is a constant of the model.
  bool is_constant(TensorId id) const { return tensor(id).is_constant(); }
  // The value if the tensor is a constant or follows from shapes alone; else null.
  const Tensor* value(TensorId id) const { return id == kNoTensor ? nullptr : builder_.value(id); }
  // The number in such a value of one element.
  std::optional<double> number(TensorId id) const {
    const Tensor* known = value(id);
    if (known == nullptr || known->elements() != 1) return std::nullopt;
    return load(view_of(*known), 0);
  }

 protected:
  GraphBuilder& builder_;
};

}  // namespace softneuro::build
