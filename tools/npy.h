// NumPy's .npy files: one tensor each. For the tool and the tests, not part of the library.
#pragma once

#include <string>

#include "softneuro/tensor.h"

namespace softneuro::tool {

// Reads format versions 1 to 3, little and big endian, C and Fortran order (turned into C order),
// of all data types that SoftNeuro has but bfloat16 (float16, float32, float64, signed and
// unsigned integers, bool). The file's size must match its header.
//   not_found / io_error   the file cannot be read
//   invalid_argument       not a .npy file, or one of an unknown type, naming the file
Result<Tensor> read_npy(const std::string& path);

// Writes version 1.0, C order, little endian; bfloat16 is widened to float32.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace softneuro::tool
