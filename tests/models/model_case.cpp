#include "models/model_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "core/base/element.h"
#include "core/base/error.h"
#include "npy.h"

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What one step of a quantised output is worth: the smallest gap between two of its values.
double quantum_of(const Tensor& reference) {
  if (reference.data_type() != DataType::float32) return 0;
  std::vector<float> values(reference.values<float>().begin(), reference.values<float>().end());
  std::sort(values.begin(), values.end());
  double smallest = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double gap = static_cast<double>(values[i]) - static_cast<double>(values[i - 1]);
    // Below this the values are no multiples of anything.
    if (gap > 1e-5 && (smallest == 0 || gap < smallest)) smallest = gap;
  }
  return smallest;
}

double optimisation_gap(const Json& data, const std::string& output) {
  const auto gaps = data.find("ort_noopt_vs_allopt_maxabs");
  if (gaps == data.end() || !gaps->is_object()) return 0;
  return gaps->value(output, 0.0);
}

// The rules are those of the collection's own description ("Tolerance").
Tolerance tolerance_for(const Json& model, const Json& data, const std::string& output,
                        const Tensor& reference) {
  const std::string hint = model.value("tolerance_hint", "");
  const double magnitude = std::max(1.0, largest_magnitude(reference));
  const Json ops = model.value("ops", Json::object());
  if (ops.contains("QuantizeLinear")) {
    double absolute = std::max(2 * optimisation_gap(data, output), quantum_of(reference));
    if (!hint.empty() && hint.find("quantum") == std::string::npos)
      absolute = std::max(absolute, std::atof(hint.c_str()));
    return {absolute, 0, 1};
  }
  if (hint.empty() || hint.starts_with("abs"))
    return {(reference.data_type() == DataType::float16 ? 2e-2 : 1e-4) * magnitude, 0, 0};
  return {std::atof(hint.c_str()), 0, 0};
}

// Index of the greatest element of the last axis of a single row; −1 for other shapes.
std::int64_t decision(const Tensor& tensor) {
  if (tensor.elements() < 2 || !is_float(tensor.data_type())) return -1;
  TensorView view;
  view.type = tensor.data_type();
  view.data = const_cast<void*>(tensor.data());
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.elements(); ++i)
    if (load(view, i) > load(view, best)) best = i;
  return best;
}

// A classifier's output: one row of scores.
bool is_row_of_scores(const Tensor& tensor) {
  std::int64_t longest = 0;
  for (const std::int64_t dim : tensor.shape().dims()) longest = std::max(longest, dim);
  return longest >= 10 && longest == tensor.elements();
}

Result<Tensor> read_tensor(const fs::path& folder, const Json& entry, const char* key) {
  return read_npy((folder / entry.at(key).get<std::string>()).string());
}

Result<DataSet> read_data(const Json& model, const Json& data, const fs::path& parent) {
  DataSet set;
  set.name = data.at("data");
  const fs::path folder = parent / set.name;
  for (const Json& input : data.at("inputs")) {
    SN_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(folder, input, "file"));
    set.inputs[input.at("name").get<std::string>()] = std::move(tensor);
  }
  for (const Json& output : data.at("outputs")) {
    ReferenceOutput reference;
    reference.name = output.at("name");
    SN_ASSIGN_OR_RETURN(reference.expected, read_tensor(folder, output, "file"));
    if (output.contains("unrounded")) {
      SN_ASSIGN_OR_RETURN(reference.unrounded, read_tensor(folder, output, "unrounded"));
    }
    reference.tolerance = tolerance_for(model, data, reference.name, reference.expected);
    set.outputs.push_back(std::move(reference));
  }
  return set;
}

}  // namespace

Result<ModelCase> read_case(const fs::path& folder) {
  std::ifstream file(folder / "case.json");
  const Json model = Json::parse(file, nullptr, false);
  if (model.is_discarded())
    return invalid_argument("'{}' is no JSON", (folder / "case.json").string());
  ModelCase found;
  found.name = folder.filename().string();
  found.model = folder / "model.onnx";
  found.ops = model.value("ops", Json::object());
  for (const Json& data : model.at("data")) {
    SN_ASSIGN_OR_RETURN(DataSet set, read_data(model, data, folder));
    found.data.push_back(std::move(set));
  }
  return found;
}

std::vector<fs::path> case_folders(const fs::path& parent, const std::string& filter,
                                   std::size_t& others) {
  std::vector<fs::path> folders;
  if (!fs::is_directory(parent)) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
    if (!fs::exists(entry.path() / "case.json") ||
        entry.path().filename().string().find(filter) == std::string::npos)
      continue;
    if (fs::exists(entry.path() / "model.onnx"))
      folders.push_back(entry.path());
    else
      ++others;
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<Net> import_for(const ModelCase& model, const DataSet& data, const NetOptions& options) {
  Result<Net> net = Net::import(model.model.string(), options);
  if (net.ok() || net.status().code() != StatusCode::unsupported) return net;
  ImportOptions fixed;
  for (const auto& [name, tensor] : data.inputs) fixed.shapes[name] = tensor.shape();
  return Net::import(model.model.string(), options, fixed);
}

std::string compare_output(const ReferenceOutput& reference, const NamedTensors& results) {
  const auto found = results.find(reference.name);
  if (found == results.end()) return fmt::format("there is no output '{}'", reference.name);
  const std::string wrong = difference(found->second, reference.expected, reference.tolerance);
  if (!wrong.empty())
    return fmt::format("output '{}': {} (tolerance {:g})", reference.name, wrong,
                       reference.tolerance.absolute);
  if (is_row_of_scores(reference.expected) &&
      decision(found->second) != decision(reference.expected))
    return fmt::format("output '{}': the decision is {} instead of {}", reference.name,
                       decision(found->second), decision(reference.expected));
  return {};
}

}  // namespace softneuro::test
