#include "plugins/cuda/convolution/cudnn_graph.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

constexpr std::int64_t kAlignment = 16;  // bytes; tensors have kTensorAlignment
// Results between operations.
constexpr std::int64_t kFirstResultId = 100;

using Dims = std::array<std::int64_t, 4>;

cudnnDataType_t cudnn_type(DataType type) {
  switch (type) {
    case DataType::float16:
      return CUDNN_DATA_HALF;
    case DataType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

Dims strides_of(const Dims& dims, bool is_channels_last) {
  const auto& [n, c, h, w] = dims;
  return is_channels_last ? Dims{c * h * w, 1, w * c, c} : Dims{c * h * w, h * w, w, 1};
}

// Makes the descriptors of one graph.
class GraphBuilder {
 public:
  GraphBuilder(const CudnnCard& card, const ConvolutionSpec& spec, std::vector<CudnnDescriptor>& to)
      : card_(card), spec_(spec), parts_(to) {}

  Status build() {
    parts_.reserve(6 + 4 * spec_.steps.size());  // references to parts stay valid
    SN_RETURN_IF_ERROR(add_convolution());
    for (std::size_t i = 0; i < spec_.steps.size(); ++i) SN_RETURN_IF_ERROR(add_step(i));
    CudnnDescriptor& graph = add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (card_.handle != nullptr)
      graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, card_.handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<std::int64_t>(operations_.size()), operations_.data());
    return graph.finalize();
  }

 private:
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) {
    return parts_.emplace_back(*card_.cudnn, type);
  }
  Result<const CudnnDescriptor*> add_tensor(std::int64_t id, DataType type, const Dims& dims,
                                            bool is_virtual = false) {
    CudnnDescriptor& tensor = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(type))
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides_of(dims, spec_.is_channels_last))
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
    if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    SN_RETURN_IF_ERROR(tensor.finalize());
    return &tensor;
  }
  // What operation number i gives: y, or float32 that only the next one reads.
  Result<const CudnnDescriptor*> add_result(std::size_t i) {
    if (i == spec_.steps.size()) return add_tensor(kYId, spec_.type, spec_.y);
    return add_tensor(kFirstResultId + static_cast<std::int64_t>(i), DataType::float32, spec_.y,
                      true);
  }

  Result<const CudnnDescriptor*> add_window() {
    CudnnDescriptor& window = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    window.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spec_.pads_before)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spec_.pads_after)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spec_.strides)
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spec_.dilations);
    SN_RETURN_IF_ERROR(window.finalize());
    return &window;
  }

  // A transposed one is the gradient of a convolution by its input: x is what that gives.
  Status add_convolution() {
    SN_ASSIGN_OR_RETURN(const auto* const x, add_tensor(kXId, spec_.type, spec_.x));
    SN_ASSIGN_OR_RETURN(const auto* const w, add_tensor(kWId, spec_.type, spec_.w));
    SN_ASSIGN_OR_RETURN(const auto* const y, add_result(0));
    SN_ASSIGN_OR_RETURN(const auto* const window, add_window());
    const float one = 1, zero = 0;
    CudnnDescriptor& operation =
        add(spec_.is_transposed ? CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                                : CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    if (spec_.is_transposed)
      operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, *x)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, *w)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, *y)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, *window)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, one)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, zero);
    else
      operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, *x)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, *w)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *y)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, *window)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, one)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, zero);
    return finish(operation, y);
  }

  Status add_step(std::size_t i) {
    const FusedStep& step = spec_.steps[i];
    const bool is_relu = step.kind == FusedStep::Kind::relu;
    CudnnDescriptor& function = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function
        .set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
             is_relu ? CUDNN_POINTWISE_RELU_FWD : CUDNN_POINTWISE_ADD)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (is_relu)
      function.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                   CUDNN_PROPAGATE_NAN);
    if (is_relu && std::isfinite(step.most))
      function.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE,
                   static_cast<double>(step.most));
    SN_RETURN_IF_ERROR(function.finalize());
    const CudnnDescriptor* operand = nullptr;
    if (!is_relu) {
      const bool is_bias = step.kind == FusedStep::Kind::add_channel;
      SN_ASSIGN_OR_RETURN(operand, add_tensor(kFirstOperandId + static_cast<std::int64_t>(i),
                                              is_bias ? DataType::float32 : spec_.type,
                                              is_bias ? Dims{1, spec_.y[1], 1, 1} : spec_.y));
    }
    SN_ASSIGN_OR_RETURN(const auto* const result, add_result(i + 1));
    CudnnDescriptor& operation = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *result_);
    if (operand != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operand);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result);
    return finish(operation, result);
  }

  Status finish(CudnnDescriptor& operation, const CudnnDescriptor* result) {
    operations_.push_back(operation.get());
    result_ = result;
    return operation.finalize();
  }

  const CudnnCard& card_;
  const ConvolutionSpec& spec_;
  std::vector<CudnnDescriptor>& parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  const CudnnDescriptor* result_ = nullptr;  // of the last operation
};

bool is_allowed(std::span<const cudnnBackendNumericalNote_t> notes, const Precision& precision) {
  const bool is_exact = precision == DataType::float32;
  const bool is_tf32 = precision.arithmetic == Arithmetic::tf32;
  return std::ranges::all_of(notes, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // of float32: its factors are rounded to TF32
        return !is_exact;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return is_tf32;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        return true;
      default:
        return false;
    }
  });
}

// The engine that is configured.
Result<CudnnDescriptor> engine_of(const CudnnDescriptor& config, const Cudnn& cudnn) {
  CudnnDescriptor engine(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  SN_RETURN_IF_ERROR(engine.status());
  cudnnBackendDescriptor_t filled = engine.get();
  SN_RETURN_IF_ERROR(
      config.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &filled).status());
  return engine;
}

Result<bool> computes_in(const CudnnDescriptor& engine, const Precision& precision) {
  constexpr std::size_t kMostNotes = 32;  // later versions have more
  cudnnBackendNumericalNote_t notes[kMostNotes] = {};
  SN_ASSIGN_OR_RETURN(
      const std::int64_t count,
      engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, kMostNotes, notes));
  const auto known = std::min(static_cast<std::size_t>(count), kMostNotes);
  return is_allowed({notes, known}, precision);
}

// "eng34_k2.5_k13.1", with knobs in order of their numbers.
Result<std::string> name_of(const CudnnDescriptor& config, const CudnnDescriptor& engine,
                            const Cudnn& cudnn) {
  std::int64_t number = 0;
  SN_RETURN_IF_ERROR(
      engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number).status());
  std::vector<CudnnDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> to_fill;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(cudnn, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    SN_RETURN_IF_ERROR(choices.back().status());
    to_fill.push_back(choices.back().get());
  }
  SN_ASSIGN_OR_RETURN(const std::int64_t count,
                      config.read(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  static_cast<std::int64_t>(to_fill.size()), to_fill.data()));
  std::vector<std::pair<int, std::int64_t>> knobs;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, CUDNN_KNOB_TYPE_COUNTS); ++i) {
    const CudnnDescriptor& choice = choices[static_cast<std::size_t>(i)];
    cudnnBackendKnobType_t knob = CUDNN_KNOB_TYPE_COUNTS;
    std::int64_t value = 0;
    SN_RETURN_IF_ERROR(
        choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob).status());
    SN_RETURN_IF_ERROR(
        choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value).status());
    knobs.emplace_back(static_cast<int>(knob), value);
  }
  std::ranges::sort(knobs);
  std::string name = fmt::format("eng{}", number);
  for (const auto& [knob, value] : knobs) name += fmt::format("_k{}.{}", knob, value);
  return name;
}

// What one of the heuristics proposes; nothing where it does not know the graph.
Result<std::vector<CudnnDescriptor>> propose(const CudnnCard& card, const CudnnGraph& graph,
                                             cudnnBackendHeurMode_t mode) {
  std::vector<CudnnDescriptor> configs;
  CudnnDescriptor heuristic(*card.cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (card.handle == nullptr) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *card.description);
  if (const Status status = heuristic.finalize(); !status.ok()) {
    if (status.code() == StatusCode::unsupported) return configs;
    return status;
  }
  SN_ASSIGN_OR_RETURN(
      const std::int64_t count,
      heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  std::vector<cudnnBackendDescriptor_t> to_fill;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(*card.cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    SN_RETURN_IF_ERROR(configs.back().status());
    to_fill.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  SN_ASSIGN_OR_RETURN(const std::int64_t filled,
                      heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     count, to_fill.data()));
  while (static_cast<std::int64_t>(configs.size()) > filled) configs.pop_back();
  return configs;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type) noexcept
    : cudnn_(&cudnn) {
  status_ = cudnn.check(cudnn.cudnnBackendCreateDescriptor(type, &descriptor_),
                        "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : cudnn_(other.cudnn_),
      descriptor_(std::exchange(other.descriptor_, nullptr)),
      status_(std::move(other.status_)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(cudnn_, other.cudnn_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(status_, other.status_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnn_->cudnnBackendDestroyDescriptor(descriptor_);
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t attribute,
                                      cudnnBackendAttributeType_t type, std::int64_t count,
                                      const void* values) noexcept {
  if (status_.ok())
    status_ =
        cudnn_->check(cudnn_->cudnnBackendSetAttribute(descriptor_, attribute, type, count, values),
                      "cudnnBackendSetAttribute");
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t attribute,
                                      const CudnnDescriptor& part) noexcept {
  return set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part.descriptor_);
}

Status CudnnDescriptor::finalize() noexcept {
  if (status_.ok())
    status_ = cudnn_->check(cudnn_->cudnnBackendFinalize(descriptor_), "cudnnBackendFinalize");
  return status_;
}

Result<std::int64_t> CudnnDescriptor::read(cudnnBackendAttributeName_t attribute,
                                           cudnnBackendAttributeType_t type, std::int64_t room,
                                           void* values) const noexcept {
  std::int64_t count = 0;
  SN_RETURN_IF_ERROR(cudnn_->check(
      cudnn_->cudnnBackendGetAttribute(descriptor_, attribute, type, room, &count, values),
      "cudnnBackendGetAttribute"));
  return count;
}

Result<CudnnDescriptor> describe_card(const Cudnn& cudnn, const std::string& json) {
  CudnnDescriptor description(cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  static_cast<std::int64_t>(json.size()), json.data());
  SN_RETURN_IF_ERROR(description.finalize());
  return description;
}

std::string ConvolutionSpec::str() const {
  std::string text = fmt::format(
      "{}{} {} [{}] [{}] -> [{}] pads {}+{} strides {} dilations {}",
      is_transposed ? "transposed " : "", to_string(type), is_channels_last ? "nhwc" : "nchw",
      fmt::join(x, "x"), fmt::join(w, "x"), fmt::join(y, "x"), fmt::join(pads_before, "x"),
      fmt::join(pads_after, "x"), fmt::join(strides, "x"), fmt::join(dilations, "x"));
  for (const FusedStep& step : steps)
    text += fmt::format(" {}:{}", static_cast<int>(step.kind), step.most);
  return text;
}

Result<CudnnGraph> CudnnGraph::create(const CudnnCard& card, const ConvolutionSpec& spec) {
  CudnnGraph graph;
  SN_RETURN_IF_ERROR(GraphBuilder(card, spec, graph.parts_).build());
  return graph;
}

Result<std::vector<CudnnEngine>> find_engines(const CudnnCard& card, const CudnnGraph& graph,
                                              const Precision& precision) {
  std::vector<CudnnEngine> engines;
  // Mode B ranks by a model that takes longer; tuning measures instead.
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    SN_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> configs, propose(card, graph, mode));
    for (CudnnDescriptor& config : configs) {
      SN_ASSIGN_OR_RETURN(const CudnnDescriptor engine, engine_of(config, *card.cudnn));
      SN_ASSIGN_OR_RETURN(const bool allowed, computes_in(engine, precision));
      if (!allowed) continue;
      SN_ASSIGN_OR_RETURN(std::string name, name_of(config, engine, *card.cudnn));
      if (std::ranges::find(engines, name, &CudnnEngine::name) == engines.end())
        engines.push_back({std::move(name), std::move(config)});
    }
  }
  return engines;
}

Result<CudnnDescriptor> make_plan(const CudnnCard& card, const CudnnEngine& engine) {
  CudnnDescriptor plan(*card.cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.config);
  if (card.handle != nullptr)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, card.handle);
  else
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *card.description);
  SN_RETURN_IF_ERROR(plan.finalize());
  return plan;
}

}  // namespace softneuro::cuda
