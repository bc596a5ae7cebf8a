// A profile of layers for people (table), spreadsheets (CSV), scripts (JSON) and trace viewers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "layer_profile.h"

namespace softneuro::tool {

// Files to write besides what goes to standard output; empty: none.
struct ProfileFiles {
  std::string csv;
  std::string chrome;
  std::string svg;

  bool any() const { return !csv.empty() || !chrome.empty() || !svg.empty(); }
};
void add_profile_files(CLI::App& command, ProfileFiles& files);
// Writes those that are asked for.
Status write_profile_files(const NetProfile& profile, const PreparedRun& run,
                           const std::string& net, const ProfileFiles& files);

// One line per step, the sums per routine, and how the rows' sum agrees with whole runs.
std::string profile_table(const NetProfile& profile);
// RFC 4180, one record per step, titles first; times in µs.
std::string profile_csv(const NetProfile& profile);
// One object per step, under the keys of the CSV; "sources" and unknown figures as lists and null.
nlohmann::json profile_json(const NetProfile& profile);
// Trace event format (chrome://tracing, Perfetto): the run of median length.
nlohmann::json chrome_trace(const NetProfile& profile, const std::string& net);

}  // namespace softneuro::tool
