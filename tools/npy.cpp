#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/element.h"

namespace softneuro::tool {
namespace {

struct Header {
  DataType type = DataType::undefined;
  bool big_endian = false;
  bool fortran = false;
  Shape shape;
};

Status malformed(const std::string& path, std::string_view why) {
  return Status(StatusCode::invalid_argument, fmt::format("{}: {}", path, why));
}

DataType type_of(std::string_view code) {
  struct Row {
    const char* code;
    DataType type;
  };
  constexpr Row kRows[] = {
      {"f4", DataType::float32}, {"f8", DataType::float64}, {"f2", DataType::float16},
      {"i1", DataType::int8},    {"u1", DataType::uint8},   {"i2", DataType::int16},
      {"u2", DataType::uint16},  {"i4", DataType::int32},   {"u4", DataType::uint32},
      {"i8", DataType::int64},   {"u8", DataType::uint64},  {"b1", DataType::boolean},
  };
  for (const Row& row : kRows)
    if (code == row.code) return row.type;
  return DataType::undefined;
}

const char* code_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return "<f4";
    case DataType::float64:
      return "<f8";
    case DataType::float16:
      return "<f2";
    case DataType::int8:
      return "|i1";
    case DataType::uint8:
      return "|u1";
    case DataType::int16:
      return "<i2";
    case DataType::uint16:
      return "<u2";
    case DataType::int32:
      return "<i4";
    case DataType::uint32:
      return "<u4";
    case DataType::int64:
      return "<i8";
    case DataType::uint64:
      return "<u8";
    case DataType::boolean:
      return "|b1";
    default:
      return nullptr;
  }
}

// The text after 'key': in the header's Python dictionary; empty if it is not there.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string name = quote + std::string(key) + quote;
    const std::size_t place = dictionary.find(name);
    if (place == std::string_view::npos) continue;
    std::string_view rest = dictionary.substr(place + name.size());
    const std::size_t start = rest.find_first_not_of(" :");
    if (start != std::string_view::npos) return rest.substr(start);
  }
  return {};
}

bool parse_shape(std::string_view text, Shape& shape) {
  if (text.empty() || text.front() != '(') return false;
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return false;
  const char* place = text.data() + 1;
  const char* const end = text.data() + close;
  for (;;) {
    while (place != end && (*place == ' ' || *place == ',')) ++place;
    if (place == end) return true;
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(place, end, dim);
    if (error != std::errc() || dim < 0 || shape.rank() == kMaxRank) return false;
    shape.push_back(dim);
    place = next != end && *next == 'L' ? next + 1 : next;  // Python 2 wrote 3L
  }
}

Result<Header> parse_header(const std::string& path, std::string_view dictionary) {
  Header header;
  const std::string_view descr = value_of(dictionary, "descr");
  if (descr.size() < 5 || (descr[0] != '\'' && descr[0] != '"'))
    return malformed(path, "its header names no simple data type");
  const std::string_view code = descr.substr(1, descr.find(descr[0], 1) - 1);
  if (code.size() < 3 || std::strchr("<>|=", code[0]) == nullptr)
    return malformed(path, fmt::format("data type '{}' is not supported", code));
  header.type = type_of(code.substr(1));
  header.big_endian = code[0] == '>';
  if (header.type == DataType::undefined)
    return malformed(path, fmt::format("data type '{}' is not supported", code));
  const std::string_view order = value_of(dictionary, "fortran_order");
  if (!order.starts_with("True") && !order.starts_with("False"))
    return malformed(path, "its header lacks fortran_order");
  header.fortran = order.starts_with("True");
  if (!parse_shape(value_of(dictionary, "shape"), header.shape))
    return malformed(path, "its header has no valid shape (at most 8 dimensions)");
  return header;
}

void swap_bytes(std::byte* data, std::size_t bytes, std::size_t element) {
  for (std::size_t i = 0; i + element <= bytes; i += element)
    std::reverse(data + i, data + i + element);
}

// Fortran order: the first index runs fastest.
Result<Tensor> to_c_order(const Tensor& source, const Shape& shape) {
  auto target = Tensor::create(source.data_type(), shape);
  if (!target.ok() || shape.elements() == 0) return target;
  const std::size_t element = size_of(source.data_type());
  auto* to = static_cast<std::byte*>(target->mutable_data());
  const auto* from = static_cast<const std::byte*>(source.data());
  Shape strides = shape;
  std::int64_t step = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    strides[i] = step;
    step *= shape[i];
  }
  Shape index = shape;
  for (int i = 0; i < index.rank(); ++i) index[i] = 0;
  do {
    std::memcpy(to, from + static_cast<std::size_t>(offset_of(index, strides)) * element, element);
    to += element;
  } while (next_index(index, shape));
  return target;
}

}  // namespace

Result<Tensor> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status(errno == ENOENT ? StatusCode::not_found : StatusCode::io_error,
                  fmt::format("{}: {}", path, std::strerror(errno)));
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string bytes = std::move(buffer).str();
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    return malformed(path, "not a .npy file");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return malformed(path, fmt::format(".npy version {} is not supported", major));
  const std::size_t start = major == 1 ? 10 : 12;
  std::size_t length = 0;
  if (bytes.size() < start) return malformed(path, "truncated");
  for (std::size_t i = start; i > 8; --i)
    length = length << 8 | static_cast<unsigned char>(bytes[i - 1]);
  if (length > bytes.size() - start) return malformed(path, "truncated in its header");
  auto header = parse_header(path, std::string_view(bytes).substr(start, length));
  if (!header.ok()) return header.status();

  const std::int64_t needed = storage_bytes(header->type, header->shape, Layout::plain);
  const std::size_t present = bytes.size() - start - length;
  if (needed < 0 || static_cast<std::uint64_t>(needed) != present)
    return malformed(path,
                     fmt::format("{} {} takes {} bytes, the file has {}", to_string(header->type),
                                 header->shape.str(), needed, present));
  auto tensor = Tensor::create(header->type, header->shape);
  if (!tensor.ok()) return tensor;
  if (present > 0) {
    auto* data = static_cast<std::byte*>(tensor->mutable_data());
    std::memcpy(data, bytes.data() + start + length, present);
    if (header->big_endian) swap_bytes(data, present, size_of(header->type));
  }
  if (header->fortran && header->shape.rank() > 1) return to_c_order(*tensor, header->shape);
  return tensor;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  Tensor source = tensor;
  if (tensor.data_type() == DataType::bfloat16) {
    auto wide = Tensor::create(DataType::float32, tensor.shape());
    if (!wide.ok()) return wide.status();
    const auto from = tensor.values<BFloat16>();
    std::transform(from.begin(), from.end(), wide->mutable_values<float>().begin(),
                   [](BFloat16 value) { return to_float(value); });
    source = *std::move(wide);
  }
  const char* code = code_of(source.data_type());
  if (code == nullptr)
    return Status(StatusCode::unsupported,
                  fmt::format("{}: .npy has no {}", path, to_string(source.data_type())));
  std::string shape;
  for (const std::int64_t dim : source.shape().dims()) shape += fmt::format("{},", dim);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, shape);
  // The data begins at a multiple of 64; the header ends with a line feed.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xff);
  prefix += static_cast<char>(header.size() >> 8);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << prefix << header;
  if (source.bytes() > 0)
    file.write(static_cast<const char*>(source.data()),
               static_cast<std::streamsize>(source.bytes()));
  file.close();
  if (!file)
    return Status(StatusCode::io_error,
                  fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

}  // namespace softneuro::tool
