// Which operators the importer knows: one table, made of the lists in operators/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace softneuro::onnx {

class Node;

// One form of an operator. The form that counts is the one with the highest `since` that is not
// above the model's operator set.
struct Operator {
  std::string_view name;
  int since = 1;
  int min_inputs = 0;                    // these must not be left out
  int max_inputs = 0;                    // −1: any number
  void (*import)(Node& node) = nullptr;  // null: recognised, and refused for `detail`
  // Tells apart the operators that share a handler: Node::detail().
  std::string_view detail = {};
};

// The lists, one per file of operators/.
std::span<const Operator> activation_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> constant_operators();
std::span<const Operator> control_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> elementwise_operators();
std::span<const Operator> gather_operators();
std::span<const Operator> matmul_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> quantization_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> refused_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> slicing_operators();

inline constexpr std::int64_t kOldestOpset = 6;
inline constexpr std::int64_t kNewestOpset = 28;

// The form of an operator of the default domain; null if there is none of that name, or only
// newer ones.
const Operator* find_operator(std::string_view name, std::int64_t opset);

}  // namespace softneuro::onnx
