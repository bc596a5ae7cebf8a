// Structs that begin with struct_size: what callers older and newer than the library may pass.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include "core/base/error.h"
#include "softneuro/c_api.h"
#include "softneuro/session.h"
#include "softneuro/tensor.h"

namespace softneuro::capi {

// Copies what the caller's struct has of the `known` bytes that the library knows; the rest is
// zero. invalid_argument if struct_size is not set, or something newer than the library is asked.
SN_INTREE Status read_struct(const void* given, void* copy, std::size_t known, const char* type);
// The inverse: writes as much of `value` as the caller's struct has room for. invalid_argument for
// null, and as above.
SN_INTREE Status write_struct(const void* value, void* out, std::size_t known, const char* type);

// The caller's struct as the library knows it; all defaults if null.
template <class T>
Result<T> read(const T* given, const char* type) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, struct_size) == 0);
  T copy{};
  copy.struct_size = sizeof(T);
  if (given == nullptr) return copy;
  SN_RETURN_IF_ERROR(read_struct(given, &copy, sizeof(T), type));
  return copy;
}
template <class T>
Status write(const T& value, T* out, const char* type) {
  return write_struct(&value, out, sizeof(T), type);
}

// Element `index` of an array whose elements have the size that the first one says.
template <class T>
T* element(T* array, std::size_t index) {
  using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Bytes*>(array) + index * array->struct_size);
}

// --- the library's types and the C ones --------------------------------------------------------

// A tensor over the caller's memory. Allocates nothing unless it fails.
SN_INTREE Result<Tensor> tensor_from(const sn_tensor& view, bool writable);
// "" and "cpu": the host; "cuda".
Result<DeviceId> device_from(const char* device);
sn_tensor view_of(const Tensor& tensor, const char* name);
sn_shape shape_view(const Shape& shape, const char* name);
Result<Shape> shape_from(std::int32_t rank, const std::int64_t* dims, const char* name);
// Of the `what` ("input", "output") number `index` of the `owner` ("net", "session").
Status write_info(std::span<const TensorInfo> infos, std::size_t index, const char* what,
                  const char* owner, sn_tensor_info* out);
Status write_report(const MemoryReport& report, sn_memory_report* out);
// A list of strings; null entries are refused.
SN_INTREE Result<std::vector<std::string>> texts_from(const char* const* texts, std::size_t count,
                                                      const char* what);
// The texts as C lists have them; valid as long as they are.
std::vector<const char*> views_of(const std::vector<std::string>& texts);

}  // namespace softneuro::capi
