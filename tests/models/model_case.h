// A model with reference outputs: a folder with model.onnx, a case.json that names inputs, outputs
// and tolerance, and data_K/ with the tensors.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "softneuro/net.h"
#include "support/tensor_difference.h"

namespace softneuro::test {

inline constexpr int kSkipStatus = 77;  // ctest's SKIP_RETURN_CODE

// An output of one data set, as it should be.
struct ReferenceOutput {
  std::string name;
  Tensor expected;
  Tolerance tolerance;  // of an untuned net, by the rules of the collection's own description
  // Quantised models that the tests prepared: what the model computes if its quantised tensors are
  // clamped to their ranges, but not rounded. Empty where it is not known.
  Tensor unrounded;
};

struct DataSet {
  std::string name;
  NamedTensors inputs;
  std::vector<ReferenceOutput> outputs;
};

struct ModelCase {
  std::string name;
  std::filesystem::path model;
  nlohmann::json ops = nlohmann::json::object();  // operator → how often
  std::vector<DataSet> data;

  bool quantised() const { return ops.contains("QuantizeLinear") || ops.contains("QLinearConv"); }
};

Result<ModelCase> read_case(const std::filesystem::path& folder);

// The folders below `parent` that hold a model in a format that can be imported and have `filter`
// in their names, sorted. `others` counts the cases whose models have another format.
std::vector<std::filesystem::path> case_folders(const std::filesystem::path& parent,
                                                const std::string& filter, std::size_t& others);

// A model whose control flow depends on sizes is imported for those of the data set.
Result<Net> import_for(const ModelCase& model, const DataSet& data, const NetOptions& options);

// Compares element by element, and the decision of a row of scores. Empty if all is well.
std::string compare_output(const ReferenceOutput& reference, const NamedTensors& results);

}  // namespace softneuro::test
