#include "core/plugin/childnet.h"

#if !defined(SOFTNEURO_NO_PLUGINS)
#include <cstring>

#include "core/base/error.h"
#include "core/childnet/childnet.h"
#include "core/layers/builtin_layers.h"

// The net that a plugin builds. The first failure stays: after it nothing is added.
struct sn_plugin_net {
  softneuro::Graph& graph;
  const std::vector<softneuro::TensorId>& inputs;
  softneuro::Params params;
  softneuro::Status failure;
};

namespace softneuro {
namespace {

constexpr std::int32_t kNone = -1;

std::int32_t to_number(TensorId id) {
  return id == kNoTensor ? kNone : static_cast<std::int32_t>(id);
}

Result<TensorId> to_tensor(const Graph& graph, std::int32_t number) {
  if (number == kNone) return kNoTensor;
  if (number < 0 || static_cast<std::size_t>(number) >= graph.tensor_count())
    return invalid_argument("there is no tensor {} in the net", number);
  return static_cast<TensorId>(number);
}

Result<TensorId> add_constant(sn_plugin_net& net, std::int32_t type, std::int32_t rank,
                              const std::int64_t* dims, const void* data) {
  if (rank < 0 || rank > kMaxRank)
    return invalid_argument("a constant of the net has the rank {}", rank);
  const Shape shape(std::span<const std::int64_t>(dims, static_cast<std::size_t>(rank)));
  const auto value_type = static_cast<DataType>(type);
  if (size_of(value_type) == 0 || value_type == DataType::qint8 || shape.elements() < 0)
    return invalid_argument("a constant of the net has the data type {} and the shape {}", type,
                            shape.str());
  SN_ASSIGN_OR_RETURN(Tensor value, Tensor::create(value_type, shape));
  if (value.bytes() > 0) std::memcpy(value.mutable_data(), data, value.bytes());
  return net.graph.add_constant("constant" + std::to_string(net.graph.tensor_count()),
                                std::move(value));
}

Result<std::vector<TensorId>> add_layer(sn_plugin_net& net, const char* layer_type,
                                        const char* name, std::span<const std::int32_t> inputs,
                                        std::size_t output_count) {
  if (layer_type == nullptr || name == nullptr)
    return invalid_argument("a layer of the net has no {}", name == nullptr ? "name" : "type");
  const LayerType* type = builtin_layer_types().find(layer_type);
  if (type == nullptr)
    return invalid_argument("layer '{}' of the net has the type '{}', which does not exist", name,
                            layer_type);
  std::vector<TensorId> from;
  for (const std::int32_t number : inputs) {
    SN_ASSIGN_OR_RETURN(from.emplace_back(), to_tensor(net.graph, number));
  }
  std::vector<TensorId> to;
  for (std::size_t o = 0; o < output_count; ++o) {
    TensorDef def;
    def.name = fmt::format("{}:{}", name, o);
    to.push_back(net.graph.add_tensor(std::move(def)));
  }
  net.graph.add_layer(*type, name, std::move(from), to, std::exchange(net.params, {}));
  return to;
}

class PluginChildnet final : public ChildnetRoutine {
 public:
  explicit PluginChildnet(std::shared_ptr<const PluginEntry> entry)
      : ChildnetRoutine(entry->table.layer_type, entry->table.descriptor),
        entry_(std::move(entry)) {}

  RoutineFacts facts() const override {
    return {.default_rank = entry_->table.default_rank,
            .version = entry_->table.version,
            .is_childnet = true};
  }

 protected:
  Applicability fits(const Problem& problem) const override { return entry_->applicable(problem); }
  RoutineParams outer_params(const Problem& problem) const override {
    return entry_->default_params(PluginProblem(problem));
  }
  std::vector<ParamAxis> outer_axes(const Problem& problem) const override {
    const RoutineParams params = outer_params(problem);
    std::vector<ParamAxis> axes;
    for (const Params::Entry& entry : params.entries()) axes.push_back({entry.name, {entry.value}});
    return axes;
  }

  Status build(const Problem& problem, const RoutineParams& params, Graph& graph,
               const std::vector<TensorId>& inputs) const override {
    sn_plugin_net net{graph, inputs, {}, {}};
    std::vector<std::int32_t> outputs(problem.outputs.size(), kNone);
    const PluginProblem view(problem);
    SN_RETURN_IF_ERROR(
        entry_->call(entry_->table.build, &view, to_plugin(params), &net, outputs.data()));
    Status status = net.failure;
    for (const std::int32_t output : outputs) {
      const Result<TensorId> id = to_tensor(graph, output);
      if (status.ok()) status = id.status();
      if (status.ok()) graph.outputs.push_back(*id);
    }
    if (status.ok()) status = graph.verify(builtin_layer_types());
    if (status.ok()) return {};
    return internal_error("plugin '{}': {} builds no valid net: {}", entry_->plugin->name,
                          descriptor().str(), status.message());
  }

 private:
  std::shared_ptr<const PluginEntry> entry_;
};

}  // namespace

std::int32_t sn_host_net_input(const sn_plugin_net* net, std::uint32_t index) noexcept {
  return index < net->inputs.size() ? to_number(net->inputs[index]) : kNone;
}

std::int32_t sn_host_net_constant(sn_plugin_net* net, std::int32_t type, std::int32_t rank,
                                  const std::int64_t* dims, const void* data) noexcept {
  if (!net->failure.ok()) return kNone;
  const Result<TensorId> id = guarded([&] { return add_constant(*net, type, rank, dims, data); });
  net->failure = id.status();
  return id.ok() ? to_number(*id) : kNone;
}

sn_plugin_params* sn_host_net_params(sn_plugin_net* net) noexcept {
  return to_plugin(net->params);
}

void sn_host_net_layer(sn_plugin_net* net, const char* layer_type, const char* name,
                       std::uint32_t input_count, const std::int32_t* inputs,
                       std::uint32_t output_count, std::int32_t* outputs) noexcept {
  std::fill_n(outputs, output_count, kNone);
  if (!net->failure.ok()) return;
  const auto made = guarded([&] {
    return add_layer(*net, layer_type, name, {inputs, input_count}, output_count);
  });
  net->failure = made.status();
  if (made.ok()) std::transform(made->begin(), made->end(), outputs, to_number);
}

std::unique_ptr<const Routine> make_plugin_childnet(std::shared_ptr<const PluginEntry> entry) {
  return std::make_unique<PluginChildnet>(std::move(entry));
}

}  // namespace softneuro
#endif  // !SOFTNEURO_NO_PLUGINS
