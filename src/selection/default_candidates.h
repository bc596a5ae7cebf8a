// What a default plan considers for each layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/routine/routine_path.h"

namespace softneuro {

struct DefaultCandidate {
  const Routine* routine = nullptr;  // null: a view
  RoutineParams params;
  FormatTuple formats;
  double cost = 0;  // estimated_cost() (default_path.h)
  // What a plan takes for a layer that its path does not name: the registry's default choice.
  bool is_implied = false;

  // Its time is 0: the cost is no time.
  Choice choice() const;
};

class DefaultCandidates {
 public:
  // Only schemas that match `schemas` (patterns; empty: all), which outlive this. On `device` as
  // far as it has routines.
  DefaultCandidates(const RoutineContext& context, std::span<const std::string> schemas,
                    DeviceId device = {})
      : context_(context), schemas_(schemas), device_(device) {}

  // On a device: its routine of highest rank in each of the formats in the model's types, else in
  // float32. Where it has none, and on the host: the registry's default choice first, then the
  // routine of highest rank in each of the other formats. A view may be on either.
  std::vector<DefaultCandidate> of(const Problem& problem) const;
  // The routine of highest rank in just these formats, added unless it is there already.
  void add_in(const FormatTuple& formats, const Problem& problem,
              std::vector<DefaultCandidate>& candidates) const;
  // For a choice on the device that does not apply: its routine with default parameters, else
  // another routine of the device in its formats, else of().
  std::vector<DefaultCandidate> instead_of(const Choice& choice, const Problem& problem) const;

 private:
  std::vector<DefaultCandidate> on_device(const Problem& problem) const;
  std::vector<DefaultCandidate> on_host(const Problem& problem) const;
  void add_float32(const Problem& problem, std::vector<DefaultCandidate>& candidates) const;
  void add_others(const Problem& problem, std::vector<DefaultCandidate>& candidates) const;
  bool is_eligible(const Routine& routine) const;
  std::vector<const Routine*> ranked(const Problem& problem, DeviceId device) const;

  RoutineContext context_;
  std::span<const std::string> schemas_;
  DeviceId device_;
};

}  // namespace softneuro
