// Reading and making constants. All arithmetic of passes is done in double.
#pragma once

#include <optional>
#include <vector>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/tensor_view.h"
#include "core/graph/graph.h"

namespace softneuro {

// The value of a constant with one element, of any data type and rank; nothing for others.
std::optional<double> scalar_of(const Graph& graph, TensorId id);
bool all_finite(const Tensor& tensor);

// Reads a constant that is to be broadcast against a tensor of `rank` dimensions and that varies
// along `axis` only (all its other dimensions are 1): its `count` values along that axis. Nothing
// if it varies elsewhere, has more dimensions, or its length is neither 1 nor `count`.
std::optional<std::vector<double>> values_along(const Tensor& tensor, int rank, int axis,
                                                std::int64_t count);
// All elements of a constant of shape [count] (or of one element).
std::optional<std::vector<double>> vector_of(const Graph& graph, TensorId id, std::int64_t count);

// The elements f(i, x[i]) under x's type and shape, rounded to the type once.
template <class F>
Result<Tensor> map_elements(const Tensor& x, Allocator& allocator, F&& f) {
  SN_ASSIGN_OR_RETURN(Tensor y, Tensor::create(x.data_type(), x.shape(), allocator));
  const TensorView from = view_of(x), to = view_of(y);
  const std::int64_t count = from.elements();
  dispatch(from.type, 0, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < count; ++i)
      to.as_mutable<T>()[i] = from_double<T>(f(i, to_double(from.as<T>()[i])));
    return 0;
  });
  return y;
}
// A tensor of shape [values.size()], rounded to `type`.
Result<Tensor> make_vector(DataType type, const std::vector<double>& values, Allocator& allocator);
Result<Tensor> make_integers(const std::vector<std::int64_t>& values, Allocator& allocator);

}  // namespace softneuro
