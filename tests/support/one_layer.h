// Running a single layer on hand-made tensors, through every routine that applies.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/layer_type.h"
#include "core/graph/params.h"
#include "core/routine/registry.h"

namespace softneuro::test {

struct OneLayer {
  std::string type;
  Params params;
  std::vector<Tensor> inputs;  // an empty tensor: left out
  std::size_t outputs = 1;
};

Params params(std::initializer_list<Params::Entry> entries);
Tensor tensor_of(DataType type, const Shape& shape, const void* values);

template <class T>
Tensor tensor(const Shape& shape, std::initializer_list<T> values) {
  return tensor_of(data_type_of<T>(), shape, values.begin());
}
inline Tensor floats(const Shape& shape, std::initializer_list<float> values) {
  return tensor<float>(shape, values);
}
inline Tensor longs(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return tensor<std::int64_t>(shape, values);
}
// 1-D int64: a shape, axes, pads…
inline Tensor longs(std::initializer_list<std::int64_t> values) {
  return longs({static_cast<std::int64_t>(values.size())}, values);
}
// 0, 1, 2, … in any numeric data type.
Tensor counting(DataType type, const Shape& shape);

// The elements as double, whatever their type.
std::vector<double> values_of(const Tensor& tensor);

// Runs the layer with every routine that applies, on a pool that hands out tasks backwards, into
// poisoned outputs; fails the test if one errs or differs from cpu/naive (real numbers: by more
// than 1e-5 + 1e-4·|x|). Returns what cpu/naive gave.
std::vector<Tensor> run(const OneLayer& layer);
// The error of planning or running the layer with cpu/naive; ok if there is none.
Status error_of(const OneLayer& layer);

// Shape inference alone, of inputs that may be unknown in part.
struct Inferred {
  Status status;
  std::vector<InferContext::Output> outputs;
  // "float32 2x?xN" of output 0, or the error's message.
  std::string str() const;
};
Inferred infer(std::string_view type, Params params, std::vector<InferContext::Input> inputs,
               std::size_t outputs = 1);
// Inputs for infer(): an unknown value of some shape, and a known one.
InferContext::Input unknown(DataType type, DynamicShape shape);
InferContext::Input known(const Tensor& value);

}  // namespace softneuro::test
