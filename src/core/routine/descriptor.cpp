#include "core/routine/descriptor.h"

#include "core/routine/format.h"

namespace softneuro {
namespace {

bool is_algorithm_name(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

}  // namespace

std::string RoutineDescriptor::schema() const {
  std::string text = device.c_str();
  if (type != DataType::float32 || layout != Layout::plain)
    text += ':' + Format{type, layout}.str();
  return text;
}

std::string RoutineDescriptor::str() const {
  return schema() + '/' + algorithm;
}

std::string no_format_reason(const RoutineDescriptor& descriptor) {
  if (descriptor.type == DataType::qint8)
    return "8 bits need the ranges of the layer's tensors: calibrate";
  return "the layer's tensors cannot be in " + Format{descriptor.type, descriptor.layout}.str();
}

Result<RoutineDescriptor> RoutineDescriptor::parse(std::string_view text) {
  RoutineDescriptor descriptor;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_algorithm_name(text.substr(slash + 1)))
    return invalid_argument(
        "'{}' is not a routine descriptor: expected device[:data_type[:layout]]/algorithm", text);
  descriptor.algorithm = text.substr(slash + 1);

  std::vector<std::string_view> parts;
  std::string_view rest = text.substr(0, slash);
  for (std::size_t colon = rest.find(':'); colon != std::string_view::npos;
       colon = rest.find(':')) {
    parts.push_back(rest.substr(0, colon));
    rest.remove_prefix(colon + 1);
  }
  parts.push_back(rest);
  if (parts.size() > 3) return invalid_argument("too many parts in '{}'", text);

  const auto device = DeviceId::parse(parts[0]);
  if (!device) return invalid_argument("'{}' in '{}' is not a device", parts[0], text);
  descriptor.device = *device;
  if (parts.size() > 1) {
    descriptor.type = parse_data_type(parts[1]);
    if (descriptor.type == DataType::undefined)
      return invalid_argument("unknown data type '{}' in '{}'", parts[1], text);
  }
  if (parts.size() > 2) {
    const auto layout = find_layout(parts[2]);
    if (!layout) return invalid_argument("unknown layout '{}'", parts[2]);
    descriptor.layout = *layout;
  }
  return descriptor;
}

}  // namespace softneuro
