// Tensors of an ONNX model, in every form in which the format stores them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/file_mapping.h"
#include "import/build/graph_builder.h"
#include "import/onnx/onnx.pb.h"
#include "softneuro/tensor.h"

namespace softneuro::onnx {

// The data type of runtime tensors; unsupported if there is none (texts, complex numbers, 8-bit
// floats and smaller). Narrow types are refused here.
Result<DataType> element_type(std::int64_t type);

// The type of 2 or 4 bits; nothing for all other types of the format.
std::optional<build::NarrowType> narrow_type(std::int64_t type);

class TensorReader {
 public:
  // `base_folder`: where external data is; empty: nowhere.
  TensorReader(std::string base_folder, Allocator& allocator)
      : base_folder_(std::move(base_folder)), allocator_(allocator) {}

  // The bytes are copied; those of external files stay mapped where their alignment allows.
  // int4, uint4, int2 and uint2 become int8 and uint8. The size of what is there must be what
  // shape and type say, and is compared before anything is allocated.
  Result<Tensor> read(const TensorProto& proto);
  // As a dense tensor; all of them together take at most 256 MiB: a file of some bytes may claim
  // any size.
  Result<Tensor> read(const SparseTensorProto& proto);

 private:
  Result<Tensor> read_external(const TensorProto& proto, DataType type, int bits,
                               const Shape& shape);
  Result<Tensor> from_bytes(std::span<const std::byte> bytes, DataType type, int bits,
                            const Shape& shape);

  std::string base_folder_;
  Allocator& allocator_;
  std::map<std::string, FileBytes> files_;  // by location
  // What keeps a small file from asking for endless copies of the same bytes.
  std::uint64_t mapped_bytes_ = 0;  // of all of files_
  std::uint64_t copied_bytes_ = 0;  // out of them
  std::int64_t sparse_bytes_ = 0;   // of all dense forms
};

}  // namespace softneuro::onnx
