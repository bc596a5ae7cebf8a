// The list of tests in a folder of ONNX backend test data.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace softneuro::test {

struct BackendTest {
  std::string suite;  // node, node_legacy, simple, pytorch-converted, pytorch-operator, light
  std::string name;
  std::string op;  // the operator that it is about
  int opset = 0;
  bool expanded = false;  // a function operator written out in its parts
  bool exotic = false;    // float8, int4 and other types that the runtime does not have
  std::string model;      // path of the model file
  // Folders with input_K.pb and output_K.pb; empty for `light`, whose data is made up.
  std::vector<std::string> data_sets;

  // A plain test of one operator.
  bool is_node_test() const {
    return (suite == "node" || suite == "node_legacy") && !expanded && !exotic;
  }
};

// Reads INDEX.tsv and looks for the files that it names. Empty if there is no such folder.
std::vector<BackendTest> read_suite(const std::string& folder);

// One operator per line, # begins a comment.
std::set<std::string> read_operators(const std::string& path);

}  // namespace softneuro::test
