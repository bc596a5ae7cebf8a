#include "import/onnx/tensor_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/base/error.h"
#include "import/build/contained_file.h"

namespace softneuro::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's raw data is little-endian");

constexpr std::int64_t kMaxSparseBytes = std::int64_t{256} << 20;  // of all dense forms

// A value of TensorProto.DataType: its name, the type that its elements get here, and the bits that
// each takes where several are packed in a byte.
struct ElementType {
  const char* name = "";
  DataType type = DataType::undefined;
  int packed_bits = 0;
};
constexpr ElementType kElementTypes[] = {{"UNDEFINED"},
                                         {"FLOAT", DataType::float32},
                                         {"UINT8", DataType::uint8},
                                         {"INT8", DataType::int8},
                                         {"UINT16", DataType::uint16},
                                         {"INT16", DataType::int16},
                                         {"INT32", DataType::int32},
                                         {"INT64", DataType::int64},
                                         {"STRING"},
                                         {"BOOL", DataType::boolean},
                                         {"FLOAT16", DataType::float16},
                                         {"DOUBLE", DataType::float64},
                                         {"UINT32", DataType::uint32},
                                         {"UINT64", DataType::uint64},
                                         {"COMPLEX64"},
                                         {"COMPLEX128"},
                                         {"BFLOAT16", DataType::bfloat16},
                                         {"FLOAT8E4M3FN"},
                                         {"FLOAT8E4M3FNUZ"},
                                         {"FLOAT8E5M2"},
                                         {"FLOAT8E5M2FNUZ"},
                                         {"UINT4", DataType::uint8, 4},
                                         {"INT4", DataType::int8, 4},
                                         {"FLOAT4E2M1"},
                                         {"FLOAT8E8M0"},
                                         {"UINT2", DataType::uint8, 2},
                                         {"INT2", DataType::int8, 2}};

// Null for unknown ones.
const ElementType* find_type(std::int64_t type) {
  const bool known = type >= 0 && type < static_cast<std::int64_t>(std::size(kElementTypes));
  return known ? &kElementTypes[type] : nullptr;
}

std::string name_of(std::int64_t type) {
  const ElementType* const known = find_type(type);
  return known != nullptr ? known->name : fmt::format("type {}", type);
}

// How a constant is stored: bits per element, and the type that it gets here.
struct Storage {
  DataType type;
  int bits;
};

Result<Storage> storage_of(std::int32_t type) {
  if (const ElementType* const known = find_type(type); known != nullptr && known->packed_bits != 0)
    return Storage{known->type, known->packed_bits};
  SN_ASSIGN_OR_RETURN(const DataType plain, element_type(type));
  return Storage{plain, static_cast<int>(size_of(plain)) * 8};
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

// f(field, T()) with the typed field that holds the values of a tensor of `type`, and the type T
// that they are narrowed to (the format keeps small types in wider fields; half floats as their
// bits).
template <class F>
auto with_field(const TensorProto& proto, DataType type, F&& f) {
  // NOLINTBEGIN(bugprone-branch-clone): the branches differ in the type.
  switch (type) {
    case DataType::float32:
      return f(proto.float_data(), float());
    case DataType::float64:
      return f(proto.double_data(), double());
    case DataType::int64:
      return f(proto.int64_data(), std::int64_t());
    case DataType::uint64:
      return f(proto.uint64_data(), std::uint64_t());
    case DataType::uint32:
      return f(proto.uint64_data(), std::uint32_t());
    case DataType::boolean:
      return f(proto.int32_data(), bool());
    case DataType::int32:
      return f(proto.int32_data(), std::int32_t());
    case DataType::int16:
    case DataType::uint16:
    case DataType::float16:
    case DataType::bfloat16:
      return f(proto.int32_data(), std::uint16_t());
    default:
      return f(proto.int32_data(), std::uint8_t());
  }
  // NOLINTEND(bugprone-branch-clone)
}

Result<std::int64_t> parse_count(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    return invalid_model("external data: {} '{}' is not a count of bytes", key, text);
  return value;
}

}  // namespace

Result<DataType> element_type(std::int64_t type) {
  const ElementType* const known = find_type(type);
  if (known == nullptr || known->type == DataType::undefined || known->packed_bits != 0)
    return unsupported("tensors of {} are not supported", name_of(type));
  return known->type;
}

std::optional<build::NarrowType> narrow_type(std::int64_t type) {
  const ElementType* const known = find_type(type);
  if (known == nullptr || known->packed_bits == 0) return std::nullopt;
  return build::NarrowType{known->name, known->type, known->packed_bits};
}

Result<Tensor> TensorReader::from_bytes(std::span<const std::byte> bytes, DataType type, int bits,
                                        const Shape& shape) {
  const std::int64_t expected = packed_bytes(shape.elements(), bits);
  if (expected < 0 || static_cast<std::uint64_t>(expected) != bytes.size())
    return invalid_model("a tensor of shape {} needs {} bytes, but has {}", shape.str(), expected,
                         bytes.size());
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(type, shape, allocator_));
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
  if (storage.bits < 8) {
    // One packed byte per entry.
    std::vector<std::byte> packed;
    for (const std::int32_t value : proto.int32_data())
      packed.push_back(static_cast<std::byte>(value & 0xff));
    return from_bytes(packed, storage.type, storage.bits, shape);
  }
  const std::int64_t count =
      with_field(proto, storage.type, [](const auto& field, auto) { return field.size(); });
  if (count != shape.elements())
    return invalid_model("a tensor of shape {} needs {} values of {}, but {} are there",
                         shape.str(), shape.elements(), name_of(proto.data_type()), count);
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(storage.type, shape, allocator_));
  with_field(proto, storage.type, [&](const auto& field, auto to) {
    std::transform(field.begin(), field.end(), static_cast<decltype(to)*>(tensor.mutable_data()),
                   [](auto value) { return static_cast<decltype(to)>(value); });
  });
  return tensor;
}

Result<Tensor> TensorReader::read_external(const TensorProto& proto, DataType type, int bits,
                                           const Shape& shape) {
  if (base_folder_.empty())
    return unsupported(
        "the model keeps weights in other files, but it was given without a folder "
        "(ImportOptions::folder, `folder` of "
        "sn_net_import_memory)");
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
    SN_ASSIGN_OR_RETURN(FileBytes file, map_contained_file(base_folder_, location, allocator_));
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
  if (bytes < 0 || bytes > kMaxSparseBytes - sparse_bytes_)
    return unsupported("a sparse tensor of shape {} exceeds the limit of {} bytes for all of them",
                       shape.str(), kMaxSparseBytes);
  sparse_bytes_ += bytes;
  SN_ASSIGN_OR_RETURN(Tensor dense, Tensor::create(values.data_type(), shape, allocator_));
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
