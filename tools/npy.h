// Reading and writing NumPy's .npy files (format versions 1 to 3).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "softneuro/tensor.h"

namespace softneuro {

// Little- and big-endian files, in C or Fortran order, of every data type that tensors have (but
// bfloat16, which NumPy does not know). The header is checked against the file's size before
// anything is allocated.
//   not_found / io_error   the file cannot be read
//   invalid_argument       it is no .npy file, or its size contradicts its header
//   unsupported            texts, complex numbers, records, more than 8 dimensions
Result<Tensor> read_npy(const std::string& path);
// The same from memory; `name` is for messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name);

// Version 1, C order, little-endian. bfloat16 is widened to float32. All or nothing: a file that
// could not be written completely is removed again.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace softneuro
