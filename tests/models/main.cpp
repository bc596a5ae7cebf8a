// softneuro_models: real models with reference outputs, from import to result.
//
// Each folder below the given one holds a model and a case.json that names inputs, outputs and
// tolerance; data_K/ holds the tensors.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/element.h"
#include "core/error.h"
#include "npy.h"
#include "softneuro/net.h"
#include "support/tensor_difference.h"

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kSkipStatus = 77;

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

Result<std::string> compare_output(const Json& model, const Json& data, const Json& output,
                                   const fs::path& folder, const NamedTensors& results) {
  const std::string name = output.at("name");
  SN_ASSIGN_OR_RETURN(const Tensor reference,
                      read_npy((folder / output.at("file").get<std::string>()).string()));
  const auto found = results.find(name);
  if (found == results.end()) return invalid_argument("there is no output '{}'", name);
  const Tolerance tolerance = tolerance_for(model, data, name, reference);
  const std::string wrong = difference(found->second, reference, tolerance);
  if (!wrong.empty())
    return invalid_argument("output '{}': {} (tolerance {:g})", name, wrong, tolerance.absolute);
  if (is_row_of_scores(reference) && decision(found->second) != decision(reference))
    return invalid_argument("output '{}': the decision is {} instead of {}", name,
                            decision(found->second), decision(reference));
  return std::string();
}

Result<NamedTensors> read_inputs(const Json& data, const fs::path& folder) {
  NamedTensors inputs;
  for (const Json& input : data.at("inputs")) {
    SN_ASSIGN_OR_RETURN(Tensor tensor,
                        read_npy((folder / input.at("file").get<std::string>()).string()));
    inputs[input.at("name").get<std::string>()] = std::move(tensor);
  }
  return inputs;
}

// A model whose control flow depends on sizes is imported for those of each data set.
Result<Net> import_for(const std::string& path, const NamedTensors& inputs, ImportOptions options) {
  Result<Net> net = Net::import(path, options);
  if (net.ok() || net.status().code() != StatusCode::unsupported) return net;
  for (const auto& [name, tensor] : inputs) options.shapes[name] = tensor.shape();
  return Net::import(path, options);
}

Status run_data(const Net& net, const Json& model, const Json& data, const fs::path& folder,
                const NamedTensors& inputs) {
  Result<NamedTensors> results = net.run(inputs);
  if (!results.ok()) return results.status();
  for (const Json& output : data.at("outputs"))
    SN_RETURN_IF_ERROR(compare_output(model, data, output, folder, *results).status());
  return {};
}

Status run_model(const fs::path& folder, int threads) {
  std::ifstream file(folder / "case.json");
  const Json model = Json::parse(file);
  ImportOptions options;
  options.threads = threads;
  for (const Json& data : model.at("data")) {
    const std::string name = data.at("data");
    SN_ASSIGN_OR_RETURN(const NamedTensors inputs, read_inputs(data, folder / name));
    SN_ASSIGN_OR_RETURN(const Net net,
                        import_for((folder / "model.onnx").string(), inputs, options));
    Status status = run_data(net, model, data, folder / name, inputs);
    if (!status.ok()) return std::move(status).with_context(name);
  }
  return {};
}

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool usage = arguments.empty() || arguments[0].starts_with("-") || arguments.size() > 2;
  if (usage) {
    std::fputs(
        "softneuro_models FOLDER [NAME]   runs the models in FOLDER, or those with NAME in "
        "their names\n",
        stderr);
    return 2;
  }
  const std::string filter = arguments.size() > 1 ? arguments[1] : "";
  std::vector<fs::path> folders;
  if (fs::is_directory(arguments[0]))
    for (const fs::directory_entry& entry : fs::directory_iterator(arguments[0]))
      if (fs::exists(entry.path() / "case.json") && fs::exists(entry.path() / "model.onnx") &&
          entry.path().filename().string().find(filter) != std::string::npos)
        folders.push_back(entry.path());
  if (folders.empty()) {
    fmt::print("SKIPPED: there are no models in '{}'\n", arguments[0]);
    return kSkipStatus;
  }
  std::sort(folders.begin(), folders.end());
  std::size_t failed = 0;
  for (const fs::path& folder : folders) {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = run_model(folder, 2);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    fmt::print("{:<28} {} ({} ms)\n", folder.filename().string(),
               status.ok() ? "passed" : "FAILED: " + status.message(), spent.count());
    std::fflush(stdout);
    if (!status.ok()) ++failed;
  }
  fmt::print("{} of {} models passed\n", folders.size() - failed, folders.size());
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softneuro::test

int main(int argc, char** argv) {
  return softneuro::test::main(argc, argv);
}
