#include "import/onnx/tensor_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/base/error.h"
#include "import/contained_file.h"

namespace softneuro::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's raw data is little-endian");

constexpr const char* kNames[] = {
    "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
    "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
    "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
    "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
    "UINT2",          "INT2"};

DataType plain_type(std::int64_t type) {
  switch (type) {
    case 1:
      return DataType::float32;
    case 2:
      return DataType::uint8;
    case 3:
      return DataType::int8;
    case 4:
      return DataType::uint16;
    case 5:
      return DataType::int16;
    case 6:
      return DataType::int32;
    case 7:
      return DataType::int64;
    case 9:
      return DataType::boolean;
    case 10:
      return DataType::float16;
    case 11:
      return DataType::float64;
    case 12:
      return DataType::uint32;
    case 13:
      return DataType::uint64;
    case 16:
      return DataType::bfloat16;
    default:
      return DataType::undefined;
  }
}

// How a constant is stored: bits per element, and the type that it gets here.
struct Storage {
  DataType type;
  int bits;
};

Result<Storage> storage_of(std::int32_t type) {
  switch (type) {
    case 21:
      return Storage{DataType::uint8, 4};
    case 22:
      return Storage{DataType::int8, 4};
    case 25:
      return Storage{DataType::uint8, 2};
    case 26:
      return Storage{DataType::int8, 2};
    default: {
      SN_ASSIGN_OR_RETURN(const DataType plain, element_type(type));
      return Storage{plain, static_cast<int>(size_of(plain)) * 8};
    }
  }
}

template <class Dims>
Result<Shape> shape_of(const Dims& dims) {
  if (!Shape::fits(static_cast<std::size_t>(dims.size())))
    return unsupported("a tensor of {} dimensions: at most {} are supported", dims.size(),
                       kMaxRank);
  Shape shape;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return invalid_model("a tensor has the negative dimension {}", dim);
    shape.push_back(dim);
  }
  if (shape.elements() < 0)
    return invalid_model("a tensor of shape {} has more elements than can be counted", shape.str());
  return shape;
}

// Bytes that `elements` take when packed; −1 if that overflows.
std::int64_t packed_bytes(std::int64_t elements, int bits) {
  if (elements > INT64_MAX / 64) return -1;
  return (elements * bits + 7) / 8;
}

// Elements of 2 or 4 bits, the first in the lowest bits, widened to a byte each.
void widen(std::span<const std::byte> packed, int bits, bool is_signed, std::int64_t elements,
           std::uint8_t* out) {
  const int per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1;
  const unsigned sign = 1u << (bits - 1);
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto byte = std::to_integer<unsigned>(packed[static_cast<std::size_t>(i / per_byte)]);
    unsigned value = (byte >> (static_cast<int>(i % per_byte) * bits)) & mask;
    if (is_signed && (value & sign) != 0) value |= ~mask;
    out[i] = static_cast<std::uint8_t>(value);
  }
}

// Values of one of the typed fields, narrowed to the tensor's type (the format keeps small types
// in wider fields; half floats as their bits).
template <class To, class Field>
void narrow(const Field& field, Tensor& tensor) {
  std::transform(field.begin(), field.end(), static_cast<To*>(tensor.mutable_data()),
                 [](auto value) { return static_cast<To>(value); });
}

std::int64_t field_count(const TensorProto& proto, std::int32_t type) {
  switch (type) {
    case 1:
      return proto.float_data_size();
    case 7:
      return proto.int64_data_size();
    case 11:
      return proto.double_data_size();
    case 12:
    case 13:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

void fill_from_fields(const TensorProto& proto, Tensor& tensor) {
  switch (tensor.data_type()) {
    case DataType::float32:
      return narrow<float>(proto.float_data(), tensor);
    case DataType::float64:
      return narrow<double>(proto.double_data(), tensor);
    case DataType::int64:
      return narrow<std::int64_t>(proto.int64_data(), tensor);
    case DataType::uint64:
      return narrow<std::uint64_t>(proto.uint64_data(), tensor);
    case DataType::uint32:
      return narrow<std::uint32_t>(proto.uint64_data(), tensor);
    case DataType::boolean:
      return narrow<bool>(proto.int32_data(), tensor);
    case DataType::int32:
      return narrow<std::int32_t>(proto.int32_data(), tensor);
    case DataType::int16:
    case DataType::uint16:
    case DataType::float16:
    case DataType::bfloat16:
      return narrow<std::uint16_t>(proto.int32_data(), tensor);
    default:
      return narrow<std::uint8_t>(proto.int32_data(), tensor);
  }
}

Result<std::int64_t> parse_count(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    return invalid_model("external data: {} '{}' is not a count of bytes", key, text);
  return value;
}

}  // namespace

std::string element_type_name(std::int64_t type) {
  if (type >= 0 && type < static_cast<std::int64_t>(std::size(kNames))) return kNames[type];
  return fmt::format("type {}", type);
}

Result<DataType> element_type(std::int64_t type) {
  const DataType plain = plain_type(type);
  if (plain == DataType::undefined)
    return unsupported("tensors of {} are not supported", element_type_name(type));
  return plain;
}

Allocator& TensorReader::allocator() const {
  return options_.allocator != nullptr ? *options_.allocator : default_allocator();
}

Result<Tensor> TensorReader::from_bytes(std::span<const std::byte> bytes, DataType type, int bits,
                                        const Shape& shape) {
  const std::int64_t expected = packed_bytes(shape.elements(), bits);
  if (expected < 0 || static_cast<std::uint64_t>(expected) != bytes.size())
    return invalid_model("a tensor of shape {} needs {} bytes, but has {}", shape.str(), expected,
                         bytes.size());
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(type, shape, allocator()));
  if (bytes.empty()) return tensor;
  auto* out = static_cast<std::uint8_t*>(tensor.mutable_data());
  if (bits < 8) {
    widen(bytes, bits, type == DataType::int8, shape.elements(), out);
  } else if (type == DataType::boolean) {
    for (const std::byte byte : bytes) *out++ = byte != std::byte{0};
  } else {
    std::memcpy(out, bytes.data(), bytes.size());
  }
  return tensor;
}

Result<Tensor> TensorReader::read(const TensorProto& proto) {
  SN_ASSIGN_OR_RETURN(const Storage storage, storage_of(proto.data_type()));
  SN_ASSIGN_OR_RETURN(const Shape shape, shape_of(proto.dims()));
  if (proto.has_segment()) return unsupported("tensors stored in segments are not supported");
  if (proto.data_location() == 1) return read_external(proto, storage.type, storage.bits, shape);
  if (proto.data_location() != 0)
    return invalid_model("a tensor has the unknown data location {}", proto.data_location());
  if (proto.has_raw_data())
    return from_bytes(std::as_bytes(std::span(proto.raw_data())), storage.type, storage.bits,
                      shape);
  const std::int64_t count = field_count(proto, proto.data_type());
  if (storage.bits < 8) {
    // One packed byte per entry.
    std::vector<std::byte> packed;
    for (const std::int32_t value : proto.int32_data())
      packed.push_back(static_cast<std::byte>(value & 0xff));
    return from_bytes(packed, storage.type, storage.bits, shape);
  }
  if (count != shape.elements())
    return invalid_model("a tensor of shape {} needs {} values of {}, but {} are there",
                         shape.str(), shape.elements(), element_type_name(proto.data_type()),
                         count);
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(storage.type, shape, allocator()));
  if (count > 0) fill_from_fields(proto, tensor);
  return tensor;
}

Result<Tensor> TensorReader::read_external(const TensorProto& proto, DataType type, int bits,
                                           const Shape& shape) {
  if (!options_.external_data)
    return unsupported("the model keeps weights in other files, which the options refuse");
  if (base_folder_.empty())
    return unsupported("the model keeps weights in other files, but it was given without a folder");
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;
  for (const StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      SN_ASSIGN_OR_RETURN(offset, parse_count("offset", entry.value()));
    }
    if (entry.key() == "length") {
      SN_ASSIGN_OR_RETURN(length, parse_count("length", entry.value()));
    }
  }
  auto known = files_.find(location);
  if (known == files_.end()) {
    SN_ASSIGN_OR_RETURN(FileBytes file, map_contained_file(base_folder_, location, allocator()));
    mapped_bytes_ += file.bytes.size();
    known = files_.emplace(location, std::move(file)).first;
  }
  const std::span<const std::byte> all = known->second.bytes;
  const std::int64_t expected = packed_bytes(shape.elements(), bits);
  if (length < 0) length = expected;
  if (expected < 0 || length != expected)
    return invalid_model(
        "external file '{}': a tensor of shape {} needs {} bytes, but its length "
        "is given as {}",
        location, shape.str(), expected, length);
  const auto size = static_cast<std::int64_t>(all.size());
  if (offset > size || length > size - offset)
    return invalid_model("external file '{}' has {} bytes, too few for {} bytes at offset {}",
                         location, size, length, offset);
  const auto bytes =
      all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % kTensorAlignment == 0;
  if (!aligned || bytes.empty() || bits < 8 || type == DataType::boolean) {
    copied_bytes_ += bytes.size();
    if (copied_bytes_ / 4 > mapped_bytes_)
      return invalid_model("external file '{}': the model's tensors overlap in it", location);
    return from_bytes(bytes, type, bits, shape);
  }
  return Tensor::share(type, shape, bytes.data(), bytes.size(), known->second.owner);
}

Result<Tensor> TensorReader::read(const SparseTensorProto& proto) {
  SN_ASSIGN_OR_RETURN(const Shape shape, shape_of(proto.dims()));
  SN_ASSIGN_OR_RETURN(const Tensor values, read(proto.values()));
  SN_ASSIGN_OR_RETURN(const Tensor indices, read(proto.indices()));
  const std::int64_t count = values.elements();
  if (values.shape().rank() != 1)
    return invalid_model("the values of a sparse tensor must be one-dimensional");
  const bool linear = indices.shape() == Shape{count};
  if (indices.data_type() != DataType::int64 ||
      (!linear && indices.shape() != Shape{count, shape.rank()}))
    return invalid_model("a sparse tensor of {} values has indices of shape {}", count,
                         indices.shape().str());
  const std::int64_t bytes = storage_bytes(values.data_type(), shape, Layout::plain);
  if (bytes < 0 || bytes > options_.max_sparse_bytes - sparse_bytes_)
    return unsupported("a sparse tensor of shape {} exceeds the limit of {} bytes for all of them",
                       shape.str(), options_.max_sparse_bytes);
  sparse_bytes_ += bytes;
  SN_ASSIGN_OR_RETURN(Tensor dense, Tensor::create(values.data_type(), shape, allocator()));
  if (bytes > 0) std::memset(dense.mutable_data(), 0, static_cast<std::size_t>(bytes));

  const std::size_t size = size_of(values.data_type());
  const auto* from = static_cast<const std::byte*>(values.data());
  auto* to = static_cast<std::byte*>(dense.mutable_data());
  const std::span<const std::int64_t> list = indices.values<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    if (linear) {
      place = list[static_cast<std::size_t>(i)];
      if (place < 0 || place >= shape.elements())
        return invalid_model("a sparse tensor of shape {} has the index {}", shape.str(), place);
    } else {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t index = list[static_cast<std::size_t>(i * shape.rank() + axis)];
        if (index < 0 || index >= shape[axis])
          return invalid_model("a sparse tensor of shape {} has the index {} in axis {}",
                               shape.str(), index, axis);
        place = place * shape[axis] + index;
      }
    }
    std::memcpy(to + static_cast<std::size_t>(place) * size,
                from + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

}  // namespace softneuro::onnx
