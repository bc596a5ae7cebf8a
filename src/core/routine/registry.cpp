#include "core/routine/registry.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "core/base/error.h"

namespace softneuro {
namespace {

// The order of a registry. Texts are made only where layer types are equal: a registry is made for
// every net.
bool comes_before(const Routine& a, const Routine& b) {
  const int order = a.layer_type().compare(b.layer_type());
  return order != 0 ? order < 0 : a.descriptor().str() < b.descriptor().str();
}

std::span<const std::unique_ptr<const Routine>> of_type(
    const std::vector<std::unique_ptr<const Routine>>& routines, std::string_view layer_type) {
  const auto begin =
      std::partition_point(routines.begin(), routines.end(),
                           [&](const auto& routine) { return routine->layer_type() < layer_type; });
  const auto end = std::find_if(begin, routines.end(), [&](const auto& routine) {
    return routine->layer_type() != layer_type;
  });
  return {begin, end};
}

}  // namespace

Registry::Registry(const LayerTypes& types) : types_(&types) {}
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;
Registry::~Registry() = default;

Status Registry::add(std::unique_ptr<const Routine> routine) {
  if (routine->descriptor().algorithm.empty())
    return internal_error("a routine of {} has a malformed descriptor", routine->layer_type());
  if (const DeviceId id = routine->descriptor().device; !id.is_host() && device(id) == nullptr)
    return invalid_argument("routine {} of {} works on a device that is not there",
                            routine->descriptor().str(), routine->layer_type());
  if (types_->find(routine->layer_type()) == nullptr)
    return invalid_argument("routine {} is for the layer type '{}', which does not exist",
                            routine->descriptor().str(), routine->layer_type());
  if (find(routine->layer_type(), routine->descriptor().str()) != nullptr)
    return invalid_argument("routine {} of {} is registered twice", routine->descriptor().str(),
                            routine->layer_type());
  const auto place =
      std::lower_bound(routines_.begin(), routines_.end(), routine,
                       [](const auto& a, const auto& b) { return comes_before(*a, *b); });
  routines_.insert(place, std::move(routine));
  return {};
}

std::vector<const Routine*> Registry::routines(std::string_view layer_type) const {
  std::vector<const Routine*> found;
  for (const auto& routine : of_type(routines_, layer_type)) found.push_back(routine.get());
  return found;
}

std::vector<const Routine*> Registry::all() const {
  std::vector<const Routine*> found;
  for (const auto& routine : routines_) found.push_back(routine.get());
  return found;
}

const Routine* Registry::find(std::string_view layer_type, std::string_view descriptor) const {
  for (const auto& routine : of_type(routines_, layer_type))
    if (routine->descriptor().str() == descriptor) return routine.get();
  return nullptr;
}

int Registry::device_number(DeviceId id) const {
  const auto found = device_numbers_.find(id);
  return found == device_numbers_.end() ? 0 : found->second;
}

Status Registry::add_device(std::unique_ptr<Device> device) {
  const DeviceId id = device->id();
  if (id.is_host() || !devices_.emplace(id, std::move(device)).second)
    return invalid_argument("there is a device {} already", id.c_str());
  return {};
}

Device* Registry::device(DeviceId id) const {
  const auto found = devices_.find(id);
  return found == devices_.end() ? nullptr : found->second.get();
}

Result<Device*> Registry::started_device(DeviceId id) const {
  Device* const found = device(id);
  if (found == nullptr) return unsupported("there is no device {} here", id.c_str());
  if (const Status status = found->start(); !status.ok())
    return unsupported("the device {} cannot be used: {}", id.c_str(), status.message());
  return found;
}

std::vector<const Device*> Registry::devices() const {
  std::vector<const Device*> found;
  for (const auto& [id, device] : devices_) found.push_back(device.get());
  return found;
}

Status Registry::upload(const Routine& routine, PackedWeights& packed) const {
  Device* const to = device(routine.descriptor().device);
  if (to == nullptr || packed.bytes.bytes() == 0 || packed.on_device != nullptr) return {};
  SN_ASSIGN_OR_RETURN(DeviceMemory memory,
                      softneuro::upload(*to, packed.bytes.data(), packed.bytes.bytes()));
  packed.on_device = std::make_shared<const DeviceMemory>(std::move(memory));
  return {};
}

void Registry::set_unfused_post_ops(DeviceId device, UnfusedPostOps post_ops) {
  unfused_post_ops_[device] = post_ops;
}

UnfusedPostOps Registry::unfused_post_ops(DeviceId device) const {
  const auto found = unfused_post_ops_.find(device);
  return found == unfused_post_ops_.end() ? UnfusedPostOps() : found->second;
}

bool matches_schema(const RoutineDescriptor& descriptor, std::string_view pattern) {
  const auto next = [&]() -> std::string_view {
    const std::size_t colon = pattern.find(':');
    const std::string_view part = pattern.substr(0, colon);
    pattern.remove_prefix(colon == std::string_view::npos ? pattern.size() : colon + 1);
    return part;
  };
  if (next() != descriptor.device.c_str()) return false;
  if (pattern.empty()) return true;
  if (next() != to_string(descriptor.precision())) return false;
  return pattern.empty() || next() == to_string(descriptor.layout);
}

bool matches_any_schema(const RoutineDescriptor& descriptor,
                        std::span<const std::string> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return matches_schema(descriptor, pattern);
  });
}

bool is_default_schema(const RoutineDescriptor& descriptor, std::span<const std::string> patterns) {
  if (descriptor.arithmetic == Arithmetic::of_type)
    return patterns.empty() || matches_any_schema(descriptor, patterns);
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return pattern.find(':') != std::string::npos && matches_schema(descriptor, pattern);
  });
}

namespace {

Status no_such_schema(const std::vector<const Routine*>& routines, const std::string& pattern) {
  std::set<std::string> known;
  for (const Routine* routine : routines) known.insert(routine->descriptor().schema_pattern());
  return invalid_argument(
      "no routine here has the schema '{}' (device[:data_type[:layout]]); there are {}; softneuro "
      "doctor shows why a device is missing",
      pattern, fmt::join(known, ", "));
}

}  // namespace

Status check_schemas(const Registry& registry, std::span<const std::string> patterns) {
  const std::vector<const Routine*> routines = registry.all();
  for (const std::string& pattern : patterns) {
    const auto schema = RoutineDescriptor::parse(pattern + "/any");
    const bool is_known = schema.ok() && std::ranges::any_of(routines, [&](const Routine* routine) {
                            return matches_schema(routine->descriptor(), pattern);
                          });
    if (!is_known) return no_such_schema(routines, pattern);
    if (!schema->device.is_host())
      SN_RETURN_IF_ERROR(registry.started_device(schema->device).status());
  }
  return {};
}

}  // namespace softneuro
