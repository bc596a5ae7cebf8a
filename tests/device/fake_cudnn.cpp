// cuDNN's graph API over descriptors that are strict about what is set, of which type, and in
// which order.
#if defined(SOFTNEURO_HAS_CUDNN)
#include "device/fake_cudnn.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

#include "device/fake_cuda.h"

namespace softneuro::test {
namespace {

std::atomic<int> made_plans = 0;

using Attribute = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;

struct Node;
using NodePtr = std::shared_ptr<Node>;

struct Value {
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<NodePtr> nodes;  // of CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Node {
  explicit Node(cudnnBackendDescriptorType_t of) : type(of) {}
  cudnnBackendDescriptorType_t type;
  bool is_finished = false;
  std::map<Attribute, Value> values;
  FakeGraph graph;                     // of an operation graph
  std::vector<NodePtr> results;        // of heuristics: configurations
  std::shared_ptr<FakeEngine> engine;  // of configurations, engines, plans
  std::size_t knob = 0;                // of a knob's choice

  bool has(Attribute name) const { return values.contains(name); }
  template <class T>
  T get(Attribute name, T fallback = {}, std::size_t i = 0) const {
    const auto found = values.find(name);
    if (found == values.end()) return fallback;
    T value;
    std::memcpy(&value, found->second.bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <std::size_t Count>
  std::array<std::int64_t, Count> list(Attribute name) const {
    std::array<std::int64_t, Count> all{};
    for (std::size_t i = 0; i < Count; ++i) all[i] = get<std::int64_t>(name, 0, i);
    return all;
  }
  const Node& node(Attribute name, std::size_t i = 0) const { return *values.at(name).nodes[i]; }
};

NodePtr& of(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<NodePtr*>(descriptor);
}

std::size_t size_of(Type type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;  // enumerations and float
  }
}

// --- which attributes there are ------------------------------------------------------------------

struct Rule {
  Attribute name = {};
  Type type = {};
  std::int64_t least = 0, most = 0;  // values
  bool is_required = true;
};
constexpr std::int64_t kMany = 1 << 20;

std::span<const Rule> rules_of(cudnnBackendDescriptorType_t type) {
  static constexpr Rule kTensor[] = {
      {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
      {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, 4},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, 4},
      {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
      {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false}};
  static constexpr Rule kConvolution[] = {
      {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
      {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
      {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, 2},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, 2},
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, 2}};
  static constexpr Rule kForward[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, 1}};
  static constexpr Rule kGradient[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, 1}};
  static constexpr Rule kPointwise[] = {
      {CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1},
      {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1},
      {CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, 1, false},
      {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, 1, false}};
  static constexpr Rule kStep[] = {
      {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false},
      {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
  static constexpr Rule kGraph[] = {
      {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 16}};
  static constexpr Rule kHeuristics[] = {
      {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
      {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1}};
  static constexpr Rule kPlan[] = {
      {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
      {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1}};
  static constexpr Rule kPack[] = {
      {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, kMany},
      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, kMany},
      {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1}};
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return kTensor;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return kConvolution;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return kForward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return kGradient;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return kPointwise;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return kStep;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return kGraph;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return kHeuristics;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return kPlan;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return kPack;
    default:
      return {};  // filled by the library
  }
}

// --- finishing -----------------------------------------------------------------------------------

FakeTensor tensor_of(const Node& node) {
  return {node.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
          node.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
          node.list<4>(CUDNN_ATTR_TENSOR_DIMENSIONS), node.list<4>(CUDNN_ATTR_TENSOR_STRIDES),
          node.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)};
}

bool is_float32(const Node& node, Attribute name) {
  return node.get<cudnnDataType_t>(name) == CUDNN_DATA_FLOAT;
}

bool read_convolution(const Node& node, FakeGraph& graph) {
  graph.is_gradient = node.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const auto pick = [&](Attribute gradient, Attribute forward) -> Attribute {
    return graph.is_gradient ? gradient : forward;
  };
  graph.image = tensor_of(node.node(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)));
  graph.filter = tensor_of(node.node(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)));
  graph.result = tensor_of(node.node(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)));
  const Node& window = node.node(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
  graph.before = window.list<2>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  graph.after = window.list<2>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  graph.strides = window.list<2>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  graph.dilations = window.list<2>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  graph.output = graph.made();
  const float one = node.get<float>(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
  const float zero = node.get<float>(pick(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
  return one == 1 && zero == 0 && graph.filter.type == graph.read().type && graph.is_consistent() &&
         is_float32(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) &&
         window.get<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
             CUDNN_CROSS_CORRELATION;
}

// An operation behind the others: it reads what the last one gave, which no other may.
bool read_step(const Node& node, FakeGraph& graph) {
  const Node& function = node.node(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  FakeStep step;
  step.mode = function.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  step.most = function.get<double>(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, HUGE_VAL);
  const bool is_addition = step.mode == CUDNN_POINTWISE_ADD;
  if (!is_addition && step.mode != CUDNN_POINTWISE_RELU_FWD) return false;
  if (is_addition != node.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) return false;
  if (!is_addition && function.get<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) !=
                          CUDNN_PROPAGATE_NAN)
    return false;
  if (is_addition) step.operand = tensor_of(node.node(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
  const FakeTensor read = tensor_of(node.node(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
  if (read.id != graph.output.id || !read.is_virtual || read.type != CUDNN_DATA_FLOAT) return false;
  graph.output = tensor_of(node.node(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  graph.steps.push_back(step);
  return graph.output.dims == read.dims && is_float32(function, CUDNN_ATTR_POINTWISE_MATH_PREC);
}

bool read_graph(Node& node) {
  const std::vector<NodePtr>& operations = node.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).nodes;
  if (!read_convolution(*operations[0], node.graph)) return false;
  for (std::size_t i = 1; i < operations.size(); ++i)
    if (operations[i]->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
        !read_step(*operations[i], node.graph))
      return false;
  return !node.graph.output.is_virtual;
}

// --- engines -------------------------------------------------------------------------------------

// Heuristics like the real ones: A puts first what is fastest, whatever it rounds; B does not know
// the graph; FALLBACK names one of A's again.
std::vector<FakeEngine> engines_for(const FakeGraph& graph, cudnnBackendHeurMode_t mode) {
  const bool is_float32 = graph.filter.type == CUDNN_DATA_FLOAT;
  const bool is_channels_last = graph.image.strides[1] == 1 && graph.image.dims[1] > 1;
  const bool is_fused = !graph.steps.empty();
  if (is_fused && !is_float32 && !is_channels_last) return {};  // as the real library
  FakeEngine fast = {.number = 30,
                     .knobs = {{CUDNN_KNOB_TYPE_TILEK, 1}, {CUDNN_KNOB_TYPE_TILE_SIZE, 5}}};
  fast.notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  if (is_float32) {
    fast.notes.push_back(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
    fast.rounds_factors = true;
  }
  const FakeEngine plain = {.number = 0, .workspace_bytes = 1000};
  if (mode == CUDNN_HEUR_MODE_FALLBACK) {
    if (graph.result.dims[1] % 4 != 0) return {plain};
    return {plain, {.number = 1, .is_reversed = true}};
  }
  std::vector<FakeEngine> engines = {fast};
  for (const auto note :
       {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_WINOGRAD,
        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION})
    engines.push_back({.number = 40 + note, .notes = {note}, .is_wrong = true});
  if (graph.result.dims[1] % 5 == 0) {
    engines.push_back({.number = 20, .refuses = true});
    engines.push_back({.number = 21, .workspace_bytes = std::int64_t{1} << 40, .is_wrong = true});
  }
  engines.push_back(plain);
  return engines;
}

cudnnStatus_t choose(Node& node) {
  const Node& graph = node.node(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const auto mode = node.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  if (mode == CUDNN_HEUR_MODE_B) return CUDNN_STATUS_NOT_SUPPORTED;
  for (FakeEngine& engine : engines_for(graph.graph, mode)) {
    auto config = std::make_shared<Node>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    config->engine = std::make_shared<FakeEngine>(std::move(engine));
    config->graph = graph.graph;
    config->is_finished = true;
    node.results.push_back(std::move(config));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make_plan(Node& node) {
  const Node& config = node.node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (config.engine->refuses) return CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT;
  node.engine = config.engine;
  node.graph = config.graph;
  ++made_plans;
  return CUDNN_STATUS_SUCCESS;
}

// --- entry points --------------------------------------------------------------------------------

struct Handle {
  CUstream stream = nullptr;
};

std::size_t version() {
  return 91900;
}
const char* error_string(cudnnStatus_t) {
  return "an error of the test's library";
}
void last_error_string(char* message, std::size_t bytes) {
  if (bytes > 0) message[0] = '\0';
}
cudnnStatus_t create(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t destroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type,
                                cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new NodePtr(std::make_shared<Node>(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor, Attribute name, Type type,
                            std::int64_t count, const void* values) {
  Node& node = *of(descriptor);
  if (node.is_finished || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  for (const Rule& rule : rules_of(node.type)) {
    if (rule.name != name) continue;
    if (rule.type != type) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (count < rule.least || count > rule.most) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
    Value value;
    value.count = count;
    const auto* const bytes = static_cast<const std::byte*>(values);
    value.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
    for (std::int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; ++i) {
      const auto part = static_cast<const cudnnBackendDescriptor_t*>(values)[i];
      if (part == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
      if (!of(part)->is_finished) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
      value.nodes.push_back(of(part));
    }
    node.values[name] = std::move(value);
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  Node& node = *of(descriptor);
  if (node.is_finished) return CUDNN_STATUS_BAD_PARAM;
  for (const Rule& rule : rules_of(node.type))
    if (rule.is_required && !node.has(rule.name)) return CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (node.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      for (const std::int64_t dim : node.list<4>(CUDNN_ATTR_TENSOR_DIMENSIONS))
        if (dim < 1) status = CUDNN_STATUS_BAD_PARAM;
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      if (!read_graph(node)) status = CUDNN_STATUS_BAD_PARAM;
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      status = choose(node);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      status = make_plan(node);
      break;
    default:
      break;
  }
  node.is_finished = status == CUDNN_STATUS_SUCCESS;
  return status;
}

// Into descriptors that the caller has made.
cudnnStatus_t fill(std::span<const NodePtr> from, std::int64_t room, std::int64_t* count,
                   void* to) {
  *count = static_cast<std::int64_t>(from.size());
  for (std::int64_t i = 0; i < std::min(room, *count); ++i) {
    const auto descriptor = static_cast<cudnnBackendDescriptor_t*>(to)[i];
    if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const NodePtr& source = from[static_cast<std::size_t>(i)];
    if (of(descriptor)->type != source->type || of(descriptor)->is_finished)
      return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
    of(descriptor) = source;
  }
  *count = std::min(room == 0 ? *count : room, *count);
  return CUDNN_STATUS_SUCCESS;
}

NodePtr part_of(const Node& node, cudnnBackendDescriptorType_t type, std::size_t knob = 0) {
  auto part = std::make_shared<Node>(type);
  part->engine = node.engine;
  part->knob = knob;
  part->is_finished = true;
  return part;
}

template <class T>
cudnnStatus_t give(std::span<const T> values, std::int64_t room, std::int64_t* count, void* to) {
  *count = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < std::min(room, *count); ++i)
    static_cast<T*>(to)[i] = values[static_cast<std::size_t>(i)];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor, Attribute name, Type type,
                            std::int64_t room, std::int64_t* count, void* values) {
  const Node& node = *of(descriptor);
  if (!node.is_finished) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  const auto is = [&](Attribute wanted, Type of_type) { return name == wanted && type == of_type; };
  if (is(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR))
    return fill(node.results, room, count, values);
  if (node.engine == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const FakeEngine& engine = *node.engine;
  if (is(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    const NodePtr part = part_of(node, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    return fill({&part, 1}, room, count, values);
  }
  if (is(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    std::vector<NodePtr> parts;
    for (std::size_t i = 0; i < engine.knobs.size(); ++i)
      parts.push_back(part_of(node, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, i));
    return fill(parts, room, count, values);
  }
  if (is(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE))
    return give<cudnnBackendKnobType_t>({&engine.knobs[node.knob].first, 1}, room, count, values);
  if (is(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64))
    return give<std::int64_t>({&engine.knobs[node.knob].second, 1}, room, count, values);
  if (is(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64))
    return give<std::int64_t>({&engine.number, 1}, room, count, values);
  if (is(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE))
    return give<cudnnBackendNumericalNote_t>(engine.notes, room, count, values);
  if (is(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64))
    return give<std::int64_t>({&engine.workspace_bytes, 1}, room, count, values);
  return CUDNN_STATUS_BAD_PARAM;
}

// Every tensor that is not virtual has a place, and nothing else has.
bool fits(const FakeGraph& graph, const std::map<std::int64_t, void*>& places) {
  std::vector<std::int64_t> ids = {graph.read().id, graph.filter.id, graph.output.id};
  for (const FakeStep& step : graph.steps)
    if (step.mode == CUDNN_POINTWISE_ADD) ids.push_back(step.operand.id);
  if (ids.size() != places.size()) return false;
  for (const std::int64_t id : ids) {
    const auto place = places.find(id);
    if (place == places.end() || place->second == nullptr ||
        reinterpret_cast<std::uintptr_t>(place->second) % 16 != 0)
      return false;
  }
  return true;
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                      cudnnBackendDescriptor_t pack) {
  const Node &work = *of(plan), &tensors = *of(pack);
  if (!work.is_finished || work.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      !tensors.is_finished || tensors.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  std::map<std::int64_t, void*> places;
  const std::int64_t count = tensors.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count;
  if (count != tensors.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count)
    return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    places[tensors.get<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 0, i)] =
        tensors.get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, nullptr, i);
  void* const workspace = tensors.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto workspace_bytes = static_cast<std::size_t>(work.engine->workspace_bytes);
  if (!fits(work.graph, places) || (workspace_bytes > 0 && workspace == nullptr))
    return CUDNN_STATUS_BAD_PARAM;
  const CUstream stream = reinterpret_cast<Handle*>(handle)->stream;
  const auto run = [graph = work.graph, engine = work.engine, places, workspace, workspace_bytes] {
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    compute(graph, *engine, places);
  };
  return put_into(stream, run) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

cuda::Cudnn make_cudnn() {
  cuda::Cudnn library;
  library.cudnnGetVersion = version;
  library.cudnnGetErrorString = error_string;
  library.cudnnGetLastErrorString = last_error_string;
  library.cudnnCreate = create;
  library.cudnnDestroy = destroy;
  library.cudnnSetStream = set_stream;
  library.cudnnBackendCreateDescriptor = create_descriptor;
  library.cudnnBackendDestroyDescriptor = destroy_descriptor;
  library.cudnnBackendSetAttribute = set_attribute;
  library.cudnnBackendGetAttribute = get_attribute;
  library.cudnnBackendFinalize = finalize;
  library.cudnnBackendExecute = execute;
  library.path = "the test's library";
  return library;
}

}  // namespace

Result<const cuda::Cudnn*> fake_cudnn() {
  static const cuda::Cudnn library = make_cudnn();
  return &library;
}

int fake_cudnn_plans() {
  return made_plans;
}

}  // namespace softneuro::test
#endif
