#include "import/operator_uses.h"

#include <limits>
#include <random>

namespace softneuro::test {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
// Above every rank that some operator works on.
constexpr int kMostDims = 6;

// All names that handlers ask for, so that a new operator is met as well.
constexpr const char* kLists[] = {"kernel_shape", "strides", "dilations", "pads",
                                  "output_shape", "axes",    "perm",      "split",
                                  "starts",       "ends",    "shape",     "output_padding"};
constexpr const char* kNumbers[] = {"group",
                                    "axis",
                                    "keepdims",
                                    "block_size",
                                    "blocksize",
                                    "batch_axis",
                                    "time_axis",
                                    "batch_dims",
                                    "num_groups",
                                    "num_heads",
                                    "q_num_heads",
                                    "kv_num_heads",
                                    "hidden_size",
                                    "rotary_embedding_dim",
                                    "size",
                                    "start",
                                    "end",
                                    "k",
                                    "to",
                                    "dtype",
                                    "output_dtype",
                                    "num_outputs",
                                    "p",
                                    "ceil_mode",
                                    "broadcast",
                                    "output_height",
                                    "sampling_ratio",
                                    "softmax_precision",
                                    "left_window_size",
                                    "is_causal",
                                    "layout",
                                    "onesided",
                                    "inverse"};
constexpr std::int64_t kExtremes[] = {0, 1, 2, 3, 4, -1, -2, 7, 255, INT32_MAX, kHuge, -kHuge - 1};

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : generator_(seed) {}
  std::size_t below(std::size_t n) { return generator_() % n; }
  int rank() { return static_cast<int>(below(kMostDims + 2)) + kUnknownRank; }
  std::int64_t number() { return kExtremes[below(std::size(kExtremes))]; }

 private:
  std::mt19937 generator_;
};

}  // namespace

std::vector<onnx::Operator> all_operators() {
  std::vector<onnx::Operator> all;
  for (const onnx::OperatorList list : onnx::operator_lists())
    for (const onnx::Operator& op : list())
      if (op.import != nullptr) all.push_back(op);
  return all;
}

std::vector<std::string> attribute_names() {
  std::vector<std::string> names(std::begin(kLists), std::end(kLists));
  names.insert(names.end(), std::begin(kNumbers), std::end(kNumbers));
  return names;
}

void add_operand(OnnxModel& model, const std::string& name, int rank, int type, bool constant) {
  if (constant && rank != kUnknownRank) {
    onnx::TensorProto& tensor = *model.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (int i = 0; i < rank; ++i) tensor.add_dims(2);
    for (int i = 0; i < 1 << rank; ++i) {
      if (type == kOnnxFloat) tensor.add_float_data(1);
      if (type == kOnnxInt64) tensor.add_int64_data(i % 3);
      if (type == kOnnxUint8 || type == kOnnxBool) tensor.add_int32_data(1);
    }
    return;
  }
  onnx::ValueInfoProto& info = *model.graph().add_input();
  info.set_name(name);
  onnx::TypeProto_Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  if (rank == kUnknownRank) return;
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  for (int i = 0; i < rank; ++i) shape.add_dim()->set_dim_value(2);
}

OnnxModel random_use(const onnx::Operator& op, std::uint32_t seed) {
  Chance chance(seed);
  // Half of all models are of the form's own operator set, half of the newest.
  const std::int64_t opset = chance.below(2) == 0
                                 ? onnx::kNewestOpset
                                 : std::max<std::int64_t>(op.since, onnx::kOldestOpset);
  OnnxModel model(static_cast<int>(opset));
  onnx::NodeProto& proto = *model.graph().add_node();
  proto.set_op_type(std::string(op.name));
  const std::size_t most = op.max_inputs < 0 ? 3 : static_cast<std::size_t>(op.max_inputs);
  const auto least = static_cast<std::size_t>(op.min_inputs);
  const std::size_t count = least + chance.below(std::max(most, least) - least + 1);
  constexpr int kTypes[] = {kOnnxFloat, kOnnxFloat, kOnnxInt64, kOnnxUint8, kOnnxBool};
  const int type = kTypes[chance.below(std::size(kTypes))];
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "x" + std::to_string(i);
    const int operand_type = chance.below(2) == 0 ? type : kTypes[chance.below(std::size(kTypes))];
    add_operand(model, name, chance.rank(), operand_type, chance.below(2) == 0);
    proto.add_input(name);
  }
  proto.add_output("y");
  OnnxNode node(proto);
  for (const char* name : kLists)
    if (chance.below(2) == 0) {
      std::vector<std::int64_t> values(chance.below(kMostDims + 1));
      for (std::int64_t& value : values) value = chance.number();
      node.integers(name, std::move(values));
    }
  for (const char* name : kNumbers)
    if (chance.below(3) == 0) node.integer(name, chance.number());
  model.output("y");
  return model;
}

}  // namespace softneuro::test
