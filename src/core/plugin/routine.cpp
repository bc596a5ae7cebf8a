#include "core/plugin/routine.h"

#if !defined(SOFTNEURO_NO_PLUGINS)
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/alignment.h"
#include "core/base/error.h"
#include "core/plugin/childnet.h"

namespace softneuro {
namespace {

// What version 1 of the ABI has; fields that come later must be asked for.
constexpr std::size_t kRoutineSize =
    offsetof(sn_plugin_routine, run) + sizeof(sn_plugin_routine::run);

// More than any machine has, and so small that sums of a few do not overflow.
constexpr std::size_t kMostBytes = std::size_t{1} << 60;

class PluginKernel final : public Kernel {
 public:
  PluginKernel(std::shared_ptr<const PluginEntry> entry, Tensor packed, const Problem& problem)
      : entry_(std::move(entry)),
        packed_(std::move(packed)),
        inputs_(problem.inputs.size()),
        outputs_(problem.outputs.size()) {}
  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;
  ~PluginKernel() override {
    if (created_ && entry_->table.destroy != nullptr) entry_->table.destroy(entry_->self, &kernel_);
  }

  Status create(const PluginProblem& view, const RoutineParams& params) {
    kernel_.struct_size = sizeof(kernel_);
    kernel_.in_place_input = -1;
    SN_RETURN_IF_ERROR(entry_->call(entry_->table.create, &view, to_plugin(params), packed_.data(),
                                    packed_.bytes(), &kernel_));
    created_ = true;
    if (kernel_.in_place_input < -1 || kernel_.in_place_input >= static_cast<int>(inputs_))
      return internal_error(
          "plugin '{}': its kernel's in_place_input is {}, but the layer has {} inputs",
          entry_->plugin->name, kernel_.in_place_input, inputs_);
    if (kernel_.workspace_bytes > kMostBytes)
      return internal_error("plugin '{}': its kernel asks for a workspace of {} bytes",
                            entry_->plugin->name, kernel_.workspace_bytes);
    tensors_offset_ = aligned(kernel_.workspace_bytes);
    return {};
  }

  // The plugin's, and behind it the tensors that it is shown.
  std::size_t workspace_bytes() const noexcept override {
    return tensors_offset_ + PluginContext::bytes(inputs_, outputs_);
  }
  int in_place_input() const noexcept override { return kernel_.in_place_input; }

  Status run(Context& context) const noexcept override {
    if (context.input_count() != inputs_ || context.output_count() != outputs_)
      return internal_error("a kernel for {} inputs and {} outputs is run with {} and {}", inputs_,
                            outputs_, context.input_count(), context.output_count());
    const PluginContext view(context, context.workspace() + tensors_offset_);
    PluginMessage message;
    const sn_plugin_status code =
        entry_->table.run(entry_->self, &kernel_, &view, message.data(), message.size());
    if (code == SN_PLUGIN_OK) return {};
    return guarded([&] {
      const bool is_ours = message.empty() && !view.failure().ok();
      return Status(is_ours ? view.failure() : plugin_status(code, message))
          .with_context(fmt::format("routine {} of plugin '{}'", entry_->table.descriptor,
                                    entry_->plugin->name));
    });
  }

 private:
  std::shared_ptr<const PluginEntry> entry_;
  Tensor packed_;
  std::size_t inputs_;
  std::size_t outputs_;
  sn_plugin_kernel kernel_{};
  bool created_ = false;
  std::size_t tensors_offset_ = 0;
};

bool have_same_kinds(const Params& a, const Params& b) {
  return std::ranges::equal(a.entries(), b.entries(),
                            [](const Params::Entry& x, const Params::Entry& y) {
                              return x.name == y.name && kind_of(x.value) == kind_of(y.value);
                            });
}

class PluginImplementation final : public Implementation {
 public:
  PluginImplementation(ProblemPtr problem, const RoutineContext& context,
                       std::shared_ptr<const PluginEntry> entry)
      : Implementation(std::move(problem), context),
        entry_(std::move(entry)),
        view_(this->problem()) {}
  ~PluginImplementation() override {
    if (is_analysed_ && table().release != nullptr) table().release(entry_->self, view_.analysis);
  }

  Status analyse() {
    if (table().analyse == nullptr) return {};
    SN_RETURN_IF_ERROR(entry_->call(table().analyse, &view_, &view_.analysis));
    is_analysed_ = true;
    return {};
  }

  double speed() const override { return std::numeric_limits<double>::infinity(); }

  RoutineParams default_params() const override { return entry_->default_params(view_); }
  ParamSpace param_space() const override {
    ParamSpace space;
    if (table().propose != nullptr)
      space.next = [this](std::span<const Trial> known) { return propose(known); };
    return space;
  }
  Applicability check_params(const RoutineParams& params) const override {
    const RoutineParams usual = default_params();
    if (table().accepts == nullptr || params == usual || !have_same_kinds(params, usual))
      return Implementation::check_params(params);
    PluginMessage reason;
    if (table().accepts(entry_->self, &view_, to_plugin(params), reason.data(), reason.size()) != 0)
      return Applicability::yes();
    return Applicability::no(reason.text());
  }

  // The plugin may pack differently for each of its parameters.
  Result<Packing> packing(const RoutineParams& params) const override {
    Packing packing;
    packing.key = params.str();
    if (table().pack_bytes == nullptr) return packing;
    SN_RETURN_IF_ERROR(entry_->call(table().pack_bytes, &view_, to_plugin(params), &packing.bytes));
    if (packing.bytes > kMostBytes)
      return internal_error("plugin '{}': it would pack weights into {} bytes",
                            entry_->plugin->name, packing.bytes);
    return packing;
  }
  Status pack(const RoutineParams& params, Allocator&, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Packing packing, this->packing(params));
    return entry_->call(table().pack, &view_, to_plugin(params), packed, packing.bytes);
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    auto kernel = std::make_unique<PluginKernel>(entry_, packed.bytes, problem());
    SN_RETURN_IF_ERROR(kernel->create(view_, params));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 private:
  const sn_plugin_routine& table() const { return entry_->table; }

  std::optional<RoutineParams> propose(std::span<const Trial> known) const {
    std::vector<sn_plugin_trial> trials;
    std::vector<const sn_plugin_trial*> pointers;
    trials.reserve(known.size());
    pointers.reserve(known.size());
    for (const Trial& trial : known)
      trials.push_back({sizeof(sn_plugin_trial), to_plugin(trial.params), trial.us});
    for (const sn_plugin_trial& trial : trials) pointers.push_back(&trial);
    RoutineParams params = default_params();
    if (table().propose(entry_->self, &view_, pointers.data(), pointers.size(),
                        to_plugin(params)) == 0)
      return std::nullopt;
    return params;
  }

  std::shared_ptr<const PluginEntry> entry_;
  PluginProblem view_;
  bool is_analysed_ = false;
};

class PluginRoutine final : public Routine {
 public:
  explicit PluginRoutine(std::shared_ptr<const PluginEntry> entry)
      : Routine(entry->table.layer_type, entry->table.descriptor), entry_(std::move(entry)) {}

  RoutineFacts facts() const override {
    return {.default_rank = entry_->table.default_rank, .version = entry_->table.version};
  }

 protected:
  Applicability applicable(const Problem& problem) const override {
    return entry_->applicable(problem);
  }

  bool supports_post_ops(const Problem& problem) const override {
    if (entry_->table.supports_post_ops == nullptr) return false;
    const PluginProblem view(problem);
    return entry_->table.supports_post_ops(entry_->self, &view) != 0;
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    auto implementation =
        std::make_shared<PluginImplementation>(std::move(problem), context, entry_);
    SN_RETURN_IF_ERROR(implementation->analyse());
    return std::shared_ptr<Implementation>(std::move(implementation));
  }

 private:
  std::shared_ptr<const PluginEntry> entry_;
};

Status check_functions(const sn_plugin_routine& table) {
  if (table.applicable == nullptr) return invalid_argument("applicable is null");
  if (table.build != nullptr) {
    if (table.create == nullptr && table.run == nullptr && table.pack == nullptr &&
        table.propose == nullptr)
      return {};
    return invalid_argument("build goes with none of pack, create, run and propose");
  }
  if (table.create == nullptr || table.run == nullptr)
    return invalid_argument("{} is null", table.create == nullptr ? "create" : "run");
  if ((table.pack_bytes == nullptr) != (table.pack == nullptr))
    return invalid_argument("of pack_bytes and pack one is null: both or none");
  if ((table.propose == nullptr) != (table.accepts == nullptr))
    return invalid_argument("of propose and accepts one is null: both or none");
  return {};
}

Status check_descriptor(const sn_plugin_routine& table) {
  SN_ASSIGN_OR_RETURN(const RoutineDescriptor descriptor,
                      RoutineDescriptor::parse(table.descriptor));
  if (!descriptor.device.is_host())
    return invalid_argument("plugin ABI {} has routines of the device cpu only",
                            SN_PLUGIN_ABI_VERSION);
  return {};
}

}  // namespace

Result<std::unique_ptr<const Routine>> make_plugin_routine(
    const std::shared_ptr<const LoadedPlugin>& plugin, const sn_plugin_routine* routine) {
  if (routine == nullptr) return invalid_argument("it is null");
  if (routine->struct_size < kRoutineSize)
    return invalid_argument("struct_size is {}, at least {} bytes are needed", routine->struct_size,
                            kRoutineSize);
  auto entry = std::make_shared<PluginEntry>();
  entry->plugin = plugin;
  entry->self = routine;
  std::memcpy(&entry->table, routine,
              std::min<std::size_t>(routine->struct_size, sizeof(entry->table)));
  const sn_plugin_routine& table = entry->table;
  if (table.layer_type == nullptr || table.descriptor == nullptr)
    return invalid_argument("{} is null",
                            table.layer_type == nullptr ? "layer_type" : "descriptor");
  Status status = check_descriptor(table);
  if (status.ok()) status = check_functions(table);
  if (!status.ok())
    return std::move(status).with_context(
        fmt::format("'{}' of '{}'", table.descriptor, table.layer_type));
  if (table.build != nullptr) return make_plugin_childnet(std::move(entry));
  return std::unique_ptr<const Routine>(std::make_unique<PluginRoutine>(std::move(entry)));
}

}  // namespace softneuro
#endif  // !SOFTNEURO_NO_PLUGINS
