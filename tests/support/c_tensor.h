// Tensors of the C API in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "softneuro/c_types.h"

namespace softneuro::test {

// A float32 tensor of these dimensions (at most SN_MAX_RANK) over `values`, which the caller keeps.
inline sn_tensor float_tensor(float* values, std::span<const std::int64_t> dims) {
  sn_tensor tensor = SN_TENSOR_INIT;
  tensor.data_type = SN_FLOAT32;
  tensor.rank = static_cast<std::int32_t>(dims.size());
  std::ranges::copy(dims, tensor.dims);
  tensor.data = values;
  tensor.bytes = sizeof(float);
  for (const std::int64_t size : dims) tensor.bytes *= static_cast<std::size_t>(size);
  return tensor;
}

}  // namespace softneuro::test
