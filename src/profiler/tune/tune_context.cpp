#include "profiler/tune/tune_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/checksum.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/graph/graph_key.h"
#include "net/tuned_plan.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

// Whether a layer may get a routine with this descriptor. What no layer gets is not asked about: a
// device that the tuning does without is not started.
bool takes_part(const CandidateRules& rules, const RoutineDescriptor& descriptor) {
  return descriptor.device.is_host() || matches_any_schema(descriptor, rules.schemas) ||
         std::ranges::any_of(rules.selection.pin,
                             [&](const auto& pin) { return matches_name(descriptor, pin.second); });
}

// What searches, finalists and adapts depend on besides what their own keys say. net_key() does not
// take it: a candidate's key names its problem and the routine's version, and what is known of it
// outlives changes of other routines.
std::uint64_t whole_key_of(const TuneJob& job, std::uint64_t graph) {
  std::string text = fmt::format("{:x}", graph);
  for (const Shape& shape : job.shapes) text += ';' + shape.str();
  const Registry& registry = job.runtime->registry();
  std::map<DeviceId, std::string> devices;
  for (const Routine* routine : registry.all()) {
    const RoutineDescriptor& descriptor = routine->descriptor();
    if (!takes_part(job.rules, descriptor)) continue;
    if (!descriptor.device.is_host() && !devices.contains(descriptor.device)) {
      const Result<Device*> device = registry.started_device(descriptor.device);
      devices.emplace(descriptor.device, device.ok() ? (*device)->name() : std::string());
    }
    const RoutineFacts facts = routine->facts();
    text += fmt::format("\n{} {} v{} {}", routine->layer_type(), descriptor.str(), facts.version,
                        facts.library);
  }
  for (const auto& [id, name] : devices)
    text += fmt::format("\n{} {} method {}", id.c_str(), name, constants::kDeviceMethod);
  for (const std::string& pattern : job.rules.selection.avoid) text += "\navoid " + pattern;
  for (const auto& [layer, pattern] : job.rules.selection.pin)
    text += fmt::format("\npin {} {}", layer, pattern);
  return checksum(text.data(), text.size());
}

}  // namespace

TuneContext::TuneContext(const TuneJob& given)
    : job(given),
      options(*given.options),
      barrier(given.runtime->pool()),
      graph_key(softneuro::graph_key(*given.graph)),
      whole_key(whole_key_of(given, graph_key)) {
  budget.cancel = options.cancel;
  budget.end = job.end;
  const int threads = job.runtime->pool().concurrency();
  const std::string machine = machine_name(threads);
  if (!options.cache.disabled)
    cache.open(options.cache.folder, machine, threads,
               [this](std::string message) { warn(std::move(message)); });
  space.graph = job.graph;
}

Result<std::shared_ptr<const Plan>> TuneContext::plan_of(const RoutinePath& path) const {
  return build_plan(job.runtime, job.graph, job.shapes, path, nullptr);
}

void TuneContext::forget_disturbed_rows() {
  const std::size_t rows = cache.disturbed_rows();
  if (rows == 0) return;
  const PoolBurst burst(job.runtime->pool());
  barrier.observe();
  if (barrier.disturbed()) return;
  job.runtime->log(
      LogLevel::info,
      fmt::format("{} rows of the profile cache were measured beside other processes and "
                  "are left out now that there are none",
                  rows));
  cache.forget_disturbed_rows();
}

std::size_t TuneContext::constant_bytes() const {
  std::size_t bytes = 0;
  for (TensorId id = 0; id < job.graph->tensor_count(); ++id)
    bytes += job.graph->tensor(id).constant.bytes();
  return bytes;
}

void TuneContext::end_stage_at(double share) {
  budget.end = job.end;
  if (!is_time_limited()) return;
  const auto left = job.end - begin;
  const auto measuring = left - std::min(constants::kVerificationTimes * job.model_time, left / 2);
  budget.end = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(measuring * share);
}

void TuneContext::expect(double seconds) {
  expected_end =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

RowKey TuneContext::net_key(const LayerCandidates& layer, const Candidate& candidate) const {
  return row_key(RowKind::net_time, graph_key, layer.layer.layer->id, candidate.key);
}

RowKey TuneContext::adapt_key(TensorId tensor, const Format& from, const Format& to) const {
  return row_key(RowKind::net_time, whole_key, "adapt", tensor, from.str(), to.str());
}

std::string TuneContext::path_key(const RoutinePath& path) const {
  std::vector<std::string> rows;
  for (const auto& [id, choice] : path.layers)
    rows.push_back(
        fmt::format("{} {} {} {}", id, choice.routine, choice.params.str(), choice.formats.str()));
  std::sort(rows.begin(), rows.end());
  std::string text;
  for (const std::string& row : rows) text += row + '\n';
  return fmt::format("{:x} {:x}", whole_key, checksum(text.data(), text.size()));
}

void TuneContext::warn(std::string message, LogLevel level) {
  job.runtime->log(level, message);
  if (level >= LogLevel::warning) warnings.push_back(std::move(message));
}

void TuneContext::report_progress(const char* stage, std::size_t done, std::size_t total,
                                  const std::string& layer, const std::string& candidate,
                                  double best_us) const {
  if (!options.progress) return;
  TuneProgress progress;
  progress.stage = stage;
  progress.done = done;
  progress.total = total;
  progress.layer = layer.c_str();
  progress.candidate = candidate.c_str();
  progress.best_us = best_us;
  if (const auto end = std::min(expected_end, job.end);
      end != std::chrono::steady_clock::time_point::max())
    progress.seconds_left = std::max(
        0.0, std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count());
  options.progress(progress);
}

bool TuneContext::needs_warmup() const {
  return barrier.disturbed() || constant_bytes() < constants::kManyBytes;
}

}  // namespace softneuro
