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
  const std::string_view schema = text.substr(0, slash);
  const bool has_format = schema.find(':') != std::string_view::npos;
  const auto device = DeviceId::parse(schema.substr(0, schema.find(':')));
  if (slash == std::string_view::npos || !device || !is_algorithm_name(text.substr(slash + 1)))
    return invalid_argument(
        "'{}' is not a routine descriptor: expected device[:data_type[:layout]]/algorithm", text);
  descriptor.algorithm = text.substr(slash + 1);
  descriptor.device = *device;
  if (has_format) {
    SN_ASSIGN_OR_RETURN(const Format format, Format::parse(schema));
    descriptor.type = format.type;
    descriptor.layout = format.layout;
  }
  return descriptor;
}

}  // namespace softneuro
