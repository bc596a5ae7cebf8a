#include "softneuro/net.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_impl.h"
#include "softneuro/version.h"

namespace softneuro {
namespace {

std::vector<TensorInfo> describe(const Graph& graph, std::span<const TensorId> ids) {
  std::vector<TensorInfo> infos;
  for (const TensorId id : ids) {
    const TensorDef& def = graph.tensor(id);
    infos.push_back({def.name, def.type, def.shape});
  }
  return infos;
}

// Symbol → its size, and the input that it was first seen in.
using SymbolSizes = std::map<std::string, std::pair<std::int64_t, std::string_view>>;

// `shape` against what the model declares; symbols must mean the same size everywhere.
Status check_shape(const TensorInfo& info, const Shape& shape, SymbolSizes& symbols) {
  if (shape.elements() < 0)
    return invalid_argument("input '{}': shape {} is negative or too large", info.name,
                            shape.str());
  if (!info.shape.ranked()) return {};
  bool fits = info.shape.rank() == shape.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis)
    fits = !info.shape[axis].known() || info.shape[axis].value == shape[axis];
  if (!fits)
    return invalid_argument("input '{}' has the shape {}, the net takes {}", info.name, shape.str(),
                            info.shape.str());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::string& symbol = info.shape[axis].symbol;
    if (info.shape[axis].known() || symbol.empty()) continue;
    const auto& [size, input] = symbols.try_emplace(symbol, shape[axis], info.name).first->second;
    if (size != shape[axis])
      return invalid_argument("input '{}': dimension '{}' is {} here and {} in input '{}'",
                              info.name, symbol, shape[axis], size, input);
  }
  return {};
}

Status put_on_device(Graph& graph, const std::string& name, DeviceId device) {
  const TensorId id = graph.find_tensor(name);
  const auto is_one_of = [&](const std::vector<TensorId>& ids) {
    return id != kNoTensor && std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  if (!is_one_of(graph.inputs) && !is_one_of(graph.outputs))
    return make_error(StatusCode::not_found,
                      "the net has no input or output '{}' to be on the device {}", name,
                      device.c_str());
  graph.tensor(id).device = device;
  return {};
}

// The graph with more outputs, and inputs and outputs on devices. A tensor that is an output
// already is not added again.
Result<std::shared_ptr<const Graph>> bound_graph(const std::shared_ptr<const Graph>& graph,
                                                 std::span<const std::string> extra,
                                                 const NamedDevices& devices) {
  if (extra.empty() && devices.empty()) return graph;
  auto copy = std::make_shared<Graph>(*graph);
  for (const std::string& name : extra) {
    const TensorId id = copy->find_tensor(name);
    if (id == kNoTensor)
      return make_error(StatusCode::not_found,
                        "no tensor is named '{}': it may have been fused away (inspect lists what "
                        "is left; import without passes keeps every one: disabled_passes = "
                        "{{\"all\"}}, --disable-pass all)",
                        name);
    if (copy->tensor(id).left_out)
      return unsupported("the file does not hold the constant '{}' as the model has it", name);
    if (std::find(copy->outputs.begin(), copy->outputs.end(), id) == copy->outputs.end())
      copy->outputs.push_back(id);
  }
  for (const auto& [name, device] : devices) SN_RETURN_IF_ERROR(put_on_device(*copy, name, device));
  return std::shared_ptr<const Graph>(std::move(copy));
}

}  // namespace

const char* version() noexcept {
  return SOFTNEURO_VERSION;
}

// --- Net::Impl ---------------------------------------------------------------------------------

std::shared_ptr<const Graph> Net::Impl::current_graph() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return graph;
}

NamedShapes Net::Impl::tuned_shapes() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return paths.empty() ? NamedShapes() : paths.front().shapes;
}

Result<std::vector<Shape>> Net::Impl::resolve_shapes(const NamedShapes& shapes) const {
  for (const auto& given : shapes)
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const TensorInfo& info) { return info.name == given.first; }))
      return make_error(StatusCode::not_found, "the net has no input '{}'; its inputs are {}",
                        given.first, names_of(inputs));
  std::vector<Shape> resolved;
  SymbolSizes symbols;
  const NamedShapes tuned = tuned_shapes();
  for (const TensorInfo& info : inputs) {
    const auto given = shapes.find(info.name), known = tuned.find(info.name);
    Shape shape;
    if (given != shapes.end())
      shape = given->second;
    else if (info.shape.is_static())
      shape = info.shape.to_shape();
    else if (known != tuned.end())
      shape = known->second;  // a tuned net remembers the sizes that the caller leaves out
    else
      return invalid_argument(
          "input '{}' has the dynamic shape {}: pass its shape (Net::plan shapes, "
          "TuneOptions::shapes, --shape)",
          info.name, info.shape.str());
    SN_RETURN_IF_ERROR(check_shape(info, shape, symbols));
    resolved.push_back(shape);
  }
  return resolved;
}

Result<std::shared_ptr<const Plan>> Net::Impl::plan_for(std::span<const Shape> shapes,
                                                        std::span<const std::string> extra,
                                                        const NamedDevices& devices,
                                                        const std::atomic<bool>* cancel) {
  std::string key;
  for (const Shape& shape : shapes) key += shape.str() + ';';
  for (const std::string& name : extra) key += fmt::format("{} {};", name.size(), name);
  for (const auto& [name, device] : devices)
    if (!device.is_host()) key += fmt::format("{}@{} {};", name.size(), device.c_str(), name);
  std::shared_ptr<const Graph> planned_graph;
  std::shared_ptr<const RoutinePath> path;
  std::size_t planned_revision = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto it = plans.begin(); it != plans.end(); ++it)
      if (it->key == key) {
        plans.splice(plans.begin(), plans, it);
        return it->plan;
      }
    planned_graph = graph;
    path = path_for(shapes);
    planned_revision = revision;
  }
  SN_ASSIGN_OR_RETURN(const auto wanted, bound_graph(planned_graph, extra, devices));
  std::shared_ptr<const Plan> plan;
  if (path == nullptr) {
    SN_ASSIGN_OR_RETURN(plan, build_default_plan(runtime, wanted, shapes, cancel));
  } else {
    ReplacedChoices replaced;
    auto made = build_plan(runtime, wanted, shapes, *path, &replaced, cancel);
    if (!made.ok() && !replaced.summary.empty())  // as where packed weights are for what is missing
      return Status(made.status()).with_context(replaced.summary);
    SN_ASSIGN_OR_RETURN(plan, std::move(made));
    log_path_match(*path, shapes, replaced);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  // Two threads may plan the same shapes at once; the second result is dropped.
  for (const Planned& planned : plans)
    if (planned.key == key) return planned.plan;
  // Tuning has finished meanwhile: this plan gives right outputs, but the next call shall make a
  // tuned one.
  if (revision != planned_revision) return plan;
  plans.push_front({std::move(key), plan, {}});
  while (plans.size() > max_plans) plans.pop_back();
  return plan;
}

bool Net::Impl::has_shapes(const RoutinePath& path, std::span<const Shape> shapes) const {
  if (path.shapes.size() != inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto found = path.shapes.find(inputs[i].name);
    if (found == path.shapes.end() || !(found->second == shapes[i])) return false;
  }
  return true;
}

std::shared_ptr<const RoutinePath> Net::Impl::path_for(std::span<const Shape> shapes) const {
  const RoutinePath* best = nullptr;
  int best_score = -1;
  const int threads = runtime->pool().concurrency();
  for (const RoutinePath& path : paths) {
    const bool same_machine = path.machine == machine_of(path, runtime->registry(), threads);
    const int score = 4 * same_machine + 2 * has_shapes(path, shapes) + (path.threads == threads);
    if (score <= best_score) continue;
    best = &path;
    best_score = score;
  }
  return best == nullptr ? nullptr : std::make_shared<const RoutinePath>(*best);
}

void Net::Impl::log_path_match(const RoutinePath& path, std::span<const Shape> shapes,
                               const ReplacedChoices& replaced) const {
  std::vector<std::string> other;
  const int threads = runtime->pool().concurrency();
  const std::string machine = machine_of(path, runtime->registry(), threads);
  if (path.machine != machine)
    other.push_back(fmt::format("machine '{}' (here '{}')", path.machine, machine));
  if (path.threads != threads)
    other.push_back(
        fmt::format("{} thread{} (here {})", path.threads, path.threads == 1 ? "" : "s", threads));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto known = path.shapes.find(inputs[i].name);
        known != path.shapes.end() && !(known->second == shapes[i]))
      other.push_back(fmt::format("'{}' of {} (here {})", inputs[i].name, known->second.str(),
                                  shapes[i].str()));
  if (!other.empty())
    runtime->log(
        LogLevel::warning,
        fmt::format("the best-matching tuned path is for {}; it is used as far as it applies: "
                    "tune for what is here",
                    fmt::join(other, ", ")));
  if (!replaced.summary.empty()) runtime->log(LogLevel::warning, replaced.summary);
  for (const std::string& line : replaced.layers) runtime->log(LogLevel::info, line);
}

std::size_t Net::Impl::keep_path(RoutinePath path, std::shared_ptr<const Graph> tuned_graph,
                                 bool same_layers) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::size_t dropped = 0;
  if (graph != tuned_graph)  // a path holds for the graph that it was made for
    dropped = std::erase_if(paths, [&](const RoutinePath& known) {
      return !same_target(known, path) && (!same_layers || reads_ranges(known));
    });
  const auto replaced = std::find_if(paths.begin(), paths.end(), [&](const RoutinePath& known) {
    return same_target(known, path);
  });
  if (replaced != paths.end())
    *replaced = std::move(path);  // in its place: the first path gives the shapes of Net::plan
  else
    paths.push_back(std::move(path));
  graph = std::move(tuned_graph);
  ++revision;
  plans.clear();
  runtime->packed_weights().clear();  // of candidates that were only tried
  return dropped;
}

Result<Session> Net::Impl::take_session(const std::shared_ptr<const Plan>& plan) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (Planned& planned : plans)
      if (planned.plan == plan && !planned.idle.empty()) {
        Session session = std::move(planned.idle.back());
        planned.idle.pop_back();
        return session;
      }
  }
  return Session::create(plan);
}

void Net::Impl::give_back(const std::shared_ptr<const Plan>& plan, Session session) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (Planned& planned : plans)
    if (planned.plan == plan) {
      planned.idle.push_back(std::move(session));
      return;
    }
}

void Net::Impl::trim() {
  std::vector<std::vector<Session>> idle;  // freed while nobody waits for the mutex
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (Planned& planned : plans) idle.push_back(std::exchange(planned.idle, {}));
  }
  idle.clear();
  const Registry& registry = runtime->registry();
  for (const Device* device : registry.devices()) registry.device(device->id())->pool().trim();
}

// --- making and saving -------------------------------------------------------------------------

Result<Net> NetAccess::from_graph(Graph graph, const NetOptions& options) noexcept {
  return guarded([&]() -> Result<Net> {
    if (options.max_plans == 0) return invalid_argument("max_plans must be at least 1");
    SN_RETURN_IF_ERROR(graph.verify(builtin_layer_types()));
    SN_RETURN_IF_ERROR(graph.sort());
    SN_RETURN_IF_ERROR(graph.infer_shapes());
    auto impl = std::make_shared<Net::Impl>();
    SN_ASSIGN_OR_RETURN(impl->runtime, make_runtime(options));
    impl->graph = std::make_shared<const Graph>(std::move(graph));
    impl->inputs = describe(*impl->graph, impl->graph->inputs);
    impl->outputs = describe(*impl->graph, impl->graph->outputs);
    impl->max_plans = options.max_plans;
    impl->net_options = options;
    return Net(std::move(impl));
  });
}

Result<Net> Net::Impl::of(DnnContents contents, const NetOptions& options) {
  SN_ASSIGN_OR_RETURN(Net net, NetAccess::from_graph(std::move(contents.graph), options));
  net.impl_->paths = std::move(contents.paths);
  net.impl_->runtime->packed_weights().preload(std::move(contents.packed), *net.impl_->graph);
  for (const std::string& line : contents.unread_paths)
    net.impl_->runtime->log(LogLevel::warning, line);
  return net;
}

Result<Net> Net::load(const std::string& path, const NetOptions& options) noexcept {
  return guarded([&]() -> Result<Net> {
    Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
    SN_ASSIGN_OR_RETURN(DnnContents contents,
                        load_dnn_contents(path, builtin_layer_types(), options.verify, allocator));
    return Impl::of(std::move(contents), options);
  });
}

Result<Net> Net::load_memory(const void* data, std::size_t bytes,
                             const NetOptions& options) noexcept {
  return guarded([&]() -> Result<Net> {
    Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
    SN_ASSIGN_OR_RETURN(DnnContents contents,
                        load_dnn_contents_memory(data, bytes, nullptr, builtin_layer_types(),
                                                 options.verify, allocator));
    return Impl::of(std::move(contents), options);
  });
}

Status Net::save(const std::string& path, const SaveOptions& options) const noexcept {
  return guarded([&]() -> Status {
    std::vector<RoutinePath> paths;
    std::shared_ptr<const Graph> graph;
    {
      const std::lock_guard<std::mutex> lock(impl_->mutex);
      paths = impl_->paths;
      graph = impl_->graph;
    }
    PackedByKey packed;
    if (options.packed_only) {
      SN_ASSIGN_OR_RETURN(packed, impl_->leave_out_weights(graph, paths));
    } else if (graph->has_left_out()) {
      return invalid_argument(
          "the file that the net was loaded from left out weights of the model: they can only be "
          "saved as kernels have packed them (SaveOptions::packed_only, --packed only)");
    } else if (options.packed_weights) {
      SN_ASSIGN_OR_RETURN(packed, impl_->packed_for_saving(graph, paths));
    }
    return save_dnn(*graph, path, paths, packed);
  });
}

std::vector<TunedPathInfo> Net::tuned_paths() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<TunedPathInfo> infos;
  for (const RoutinePath& path : impl_->paths)
    infos.push_back({path.machine, path.threads, path.shapes, path.schemas, path.time_us,
                     path.untuned_us, path.error});
  return infos;
}

// --- asking ------------------------------------------------------------------------------------

std::span<const TensorInfo> Net::inputs() const noexcept {
  return impl_->inputs;
}
std::span<const TensorInfo> Net::outputs() const noexcept {
  return impl_->outputs;
}
const Graph& NetAccess::graph(const Net& net) noexcept {
  return *net.impl_->graph;
}
const Registry& NetAccess::registry(const Net& net) noexcept {
  return net.impl_->runtime->registry();
}

Result<std::vector<Shape>> NetAccess::resolve_shapes(const Net& net, const NamedShapes& shapes) {
  return net.impl_->resolve_shapes(shapes);
}

const std::shared_ptr<Runtime>& NetAccess::runtime(const Net& net) noexcept {
  return net.impl_->runtime;
}

MemoryReport Net::memory_report() const {
  MemoryReport report;
  const std::shared_ptr<const Graph> graph = impl_->current_graph();
  for (TensorId id = 0; id < graph->tensor_count(); ++id)
    if (!graph->tensor(id).left_out) report.weights += graph->tensor(id).constant.bytes();
  const PackedCache::Bytes packed = impl_->runtime->packed_weights().bytes();
  report.packed_weights = packed.host;
  report.device_packed_weights = packed.devices;
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const Impl::Planned& planned : impl_->plans) {
    ++report.plans;
    report.sessions += planned.idle.size();
    report.arena = std::max(report.arena, planned.plan->arena_bytes());
    const MemoryReport plan = planned.plan->memory_report();
    report.arena_minimum = std::max(report.arena_minimum, plan.arena_minimum);
    report.device_arenas = std::max(report.device_arenas, plan.device_arenas);
    for (const Session& session : planned.idle) report.dynamic += session.dynamic_bytes();
  }
  for (const Device* device : impl_->runtime->registry().devices())
    report.device_kept += device->pool().usage().kept;
  return report;
}

void Net::trim() const noexcept {
  (void)guarded([&]() -> Status {
    impl_->trim();
    return {};
  });
}

// --- running -----------------------------------------------------------------------------------

Result<std::shared_ptr<const Plan>> Net::plan(const NamedShapes& shapes,
                                              std::span<const std::string> extra_outputs,
                                              const std::atomic<bool>* cancel,
                                              const NamedDevices& devices) const noexcept {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    SN_ASSIGN_OR_RETURN(const std::vector<Shape> resolved, impl_->resolve_shapes(shapes));
    return impl_->plan_for(resolved, extra_outputs, devices, cancel);
  });
}

Status Net::prepare(const NamedShapes& shapes, const std::atomic<bool>* cancel) const noexcept {
  return guarded([&]() -> Status {
    SN_ASSIGN_OR_RETURN(const auto prepared, plan(shapes, {}, cancel));
    SN_ASSIGN_OR_RETURN(Session session, impl_->take_session(prepared));
    impl_->give_back(prepared, std::move(session));
    return {};
  });
}

Result<NamedTensors> Net::run(const NamedTensors& inputs, std::span<const std::string> wanted,
                              const RunOptions& options) const noexcept {
  return guarded([&]() -> Result<NamedTensors> {
    NamedShapes shapes;
    NamedDevices devices;
    for (const auto& [name, tensor] : inputs) {
      shapes.emplace(name, tensor.shape());
      if (!tensor.device().is_host()) devices.emplace(name, tensor.device());
    }
    std::vector<Tensor> ordered;
    for (const TensorInfo& info : impl_->inputs) {
      const auto given = inputs.find(info.name);
      if (given == inputs.end())
        return invalid_argument("input '{}' ({} {}) is missing", info.name, to_string(info.type),
                                info.shape.str());
      ordered.push_back(given->second);
    }
    std::vector<std::string> extra;
    for (const std::string& name : wanted)
      if (std::none_of(impl_->outputs.begin(), impl_->outputs.end(),
                       [&](const TensorInfo& info) { return info.name == name; }))
        extra.push_back(name);

    SN_ASSIGN_OR_RETURN(const auto planned, plan(shapes, extra, options.cancel, devices));
    SN_ASSIGN_OR_RETURN(Session session, impl_->take_session(planned));
    const auto infos = planned->outputs();
    std::vector<Tensor> outputs(infos.size());
    for (std::size_t o = 0; o < infos.size(); ++o) {
      if (!impl_of(*planned).has_fixed_shape(o)) continue;
      Result<Tensor> made =
          Tensor::create(infos[o].type, infos[o].shape.to_shape(), impl_->runtime->allocator());
      if (!made.ok())
        return Status(made.status()).with_context(fmt::format("output '{}'", infos[o].name));
      outputs[o] = *std::move(made);
    }
    const std::vector<Tensor> before = outputs;
    if (Status status = session.run(ordered, outputs, options); !status.ok()) {
      impl_->give_back(planned, std::move(session));  // an error leaves it usable
      return status;
    }
    NamedTensors named;
    for (std::size_t o = 0; o < infos.size(); ++o) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), infos[o].name) == wanted.end())
        continue;
      if (before[o].empty()) {  // a view of the session's memory, which the session takes along
        SN_ASSIGN_OR_RETURN(outputs[o], outputs[o].clone(impl_->runtime->allocator()));
      }
      named.emplace(infos[o].name, outputs[o]);
    }
    impl_->give_back(planned, std::move(session));
    return named;
  });
}

}  // namespace softneuro
