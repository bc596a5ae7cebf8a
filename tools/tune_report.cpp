#include "tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "command.h"
#include "json_text.h"
#include "output.h"
#include "table.h"

namespace softneuro::tool {
namespace {

constexpr std::size_t kSensitivityRows = 12;  // that are shown

std::string decibels(double error) {
  return error > 0 ? fmt::format("{:.1f}", -20 * std::log10(error)) : "–";
}

// Which layers lose the most in 8 and 16 bits.
void print_sensitivity(const TuneReport& report) {
  if (report.sensitivity.empty()) return;
  print_out(
      "what reduced precision does, layer by layer (signal-to-noise ratio at the layer's and the "
      "net's output):\n");
  Table table({"layer", "routine", ">dB, own", ">dB, net", ">µs saved", "data type kept"});
  for (std::size_t i = 0; i < report.sensitivity.size() && i < kSensitivityRows; ++i) {
    const LayerSensitivity& row = report.sensitivity[i];
    table.add({row.layer, row.routine, decibels(row.own_error), decibels(row.net_error),
               fmt::format("{:.1f}", row.saved_us), row.is_kept ? "yes" : "no"});
  }
  print_lines(table.str() + '\n');
  if (report.sensitivity.size() > kSensitivityRows)
    print_out("{} more layers, each with less effect (--json has all)\n",
              report.sensitivity.size() - kSensitivityRows);
}

// How many layers are not computed in which other data type, or on which device, and why.
void print_not_chosen(const TuneReport& report) {
  std::map<std::pair<std::string, NotChosen::Reason>, std::size_t> counts;
  for (const TunedLayer& layer : report.layers)
    for (const NotChosen& row : layer.not_chosen) ++counts[{row.kind, row.reason}];
  if (counts.empty()) return;
  Table table({"not run in", ">layers", "reason"});
  for (const auto& [key, count] : counts)
    table.add({key.first, fmt::format("{}", count), to_string(key.second)});
  print_lines(table.str() + '\n');
}

void print_errors(const TuneReport& report, const std::string& metric) {
  print_sensitivity(report);
  if (report.validation_samples == 0) return;
  print_out("error {:.4g} ({}", report.error, metric);
  if (report.error_high > report.error_low)
    print_out(", 95 % interval {:.3g} to {:.3g}", report.error_low, report.error_high);
  print_out(") on {}", counted(report.validation_samples, "sample"));
  if (!std::isnan(report.agreement))
    print_out(", top-1 agreement {:.1f} %", 100 * report.agreement);
  print_out("\n");
}

void print_times(const TuneReport& report) {
  const std::string target =
      fmt::format("{}, {}", counted(report.threads, "thread"), report.machine);
  if (report.untuned_us <= 0 || report.tuned_us <= 0) {
    print_out("untuned and tuned were not compared end to end, {}\n", target);
    return;
  }
  print_out("untuned {:.3f} ms → tuned {:.3f} ms ({:.2f}x), {}\n", report.untuned_us * 1e-3,
            report.tuned_us * 1e-3, report.untuned_us / report.tuned_us, target);
  if (report.tuned_us == report.untuned_us)
    print_out("no faster path was found: the net keeps its default plan\n");
}

}  // namespace

void print_tune_report(const TuneReport& report, const std::string& metric) {
  if (report.layers.empty()) {
    print_out("the net has no layers: nothing to tune\n");
    return;
  }
  Table table({"layer", "type", "routine", "parameters", "formats", ">µs"});
  for (const TunedLayer& row : report.layers)
    table.add({row.layer, row.type, row.routine + (row.fallback ? " (fallback)" : ""), row.params,
               row.formats, fmt::format("{:.1f}", row.time_us)});
  print_lines(table.str() + '\n');
  print_not_chosen(report);
  for (const auto& [schema, us] : report.time_by_schema_us)
    print_out("{:<24} {:>10.1f} µs\n", schema, us);
  print_times(report);
  print_out(
      "tuned in {:.2f} s: {} measured, {} from the cache, {} dropped (wrong results or errors){}\n",
      report.seconds, report.measured, report.from_cache, report.rejected,
      report.complete ? "" : "; stopped at the time limit, not everything was measured");
  const auto unmeasured = std::count_if(report.layers.begin(), report.layers.end(),
                                        [](const TunedLayer& row) { return !row.is_measured; });
  if (!report.complete && unmeasured > 0)
    print_out("not measured, and computed by default routines: {} of {} layers\n", unmeasured,
              report.layers.size());
  else if (report.complete && report.gap > 0)
    print_out(
        "the solver's best path is not proven optimal: by the sum of measured times another may be "
        "faster by up to {:.1f} %\n",
        100 * report.gap);
  print_errors(report, metric);
  if (report.verification_inputs > 0)
    print_out(
        "verified against the model on {} {}: outputs differ by {:.3g} (relative RMS), within "
        "rounding tolerance\n",
        report.verification_inputs,
        std::string(report.verified_on_samples ? "sample" : "synthetic input") +
            (report.verification_inputs == 1 ? "" : "s"),
        report.difference);
  print_out("{:.1f} MiB of memory: arena of one session, and packed weights\n",
            mebibytes(report.memory));
  if (report.qint8_share > 0)
    print_out("{:.1f} % of the multiply-accumulates in qint8\n", 100 * report.qint8_share);
}

nlohmann::json tune_report_json(const TuneReport& report, const std::string& output) {
  nlohmann::json sensitivity = nlohmann::json::array();
  for (const LayerSensitivity& row : report.sensitivity)
    sensitivity.push_back({{"layer", row.layer},
                           {"routine", row.routine},
                           {"own_error", row.own_error},
                           {"net_error", row.net_error},
                           {"saved_us", row.saved_us},
                           {"is_kept", row.is_kept}});
  const auto not_chosen = [](const TunedLayer& layer) {
    nlohmann::json rows = nlohmann::json::array();
    for (const NotChosen& row : layer.not_chosen) {
      rows.push_back({{"kind", row.kind},
                      {"reason", to_string(row.reason)},
                      {"routine", row.routine},
                      {"time_us", nullptr}});
      if (row.time_us > 0) rows.back()["time_us"] = row.time_us;
    }
    return rows;
  };
  nlohmann::json layers = nlohmann::json::array();
  for (const TunedLayer& row : report.layers)
    layers.push_back({{"layer", row.layer},
                      {"type", row.type},
                      {"routine", row.routine},
                      {"params", row.params},
                      {"formats", row.formats},
                      {"sources", row.sources},
                      {"time_us", row.time_us},
                      {"unit_us", row.unit_us},
                      {"is_measured", row.is_measured},
                      {"candidates", row.candidates},
                      {"fallback", row.fallback},
                      {"not_chosen", not_chosen(row)}});
  return {{"file", output},
          {"untuned_ms", milliseconds(report.untuned_us)},
          {"tuned_ms", milliseconds(report.tuned_us)},
          {"seconds", report.seconds},
          {"measured", report.measured},
          {"from_cache", report.from_cache},
          {"rejected", report.rejected},
          {"gap", report.gap},
          {"error", report.error},
          {"error_low", report.error_low},
          {"error_high", report.error_high},
          {"validation_samples", report.validation_samples},
          {"within_limit", report.within_limit},
          {"memory_bytes", report.memory},
          {"sensitivity", std::move(sensitivity)},
          {"agreement", report.agreement},
          {"difference", report.difference},
          {"verification_inputs", report.verification_inputs},
          {"verified_on_samples", report.verified_on_samples},
          {"qint8_share", report.qint8_share},
          {"complete", report.complete},
          {"machine", report.machine},
          {"threads", report.threads},
          {"time_by_schema_us", report.time_by_schema_us},
          {"warnings", report.warnings},
          {"layers", std::move(layers)}};
}

}  // namespace softneuro::tool
