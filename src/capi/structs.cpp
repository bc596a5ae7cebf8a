#include "capi/structs.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace softneuro::capi {
namespace {

// No struct of any version comes near; a larger size is an uninitialised one.
constexpr std::size_t kMaxStruct = 4096;

Status check_size(std::size_t size, const char* type) {
  if (size >= sizeof(std::size_t) && size <= kMaxStruct) return {};
  return invalid_argument("{}.struct_size is {}: set it to sizeof({})", type, size, type);
}

std::size_t size_of_struct(const void* given) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  return size;
}

}  // namespace

Status read_struct(const void* given, void* copy, std::size_t known, const char* type) {
  const std::size_t size = size_of_struct(given);
  SN_RETURN_IF_ERROR(check_size(size, type));
  const auto* const bytes = static_cast<const unsigned char*>(given);
  const bool newer = size > known && std::any_of(bytes + known, bytes + size,
                                                 [](unsigned char byte) { return byte != 0; });
  if (newer)
    return invalid_argument("{} has members set that this library, version {}, does not know", type,
                            sn_version());
  const std::size_t skip = sizeof(std::size_t);
  std::memcpy(static_cast<unsigned char*>(copy) + skip, bytes + skip, std::min(size, known) - skip);
  return {};
}

Status write_struct(const void* value, void* out, std::size_t known, const char* type) {
  if (out == nullptr) return invalid_argument("the output pointer of type {} is null", type);
  const std::size_t size = size_of_struct(out), skip = sizeof(std::size_t);
  SN_RETURN_IF_ERROR(check_size(size, type));
  auto* const bytes = static_cast<unsigned char*>(out);
  std::memcpy(bytes + skip, static_cast<const unsigned char*>(value) + skip,
              std::min(size, known) - skip);
  if (size > known) std::memset(bytes + known, 0, size - known);
  return {};
}

sn_shape shape_view(const Shape& shape, const char* name) {
  sn_shape view = SN_SHAPE_INIT;
  view.name = name;
  view.rank = shape.rank();
  std::copy(shape.dims().begin(), shape.dims().end(), view.dims);
  return view;
}

Result<Shape> shape_from(std::int32_t rank, const std::int64_t* dims, const char* name) {
  if (rank < 0 || rank > kMaxRank)
    return invalid_argument("'{}' has rank {}; 0 to {} are possible", name, rank, kMaxRank);
  const Shape shape(std::span(dims, static_cast<std::size_t>(rank)));
  if (shape.elements() < 0)
    return invalid_argument("'{}': shape {} is negative or too large", name, shape.str());
  return shape;
}

Result<DeviceId> device_from(const char* device) {
  if (*device == 0) return DeviceId();
  const std::optional<DeviceId> id = DeviceId::parse(device);
  if (!id.has_value()) return invalid_argument("'{}' is no name of a device", device);
  return *id;
}

Result<Tensor> tensor_from(const sn_tensor& view, bool writable) {
  const char* const name = view.name != nullptr ? view.name : "tensor";
  if (view.data_type == SN_UNDEFINED)
    return invalid_argument("'{}': data_type is not set (SN_UNDEFINED)", name);
  if (view.data_type < SN_UNDEFINED || view.data_type >= kDataTypeCount)
    return invalid_argument("'{}' has the unknown data type {}", name, view.data_type);
  SN_ASSIGN_OR_RETURN(const Shape shape, shape_from(view.rank, view.dims, name));
  const auto type = static_cast<DataType>(view.data_type);
  if (std::memchr(view.device, 0, sizeof view.device) == nullptr)
    return invalid_argument("'{}': the name of its device does not end", name);
  SN_ASSIGN_OR_RETURN(const DeviceId device, device_from(view.device));
  Result<Tensor> tensor = !device.is_host()
                              ? Tensor::borrow_device(type, shape, device, view.data, view.bytes)
                          : writable ? Tensor::borrow(type, shape, view.data, view.bytes)
                                     : Tensor::borrow_const(type, shape, view.data, view.bytes);
  if (!tensor.ok()) return Status(tensor.status()).with_context(name);
  return tensor;
}

sn_tensor view_of(const Tensor& tensor, const char* name) {
  sn_tensor view{};
  view.struct_size = sizeof(view);
  view.name = name;
  view.data_type = static_cast<sn_data_type>(tensor.data_type());
  view.rank = tensor.shape().rank();
  std::copy(tensor.shape().dims().begin(), tensor.shape().dims().end(), view.dims);
  view.data = const_cast<void*>(tensor.data());
  view.bytes = tensor.bytes();
  if (!tensor.device().is_host())
    std::copy_n(tensor.device().c_str(), sizeof view.device, view.device);
  return view;
}

Status write_info(std::span<const TensorInfo> infos, std::size_t index, const char* what,
                  const char* owner, sn_tensor_info* out) {
  if (index >= infos.size())
    return invalid_argument("there is no {} {}; the {} has {}", what, index, owner, infos.size());
  const TensorInfo& info = infos[index];
  sn_tensor_info value{};
  value.name = info.name.c_str();
  value.data_type = static_cast<sn_data_type>(info.type);
  value.rank = info.shape.ranked() ? info.shape.rank() : -1;
  for (int i = 0; i < value.rank; ++i) {
    const Dim& dim = info.shape[i];
    value.dims[i] = dim.known() ? dim.value : -1;
    value.symbols[i] = dim.symbol.empty() ? nullptr : dim.symbol.c_str();
  }
  return write(value, out, "sn_tensor_info");
}

Status write_report(const MemoryReport& report, sn_memory_report* out) {
  sn_memory_report value{};
  value.weights = report.weights;
  value.packed_weights = report.packed_weights;
  value.arena = report.arena;
  value.arena_minimum = report.arena_minimum;
  value.dynamic = report.dynamic;
  value.sessions = report.sessions;
  value.plans = report.plans;
  value.device_arenas = report.device_arenas;
  value.device_packed_weights = report.device_packed_weights;
  value.device_kept = report.device_kept;
  return write(value, out, "sn_memory_report");
}

Result<std::vector<std::string>> texts_from(const char* const* texts, std::size_t count,
                                            const char* what) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) {
    if (texts == nullptr || texts[i] == nullptr)
      return invalid_argument("{}: entry {} of {} is null", what, i, count);
    result.emplace_back(texts[i]);
  }
  return result;
}

std::vector<const char*> views_of(const std::vector<std::string>& texts) {
  std::vector<const char*> views;
  views.reserve(texts.size());
  for (const std::string& text : texts) views.push_back(text.c_str());
  return views;
}

}  // namespace softneuro::capi

using namespace softneuro;

size_t sn_data_type_size(sn_data_type type) {
  return type < 0 || type >= kDataTypeCount ? 0 : size_of(static_cast<DataType>(type));
}

const char* sn_data_type_name(sn_data_type type) {
  const bool known = type >= 0 && type < kDataTypeCount;
  return to_string(known ? static_cast<DataType>(type) : DataType::undefined);
}
