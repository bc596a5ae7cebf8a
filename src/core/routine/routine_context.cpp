#include "core/routine/routine_context.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/routine/registry.h"

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
  if (!typed && descriptor.precision() != DataType::float32)
    return Applicability::no(fmt::format(
        "none of the layer's inputs and outputs has the data type {}", to_string(descriptor.type)));
  return Applicability::yes();
}

// A routine works on tensors of its device; an adapt may have the host on the other side.
Applicability devices_fit(const Routine& routine, const Problem& problem) {
  const DeviceId device = routine.descriptor().device;
  const bool is_adapt = problem.type->is_adapt();
  bool is_there = device.is_host() || !is_adapt;
  const auto check = [&](const TensorSpec& spec, const char* what, std::size_t i) -> std::string {
    is_there = is_there || spec.device == device;
    if (spec.device == device || (is_adapt && spec.device.is_host())) return {};
    return fmt::format("{} {} is on the device {}", what, i, spec.device.c_str());
  };
  if (std::string reason = first_complaint(problem, check); !reason.empty())
    return Applicability::no(std::move(reason));
  return is_there
             ? Applicability::yes()
             : Applicability::no(fmt::format(
                   "none of the layer's inputs and outputs is on the device {}", device.c_str()));
}

Applicability processor_fits(const Routine& routine) {
  const CpuFeatures missing = routine.facts().needs - usable_features();
  return missing.empty() ? Applicability::yes() : Applicability::no("needs " + to_string(missing));
}

// The problem is on a device, so that somebody means to use it.
Applicability device_starts(const Routine& routine, const Registry& registry) {
  const DeviceId device = routine.descriptor().device;
  if (device.is_host()) return Applicability::yes();
  const Status status = registry.started_device(device).status();
  return status.ok() ? Applicability::yes() : Applicability::no(std::string(status.message()));
}

Applicability check_before(const Routine& routine, const Registry& registry,
                           const Problem& problem) {
  if (Applicability processor = processor_fits(routine); !processor) return processor;
  if (Applicability devices = devices_fit(routine, problem); !devices) return devices;
  if (Applicability device = device_starts(routine, registry); !device) return device;
  return problem.type->is_adapt() ? Applicability::yes() : formats_fit(routine, problem);
}

// Routines by falling rank, where no schema rules one out; in equal ranks in order of descriptor.
std::vector<const Routine*> ranked(const Registry& registry, const Problem& problem,
                                   std::span<const std::string> schemas) {
  const auto is_allowed = [&](const RoutineDescriptor& descriptor) {
    return problem.type->is_adapt() || is_default_schema(descriptor, schemas);
  };
  struct Ranked {
    const Routine* routine;
    bool allowed;
    int rank;
  };
  std::vector<Ranked> all;
  for (const Routine* routine : registry.routines(problem.type->name)) {
    const bool allowed = is_allowed(routine->descriptor());
    if (allowed || matches_schema(routine->descriptor(), "cpu:float32"))
      all.push_back({routine, allowed, routine->facts().default_rank});
  }
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
    return a.allowed != b.allowed ? a.allowed : a.rank > b.rank;
  });
  std::vector<const Routine*> routines;
  routines.reserve(all.size());
  for (const Ranked& ranked : all) routines.push_back(ranked.routine);
  return routines;
}

}  // namespace

RoutineContext RoutineContext::inside_childnet() const {
  RoutineContext inside = *this;
  ++inside.childnet_depth_;
  return inside;
}

Result<ImplementationPtr> RoutineContext::analyse(const Routine& routine,
                                                  const ProblemPtr& problem) const {
  SN_RETURN_IF_ERROR(check_before(routine, *registry_, *problem).status());
  SN_ASSIGN_OR_RETURN(std::shared_ptr<Implementation> made, routine.implement(problem, *this));
  if (made->problem().post_ops.empty() && !problem->post_ops.empty()) {  // they are left to do
    const UnfusedPostOps unfused = registry_->unfused_post_ops(routine.descriptor().device);
    if (unfused.supports == nullptr)
      return unsupported("neither the routine nor its device supports the post-ops");
    SN_RETURN_IF_ERROR(unfused.supports(*problem).status());
    made->tail_ = {problem, unfused.append};
  }
  return ImplementationPtr(std::move(made));
}

Result<ImplementationPtr> RoutineContext::implement(const Routine& routine,
                                                    const ProblemPtr& problem) const {
  SN_ASSIGN_OR_RETURN(ImplementationPtr made, analyse(routine, problem));
  SN_RETURN_IF_ERROR(made->applicable().status());
  return made;
}

Result<ImplementationPtr> RoutineContext::implement(const Routine& routine, Problem problem) const {
  return implement(routine, std::make_shared<const Problem>(std::move(problem)));
}

Result<ImplementationPtr> RoutineContext::implement(const Routine& routine, Problem problem,
                                                    const RoutineParams& params) const {
  SN_ASSIGN_OR_RETURN(ImplementationPtr made,
                      analyse(routine, std::make_shared<const Problem>(std::move(problem))));
  SN_RETURN_IF_ERROR(made->check_params(params).status());
  return made;
}

Applicability RoutineContext::check(const Routine& routine, Problem problem) const {
  const auto made = implement(routine, std::move(problem));
  return made.ok() ? Applicability::yes() : Applicability::no(std::string(made.status().message()));
}

std::vector<RoutineAnswer> RoutineContext::explain(const ProblemPtr& problem) const {
  std::vector<RoutineAnswer> answers;
  for (const Routine* routine : registry_->routines(problem->type->name)) {
    RoutineAnswer answer{routine, nullptr, {}};
    if (auto made = implement(*routine, problem); made.ok())
      answer.implementation = *std::move(made);
    else
      answer.reason = made.status().message();
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::vector<ImplementationPtr> RoutineContext::instead_of(const Routine& routine,
                                                          const ProblemPtr& problem) const {
  std::vector<ImplementationPtr> others;
  for (const Routine* const other : registry_->routines(problem->type->name)) {
    const RoutineDescriptor& descriptor = other->descriptor();
    const bool is_as_exact = descriptor.arithmetic == Arithmetic::of_type ||
                             descriptor.arithmetic == routine.descriptor().arithmetic;
    if (other == &routine || descriptor.device != routine.descriptor().device || !is_as_exact)
      continue;
    if (auto made = implement(*other, problem); made.ok()) others.push_back(*std::move(made));
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const ImplementationPtr& a, const ImplementationPtr& b) {
                     return a->routine().facts().default_rank > b->routine().facts().default_rank;
                   });
  return others;
}

Result<ImplementationPtr> RoutineContext::default_choice(
    const ProblemPtr& problem, std::span<const std::string> schemas) const {
  for (const Routine* routine : ranked(*registry_, *problem, schemas))
    if (auto made = implement(*routine, problem); made.ok()) return made;
  const std::string reasons = refusals_of(explain(problem));
  return unsupported("layer '{}': no routine can compute {} ({})", problem->layer_name,
                     problem->str(), reasons.empty() ? "none is registered" : reasons);
}

Result<ImplementationPtr> RoutineContext::default_choice(
    Problem problem, std::span<const std::string> schemas) const {
  return default_choice(std::make_shared<const Problem>(std::move(problem)), schemas);
}

std::string refusals_of(std::span<const RoutineAnswer> answers) {
  std::string text;
  for (const RoutineAnswer& answer : answers)
    if (answer.implementation == nullptr)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", answer.routine->descriptor().str(),
                          answer.reason);
  return text;
}

}  // namespace softneuro
