// Models of one node: every operator that the importer knows, with inputs of any rank and
// attributes of any length and size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/onnx/operators.h"
#include "import/onnx_model.h"

namespace softneuro::test {

inline constexpr int kUnknownRank = -1;

// All forms of all operators but those that are known and refused.
std::vector<onnx::Operator> all_operators();

// The attributes that random_use sets.
std::vector<std::string> attribute_names();

// Adds an input, or a constant whose value is known while importing. All dimensions are 2.
void add_operand(OnnxModel& model, const std::string& name, int rank, int type, bool constant);

// Everything about the model but the operator comes from `seed`.
OnnxModel random_use(const onnx::Operator& op, std::uint32_t seed);

}  // namespace softneuro::test
