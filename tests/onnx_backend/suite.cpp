#include "onnx_backend/suite.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The operator that a test is about where the index does not say: the one that its name begins
// with, of all operators of its graph, or else the first of these.
std::string main_operator(const std::vector<std::string>& columns) {
  if (!columns[2].empty()) return columns[2];
  return columns.size() > 9 ? columns[9].substr(0, columns[9].find_first_of("+ ,")) : "";
}

void find_files(const fs::path& folder, BackendTest& test) {
  const fs::path test_folder = folder / test.suite / test.name;
  if (!fs::is_directory(test_folder)) {
    test.model = (folder / test.suite / (test.name + ".onnx")).string();
    return;
  }
  test.model = (test_folder / "model.onnx").string();
  for (const fs::directory_entry& entry : fs::directory_iterator(test_folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      test.data_sets.push_back(entry.path().string());
  std::sort(test.data_sets.begin(), test.data_sets.end());
}

}  // namespace

std::vector<BackendTest> read_suite(const std::string& folder) {
  std::vector<BackendTest> tests;
  std::ifstream index(fs::path(folder) / "INDEX.tsv");
  std::string line;
  std::getline(index, line);  // the heading
  while (std::getline(index, line)) {
    const std::vector<std::string> columns = split(line, '\t');
    if (columns.size() < 8) continue;
    BackendTest test;
    test.suite = columns[0];
    test.name = columns[1];
    test.op = main_operator(columns);
    test.opset = std::atoi(columns[3].c_str());
    test.expanded = !columns[7].empty() && columns[7] != "0";
    test.exotic = columns.size() > 8 && !columns[8].empty();
    find_files(folder, test);
    tests.push_back(std::move(test));
  }
  const fs::path light = fs::path(folder) / "light";
  if (!tests.empty() && fs::is_directory(light))
    for (const fs::directory_entry& entry : fs::directory_iterator(light)) {
      if (entry.path().extension() != ".onnx") continue;
      const std::string name = entry.path().stem().string();
      const bool listed = std::any_of(tests.begin(), tests.end(),
                                      [&](const BackendTest& test) { return test.name == name; });
      if (!listed) tests.push_back({"light", name, "light", 9, false, false, entry.path(), {}});
    }
  return tests;
}

std::set<std::string> read_operators(const std::string& path) {
  std::set<std::string> operators;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) operators.insert(line);
  }
  return operators;
}

}  // namespace softneuro::test
