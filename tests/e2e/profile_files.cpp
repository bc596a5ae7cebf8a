// What `profile` and `bench --profile` write can be read back and agrees with itself: JSON, CSV and
// the trace have the same steps in the same order, every step names its source nodes, shares add
// up, and the steps of the trace follow each other within the run. No time is judged.
//
//   profile_files TOOL MODEL SHAPE   SHAPE: NAME=1x3x32x32, of the model's input
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), path + " is not there");
  return {std::istreambuf_iterator<char>(file), {}};
}

// A line of each record; fields with commas and quotes are taken apart.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = records.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      records.back().emplace_back();
    } else if (text[i] == '\n') {
      records.push_back({""});
    } else if (text[i] != '\r') {
      field += text[i];
    }
  }
  require(records.back().size() == 1 && records.back()[0].empty(), "the CSV has no last newline");
  records.pop_back();
  return records;
}

void check_rows(const json& layers) {
  require(layers.size() > 3, "too few rows to say anything");
  double share = 0, macs = 0;
  for (const json& row : layers) {
    const std::string layer = row.at("layer");
    require(!row.at("sources").empty(), layer + " names no source node");
    require(!row.at("routine").get<std::string>().empty(), layer + " names no routine");
    require(row.at("us").get<double>() >= 0 && row.at("min_us") <= row.at("median_us"),
            layer + " has impossible times");
    share += row.at("share").get<double>();
    if (row.at("macs").is_number()) macs += row.at("macs").get<double>();
  }
  require(std::fabs(share - 1) < 1e-6, "the shares add up to " + std::to_string(share));
  require(macs > 0, "no layer has multiply-accumulates");
}

void check_csv(const std::string& text, const json& layers) {
  const auto records = parse_csv(text);
  require(records.size() == layers.size() + 1, "the CSV has another number of rows");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    require(records[i + 1].size() == records[0].size(), "a CSV record has missing fields");
    require(records[i + 1][1] == layers[i].at("layer") && records[i + 1][2] == layers[i].at("type"),
            "the CSV has other rows than the JSON");
  }
}

void check_trace(const json& trace, const json& layers) {
  std::vector<json> spans;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") spans.push_back(event);
  require(spans.size() == layers.size() + 1, "the trace has another number of steps");
  const double end = spans[0].at("dur").get<double>();  // of the whole run
  double place = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const json& span = spans[i + 1];
    require(span.at("name") == layers[i].at("layer"), "the trace has other steps than the JSON");
    require(span.at("ts").get<double>() >= place - 1e-3, "steps of the trace overlap");
    place = span.at("ts").get<double>() + span.at("dur").get<double>();
  }
  require(place <= end + 1e-3, "the trace's steps end behind its run");
}

void check_command(const std::string& command, const std::string& folder) {
  const std::string csv = folder + "/layers.csv", chrome = folder + "/trace.json",
                    report = folder + "/report.json";
  const std::string line = command + " --seconds 0 --json --csv '" + csv + "' --chrome '" + chrome +
                           "' >'" + report + "'";
  require(std::system(line.c_str()) == 0, "this failed: " + line);
  const json layers = json::parse(read_text(report)).at("layers");
  check_rows(layers);
  check_csv(read_text(csv), layers);
  check_trace(json::parse(read_text(chrome)), layers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char folder[] = "/tmp/softneuro-profile-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  int status = 0;
  try {
    const std::string tool = std::string("'") + argv[1] + "' ";
    const std::string net = std::string(" '") + argv[2] + "' --shape '" + argv[3] + "'";
    check_command(tool + "profile" + net, folder);
    check_command(tool + "bench --profile" + net, folder);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    status = 1;
  }
  std::filesystem::remove_all(folder);
  return status;
}
