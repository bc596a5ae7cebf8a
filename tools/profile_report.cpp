#include "profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "drawing.h"
#include "json_text.h"
#include "table.h"

namespace softneuro::tool {
namespace {

std::string routine_with_params(const ProfileRow& row) {
  return row.params.empty() ? row.routine : row.routine + " (" + row.params + ")";
}

// For a table: the first node and how many more there are; all of them are in CSV and JSON.
std::string short_sources(const ProfileRow& row) {
  if (row.sources.empty()) return "";
  return row.sources[0] +
         (row.sources.size() > 1 ? fmt::format(" + {} more", row.sources.size() - 1) : "");
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string layer_table(const NetProfile& profile) {
  Table table({"layer", "type", "routine", "formats", "output", "source nodes", ">µs", ">%",
               ">MMAC", ">GFLOP/s", ">GB/s"});
  for (const ProfileRow& row : profile.rows) {
    const bool multiplies = row.has_cost && row.cost.macs > 0;
    table.add({row.layer, row.type, routine_with_params(row), row.formats, row.output,
               short_sources(row), fmt::format("{:.1f}", row.us),
               fmt::format("{:.1f}", 100 * profile.share(row)),
               multiplies ? fmt::format("{:.2f}", row.cost.macs * 1e-6) : "",
               multiplies ? fmt::format("{:.1f}", row.gflops()) : "",
               row.has_cost ? fmt::format("{:.1f}", row.gigabytes_per_second()) : ""});
  }
  return table.str();
}

// The same by layer type and routine, the most expensive first.
std::string routine_table(const NetProfile& profile) {
  struct Sum {
    std::size_t layers = 0;
    double us = 0, macs = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const ProfileRow& row : profile.rows) {
    Sum& sum = sums[{row.type, row.routine}];
    ++sum.layers;
    sum.us += row.us;
    sum.macs += row.cost.macs;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  Table table({"type", "routine", ">layers", ">µs", ">%", ">GFLOP/s"});
  for (const auto& [key, sum] : sorted)
    table.add({key.first, key.second, std::to_string(sum.layers), fmt::format("{:.1f}", sum.us),
               fmt::format("{:.1f}", profile.sum_us > 0 ? 100 * sum.us / profile.sum_us : 0),
               sum.macs > 0 && sum.us > 0 ? fmt::format("{:.1f}", 2e-3 * sum.macs / sum.us) : ""});
  return table.str();
}

// A field of a CSV record.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Routines and measured times for a drawing of the plan's graph.
DrawingNotes profile_notes(const NetProfile& profile, const PlanImpl& plan,
                           const std::string& net) {
  DrawingNotes notes = notes_of(plan);
  notes.title = fmt::format("{}: {:.3f} ms", net, profile.untraced.median_ms());
  for (std::size_t s = 0; s < profile.rows.size(); ++s) {
    const ProfileRow& row = profile.rows[s];
    LayerNote& note = notes.layers[plan.steps[s].layer->id];
    note.us = row.us;
    if (row.has_cost && row.cost.macs > 0)
      note.description = fmt::format("{:.1f} GFLOP/s", row.gflops());
  }
  return notes;
}

nlohmann::json row_json(const NetProfile& profile, std::size_t step) {
  const ProfileRow& row = profile.rows[step];
  nlohmann::json out = {{"step", step},
                        {"layer", row.layer},
                        {"type", row.type},
                        {"routine", row.routine},
                        {"params", row.params},
                        {"formats", nullptr},
                        {"output", nullptr},
                        {"sources", row.sources},
                        {"us", row.us},
                        {"share", profile.share(row)},
                        {"median_us", row.median_us},
                        {"min_us", row.min_us}};
  for (const char* key : {"macs", "bytes", "gflops", "gb_per_s"}) out[key] = nullptr;
  if (!row.has_cost) return out;  // what depends on data is not known
  out["formats"] = row.formats;
  out["output"] = row.output;
  out["macs"] = row.cost.macs;
  out["bytes"] = row.cost.bytes;
  out["gb_per_s"] = row.gigabytes_per_second();
  if (row.cost.macs > 0) out["gflops"] = row.gflops();
  return out;
}

}  // namespace

std::string profile_table(const NetProfile& profile) {
  return fmt::format(
      "{}\n{}\nsum of {} steps {:.3f} ms, whole runs without per-step timing {:.3f} ms: {:.1f} %\n",
      layer_table(profile), routine_table(profile), profile.rows.size(), profile.sum_us * 1e-3,
      profile.untraced.quiet_ms(), 100 * profile.agreement());
}

std::string profile_csv(const NetProfile& profile) {
  std::string text =
      "step,layer,type,routine,params,formats,output,sources,us,share,median_us,min_us,macs,bytes,"
      "gflops,gb_per_s\r\n";
  for (std::size_t s = 0; s < profile.rows.size(); ++s) {
    const ProfileRow& row = profile.rows[s];
    const bool multiplies = row.has_cost && row.cost.macs > 0;
    text += joined({std::to_string(s), field(row.layer), field(row.type), field(row.routine),
                    field(row.params), field(row.formats), field(row.output),
                    field(joined(row.sources, ";")), fmt::format("{:.3f}", row.us),
                    fmt::format("{:.6f}", profile.share(row)), fmt::format("{:.3f}", row.median_us),
                    fmt::format("{:.3f}", row.min_us),
                    row.has_cost ? fmt::format("{:.0f}", row.cost.macs) : "",
                    row.has_cost ? fmt::format("{:.0f}", row.cost.bytes) : "",
                    multiplies ? fmt::format("{:.3f}", row.gflops()) : "",
                    row.has_cost ? fmt::format("{:.3f}", row.gigabytes_per_second()) : ""},
                   ",") +
            "\r\n";
  }
  return text;
}

nlohmann::json profile_json(const NetProfile& profile) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t s = 0; s < profile.rows.size(); ++s) rows.push_back(row_json(profile, s));
  return rows;
}

nlohmann::json chrome_trace(const NetProfile& profile, const std::string& net) {
  const auto event = [](const std::string& name, const std::string& category, std::int64_t begin_ns,
                        std::int64_t end_ns, nlohmann::json details) {
    return nlohmann::json{{"name", name},
                          {"cat", category},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", 1},
                          {"ts", static_cast<double>(begin_ns) * 1e-3},
                          {"dur", static_cast<double>(end_ns - begin_ns) * 1e-3},
                          {"args", std::move(details)}};
  };
  nlohmann::json events = nlohmann::json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", net}}}});
  events.push_back(event("run", "run", 0, profile.run_ns, nlohmann::json::object()));
  for (std::size_t s = 0; s < profile.spans.size(); ++s)
    events.push_back(event(profile.rows[s].layer, profile.rows[s].type, profile.spans[s].begin_ns,
                           profile.spans[s].end_ns, row_json(profile, s)));
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

void add_profile_files(CLI::App& command, ProfileFiles& files) {
  command.add_option("--csv", files.csv, "write the time per layer as CSV");
  command.add_option("--chrome", files.chrome,
                     "write one run as a trace for chrome://tracing or Perfetto");
  command.add_option("--svg", files.svg, "draw the net with routines and times (needs Graphviz)");
}

Status write_profile_files(const NetProfile& profile, const PreparedRun& run,
                           const std::string& net, const ProfileFiles& files) {
  if (!files.csv.empty())
    if (Status status = write_text(profile_csv(profile), files.csv); !status.ok()) return status;
  if (!files.chrome.empty()) {
    const std::string trace = json_text(chrome_trace(profile, net), 1);
    if (Status status = write_text(trace, files.chrome); !status.ok()) return status;
  }
  if (files.svg.empty()) return {};
  return write_svg(
      to_dot(*impl_of(*run.plan).graph, profile_notes(profile, impl_of(*run.plan), net)),
      files.svg);
}

}  // namespace softneuro::tool
