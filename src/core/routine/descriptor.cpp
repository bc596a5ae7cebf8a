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
  return precision() == DataType::float32 && layout == Layout::plain ? device.c_str()
                                                                     : schema_pattern();
}

std::string RoutineDescriptor::schema_pattern() const {
  std::string text = std::string(device.c_str()) + ':' + to_string(precision());
  if (layout != Layout::plain) text += ':' + to_string(layout);
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
    const std::string_view rest = schema.substr(schema.find(':') + 1);
    const std::size_t colon = rest.find(':');
    const auto precision = parse_precision(rest.substr(0, colon));
    const auto layout = colon == std::string_view::npos ? std::optional(Layout::plain)
                                                        : Layout::parse(rest.substr(colon + 1));
    if (!precision || !layout)
      return invalid_argument(
          "'{}' is not a schema: device[:data_type[:layout]], as cpu:float32:nhwc; tf32 may stand "
          "for the data type",
          schema);
    descriptor.type = precision->type;
    descriptor.arithmetic = precision->arithmetic;
    descriptor.layout = *layout;
  }
  return descriptor;
}

}  // namespace softneuro
