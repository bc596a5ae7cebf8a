#include "npy.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/file_mapping.h"

namespace softneuro {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory is");

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  DataType type = DataType::undefined;
  bool swapped = false;  // big-endian
  bool fortran = false;
  Shape shape;
  std::size_t data = 0;  // where the elements begin
};

struct TypeCode {
  std::string_view code;  // kind and bytes
  DataType type;
};
constexpr TypeCode kTypeCodes[] = {
    {"f4", DataType::float32}, {"f8", DataType::float64}, {"f2", DataType::float16},
    {"i1", DataType::int8},    {"i2", DataType::int16},   {"i4", DataType::int32},
    {"i8", DataType::int64},   {"u1", DataType::uint8},   {"u2", DataType::uint16},
    {"u4", DataType::uint32},  {"u8", DataType::uint64},  {"b1", DataType::boolean}};

// A walk over the header, which is a Python dictionary in one fixed style.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Header> parse() {
    Header header;
    bool has_type = false, has_order = false, has_shape = false;
    if (!take('{')) return damaged();
    while (!take('}')) {
      const std::optional<std::string_view> key = quoted();
      if (!key || !take(':')) return damaged();
      if (*key == "descr") {
        has_type = true;
        SN_RETURN_IF_ERROR(parse_type(header));
      } else if (*key == "fortran_order") {
        has_order = true;
        const std::string_view word = letters();
        if (word != "True" && word != "False") return damaged();
        header.fortran = word == "True";
      } else if (*key == "shape") {
        has_shape = true;
        SN_RETURN_IF_ERROR(parse_shape(header.shape));
      } else {
        return damaged();
      }
      take(',');
    }
    if (!has_type || !has_order || !has_shape) return damaged();
    return header;
  }

 private:
  Status damaged() const { return invalid_argument("'{}': the .npy header is damaged", name_); }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string_view> quoted() {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }
  std::string_view letters() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Status parse_type(Header& header) {
    const std::optional<std::string_view> descr = quoted();
    if (!descr) return unsupported("'{}': records are not supported", name_);
    std::string_view code = *descr;
    char order = '=';
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
      order = code[0];
      code.remove_prefix(1);
    }
    if (code == "?") code = "b1";
    for (const TypeCode& known : kTypeCodes)
      if (known.code == code) header.type = known.type;
    if (header.type == DataType::undefined)
      return unsupported("'{}': elements of type '{}' are not supported", name_, *descr);
    header.swapped = order == '>';
    return {};
  }

  Status parse_shape(Shape& shape) {
    if (!take('(')) return damaged();
    while (!take(')')) {
      skip_blanks();
      std::int64_t dim = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (error != std::errc{} || dim < 0) return damaged();
      at_ += static_cast<std::size_t>(end - begin);
      if (!Shape::fits(static_cast<std::size_t>(shape.rank()) + 1))
        return unsupported("'{}' has more than {} dimensions", name_, kMaxRank);
      shape.push_back(dim);
      if (!take(',') && !(at_ < text_.size() && text_[at_] == ')')) return damaged();
    }
    return {};
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
};

Result<Header> read_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) return invalid_argument("'{}' is not a .npy file", name);
  const Status truncated = invalid_argument("'{}' is truncated", name);
  if (text.size() < 12) return truncated;
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    return unsupported("'{}' has the .npy format version {}: 1 to 3 are supported", name, version);
  // The header's length has two bytes in version 1 and four later.
  const std::size_t begin = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - begin) return truncated;
  SN_ASSIGN_OR_RETURN(Header header, HeaderParser(text.substr(begin, length), name).parse());
  header.data = begin + length;
  return header;
}

// Copies elements of a Fortran-ordered file to their places in C order.
void copy_fortran(const std::byte* from, std::byte* to, std::size_t size, const Shape& shape) {
  const std::int64_t elements = shape.elements();
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t place = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      place = place * shape[axis] + index[static_cast<std::size_t>(axis)];
    std::memcpy(to + static_cast<std::size_t>(place) * size,
                from + static_cast<std::size_t>(i) * size, size);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

std::string header_of(const Tensor& tensor) {
  std::string code = "|b1";
  for (const TypeCode& known : kTypeCodes)
    if (known.type == tensor.data_type())
      code = (size_of(known.type) == 1 ? "|" : "<") + std::string(known.code);
  std::string shape;
  for (const std::int64_t dim : tensor.shape().dims()) shape += fmt::format("{}, ", dim);
  if (tensor.shape().rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape().rank() == 1) shape.resize(shape.size() - 1);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, shape);
  // The elements begin at a multiple of 64.
  while ((kMagic.size() + 4 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

Result<Tensor> widened(const Tensor& tensor) {
  SN_ASSIGN_OR_RETURN(Tensor wide, Tensor::create(DataType::float32, tensor.shape()));
  const auto from = tensor.values<BFloat16>();
  std::transform(from.begin(), from.end(), wide.mutable_values<float>().begin(),
                 [](BFloat16 value) { return to_float(value); });
  return wide;
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  SN_ASSIGN_OR_RETURN(const Header header, read_header(bytes, name));
  const std::int64_t expected = storage_bytes(header.type, header.shape, Layout::plain);
  const std::span<const std::byte> data = bytes.subspan(header.data);
  if (expected < 0 || static_cast<std::uint64_t>(expected) != data.size())
    return invalid_argument("'{}': a {} tensor of shape {} needs {} bytes, but has {}", name,
                            to_string(header.type), header.shape.str(), expected, data.size());
  SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(header.type, header.shape));
  if (data.empty()) return tensor;
  auto* out = static_cast<std::byte*>(tensor.mutable_data());
  const std::size_t size = size_of(header.type);
  if (header.fortran)
    copy_fortran(data.data(), out, size, header.shape);
  else
    std::memcpy(out, data.data(), data.size());
  if (header.swapped && size > 1)
    for (std::size_t i = 0; i < data.size(); i += size) std::reverse(out + i, out + i + size);
  if (header.type == DataType::boolean)
    for (std::size_t i = 0; i < data.size(); ++i) out[i] = std::byte(out[i] != std::byte{0});
  return tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  SN_ASSIGN_OR_RETURN(const FileBytes file, map_file(path, default_allocator()));
  return parse_npy(file.bytes, path);
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  if (tensor.data_type() == DataType::bfloat16) {
    SN_ASSIGN_OR_RETURN(const Tensor wide, widened(tensor));
    return write_npy(path, wide);
  }
  if (tensor.empty() || tensor.data_type() == DataType::qint8 || tensor.layout() != Layout::plain)
    return invalid_argument("cannot write a {} tensor to '{}'", to_string(tensor.data_type()),
                            path);
  const std::string header = header_of(tensor);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file)
    return make_error(StatusCode::io_error, "cannot create '{}': {}", path, std::strerror(errno));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
  file.close();
  if (file) return {};
  const int reason = errno;
  std::remove(path.c_str());
  return make_error(StatusCode::io_error, "cannot write '{}': {}", path, std::strerror(reason));
}

}  // namespace softneuro
