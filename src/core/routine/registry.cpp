#include "core/routine/registry.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "core/base/error.h"

namespace softneuro {
namespace {

// What `complaint`(spec, "input" or "output", index) says first of a tensor of the problem, in
// words; empty: nothing. Constants and what is left out are not asked about.
template <class Complaint>
std::string first_complaint(const Problem& problem, Complaint&& complaint) {
  for (const auto& [specs, what] :
       {std::pair(&problem.inputs, "input"), std::pair(&problem.outputs, "output")})
    for (std::size_t i = 0; i < specs->size(); ++i) {
      const TensorSpec& spec = (*specs)[i];
      if (!spec.present() || spec.constant) continue;
      if (std::string text = complaint(spec, what, i); !text.empty()) return text;
    }
  return {};
}

// What every routine of a descriptor refuses alike, so that none has to ask. Not for adapts.
Applicability formats_fit(const Routine& routine, const Problem& problem) {
  const RoutineDescriptor& descriptor = routine.descriptor();
  const bool mixes_layouts = problem.type->formats == FormatRule::mixed_layout;
  bool laid_out = false;
  bool typed = false;
  const auto check = [&](const TensorSpec& spec, const char* what, std::size_t i) -> std::string {
    if (spec.layout != Layout::plain && spec.layout != descriptor.layout)
      return fmt::format("{} {} is {}, the routine's layout is {}", what, i, to_string(spec.layout),
                         to_string(descriptor.layout));
    if (spec.layout == Layout::plain && descriptor.layout != Layout::plain && !mixes_layouts &&
        spec.shape.rank() >= 3 && is_real(spec.type))
      return fmt::format("{} {} is plain, the routine's layout is {}", what, i,
                         to_string(descriptor.layout));
    if (spec.type == DataType::qint8 && descriptor.type != DataType::qint8)
      return fmt::format("{} {} is quantised", what, i);
    laid_out = laid_out || spec.layout == descriptor.layout;
    typed = typed || spec.type == descriptor.type;
    return {};
  };
  if (std::string reason = first_complaint(problem, check); !reason.empty())
    return Applicability::no(std::move(reason));
  if (!laid_out && descriptor.layout != Layout::plain)
    return Applicability::no(
        fmt::format("none of the layer's inputs and outputs is in the layout {}",
                    to_string(descriptor.layout)));
  if (!typed && descriptor.type != DataType::float32)
    return Applicability::no(fmt::format(
        "none of the layer's inputs and outputs has the data type {}", to_string(descriptor.type)));
  return Applicability::yes();
}

// A routine works on tensors of its device; an adapt may have the host on the other side.
Applicability devices_fit(const Routine& routine, const Problem& problem) {
  const DeviceId own = routine.descriptor().device;
  const bool is_adapt = problem.type->is_adapt();
  bool is_there = own.is_host() || !is_adapt;
  const auto check = [&](const TensorSpec& spec, const char* what, std::size_t i) -> std::string {
    is_there = is_there || spec.device == own;
    if (spec.device == own || (is_adapt && spec.device.is_host())) return {};
    return fmt::format("{} {} is on the device {}", what, i, spec.device.c_str());
  };
  if (std::string reason = first_complaint(problem, check); !reason.empty())
    return Applicability::no(std::move(reason));
  return is_there ? Applicability::yes()
                  : Applicability::no(fmt::format(
                        "none of the layer's inputs and outputs is on the device {}", own.c_str()));
}

Applicability processor_fits(const Routine& routine) {
  const CpuFeatures missing = routine.needs() - usable_features();
  return missing.empty() ? Applicability::yes() : Applicability::no("needs " + to_string(missing));
}

bool needs_unfused_post_ops(const Routine& routine, const Problem& problem) {
  return !problem.post_ops.empty() && !routine.supports_post_ops(problem);
}

// Kernels may keep tables by the dimensions that are not zero, which may be huge.
class EmptyKernel final : public Kernel {
 public:
  Status run(Context&) const noexcept override { return {}; }
};

bool writes_nothing(const Problem& problem) {
  return !problem.type->data_dependent_output &&
         std::all_of(problem.outputs.begin(), problem.outputs.end(), [](const TensorSpec& spec) {
           return !spec.present() || spec.shape.elements() == 0;
         });
}

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

UnfusedPostOps Registry::unfused_post_ops(const Routine& routine) const {
  const auto found = unfused_post_ops_.find(routine.descriptor().device);
  return found == unfused_post_ops_.end() ? UnfusedPostOps() : found->second;
}

Applicability Registry::check(const Routine& routine, const Problem& problem) const {
  if (Applicability processor = processor_fits(routine); !processor) return processor;
  if (Applicability devices = devices_fit(routine, problem); !devices) return devices;
  if (!problem.type->is_adapt())
    if (Applicability formats = formats_fit(routine, problem); !formats) return formats;
  if (!needs_unfused_post_ops(routine, problem)) return routine.applicable(problem);
  const UnfusedPostOps post_ops = unfused_post_ops(routine);
  if (post_ops.supports == nullptr)
    return Applicability::no("neither the routine nor its device supports the post-ops");
  if (Applicability tail = post_ops.supports(problem); !tail) return tail;
  return routine.applicable(without_post_ops(problem));
}

std::vector<Registry::RoutineCheck> Registry::explain(const Problem& problem) const {
  std::vector<RoutineCheck> candidates;
  for (const Routine* routine : routines(problem.type->name))
    candidates.push_back({routine, check(*routine, problem)});
  return candidates;
}

Result<const Routine*> Registry::default_choice(const Problem& problem,
                                                std::span<const std::string> schemas) const {
  const auto allowed = [&](const RoutineDescriptor& descriptor) {
    return schemas.empty() || problem.type->is_adapt() || matches_any_schema(descriptor, schemas);
  };
  const std::vector<RoutineCheck> candidates = explain(problem);
  const Routine* best = nullptr;
  const Routine* fallback = nullptr;  // cpu float32, outside of what the user allows
  for (const RoutineCheck& candidate : candidates) {
    if (!candidate.applicability) continue;
    const Routine*& place = allowed(candidate.routine->descriptor()) ? best : fallback;
    if (&place == &fallback && !matches_schema(candidate.routine->descriptor(), "cpu:float32"))
      continue;
    if (place == nullptr || candidate.routine->default_rank() > place->default_rank())
      place = candidate.routine;
  }
  if (best != nullptr) return best;
  if (fallback != nullptr) return fallback;
  const std::string reasons = refusals_of(candidates);
  return unsupported("layer '{}': no routine can compute {} ({})", problem.layer_name,
                     problem.str(), reasons.empty() ? "none is registered" : reasons);
}

std::string refusals_of(std::span<const Registry::RoutineCheck> candidates) {
  std::string text;
  for (const auto& [routine, applicability] : candidates)
    if (!applicability)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", routine->descriptor().str(),
                          applicability.reason());
  return text;
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
  if (next() != to_string(descriptor.type)) return false;
  return pattern.empty() || next() == to_string(descriptor.layout);
}

bool matches_any_schema(const RoutineDescriptor& descriptor,
                        std::span<const std::string> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return matches_schema(descriptor, pattern);
  });
}

Status check_schemas(const Registry& registry, std::span<const std::string> patterns) {
  const std::vector<const Routine*> routines = registry.all();
  for (const std::string& pattern : patterns) {
    const bool is_schema = RoutineDescriptor::parse(pattern + "/any").ok();
    if (is_schema && std::ranges::any_of(routines, [&](const Routine* routine) {
          return matches_schema(routine->descriptor(), pattern);
        }))
      continue;
    std::set<std::string> known;
    for (const Routine* routine : routines) {
      const RoutineDescriptor& descriptor = routine->descriptor();
      // As a pattern: "cpu" alone would mean every type.
      known.insert(std::string(descriptor.device.c_str()) + ':' +
                   Format{descriptor.type, descriptor.layout}.str());
    }
    return invalid_argument(
        "no routine here has the schema '{}' (device[:data_type[:layout]]); there are {}; "
        "softneuro "
        "doctor shows why a device is missing",
        pattern, fmt::join(known, ", "));
  }
  return {};
}

Problem without_post_ops(const Problem& problem) {
  Problem base = problem;
  base.post_ops.clear();
  base.inputs.resize(std::min<std::size_t>(base.own_inputs, base.inputs.size()));
  return base;
}

Problem base_problem(const Routine& routine, const Problem& problem) {
  return needs_unfused_post_ops(routine, problem) ? without_post_ops(problem) : problem;
}

Result<std::unique_ptr<Kernel>> Registry::create_kernel(const Routine& routine,
                                                        const Problem& problem,
                                                        const RoutineParams& params,
                                                        const PackedWeights& packed) const {
  if (writes_nothing(problem)) return make_kernel<EmptyKernel>();
  if (!needs_unfused_post_ops(routine, problem)) return routine.create(problem, params, packed);
  const UnfusedPostOps post_ops = unfused_post_ops(routine);
  if (post_ops.append == nullptr)
    return unsupported("neither {} nor its device takes post-ops", routine.descriptor().str());
  SN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> base,
                      routine.create(without_post_ops(problem), params, packed));
  return post_ops.append(std::move(base), problem);
}

}  // namespace softneuro
