#include "core/plugin/host.h"

#if !defined(SOFTNEURO_NO_PLUGINS)
#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/plugin/childnet.h"
#include "softneuro/version.h"

namespace softneuro {
namespace {

static_assert(SN_PLUGIN_MAX_RANK == kMaxRank && SN_PLUGIN_ALIGNMENT == kTensorAlignment);
static_assert(SN_PLUGIN_QINT8 == static_cast<int>(DataType::qint8) &&
              SN_PLUGIN_BOOLEAN == static_cast<int>(DataType::boolean));
static_assert(SN_PLUGIN_CHANNELS_LAST == static_cast<int>(Layout::Order::channels_last) &&
              SN_PLUGIN_MAX_BLOCK == Layout::kMaxBlock);
static_assert(SN_PLUGIN_INTERNAL == static_cast<int>(StatusCode::internal) &&
              SN_PLUGIN_IO_ERROR == static_cast<int>(StatusCode::io_error));

// Gives `from` to a struct of the plugin, which may be older and shorter, or newer and longer.
template <class T>
void give(const T& from, T* to) noexcept {
  const std::size_t size = std::min<std::size_t>(to->struct_size, sizeof(T));
  std::memcpy(to, &from, size);
  if (size >= sizeof(std::uint32_t)) to->struct_size = static_cast<std::uint32_t>(size);
}

template <class T>
void set_shape(T& to, DataType type, Layout layout, const Shape& shape) noexcept {
  to.type = static_cast<std::int32_t>(type);
  to.layout = SN_PLUGIN_LAYOUT(static_cast<std::int32_t>(order_of(layout)), block_of(layout));
  to.rank = shape.rank();
  std::copy(shape.dims().begin(), shape.dims().end(), to.dims);
}

std::int32_t give_spec(const std::vector<TensorSpec>& specs, std::uint32_t index,
                       sn_plugin_spec* to) noexcept {
  if (index >= specs.size()) return 0;
  const TensorSpec& from = specs[index];
  sn_plugin_spec spec{};
  set_shape(spec, from.type, from.layout, from.shape);
  spec.is_constant = from.constant ? 1 : 0;
  spec.data = from.value.data();
  spec.bytes = from.value.bytes();
  spec.scale_axis = -1;
  if (from.quantization) {
    spec.scale_count = static_cast<std::uint32_t>(from.quantization->scales.size());
    spec.scale_axis = from.quantization->axis;
    spec.is_signed = from.quantization->is_signed ? 1 : 0;
    spec.scales = from.quantization->scales.data();
    spec.zero_points = from.quantization->zero_points.data();
  }
  give(spec, to);
  return 1;
}

const Problem& problem_of(const sn_plugin_problem* problem) noexcept {
  return *static_cast<const PluginProblem*>(problem)->problem;
}
const Params& params_of(const sn_plugin_params* params) noexcept {
  return *reinterpret_cast<const Params*>(params);
}
const PluginContext& context_of(const sn_plugin_context* context) noexcept {
  return *static_cast<const PluginContext*>(context);
}

template <class T>
const T* parameter(const sn_plugin_params* params, const char* name) noexcept {
  const ParamValue* value = name == nullptr ? nullptr : params_of(params).find(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

template <class T>
std::int32_t get(const sn_plugin_params* params, const char* name, T* value) noexcept {
  const T* found = parameter<T>(params, name);
  if (found == nullptr) return 0;
  *value = *found;
  return 1;
}

template <class T>
std::int32_t get_list(const sn_plugin_params* params, const char* name, std::size_t* count,
                      const T** values) noexcept {
  const auto* found = parameter<std::vector<T>>(params, name);
  if (found == nullptr) return 0;
  *count = found->size();
  *values = found->data();
  return 1;
}

template <class T>
ParamValue to_value(const T& value) {
  return ParamValue(value);
}
ParamValue to_value(const std::span<const std::int64_t>& values) {
  return ParamValue(std::vector<std::int64_t>(values.begin(), values.end()));
}

template <class T>
sn_plugin_status set(sn_plugin_params* params, const char* name, const T& value) noexcept {
  const Status status = guarded([&]() -> Status {
    if (name == nullptr || *name == '\0') return Status(StatusCode::invalid_argument, {});
    reinterpret_cast<Params*>(params)->set(name, to_value(value));
    return {};
  });
  return static_cast<sn_plugin_status>(status.code());
}

}  // namespace

// The table's functions, called from C.
extern "C" {

static std::int32_t sn_host_input(const sn_plugin_problem* problem, std::uint32_t index,
                                  sn_plugin_spec* spec) noexcept {
  return give_spec(problem_of(problem).inputs, index, spec);
}

static std::int32_t sn_host_output(const sn_plugin_problem* problem, std::uint32_t index,
                                   sn_plugin_spec* spec) noexcept {
  return give_spec(problem_of(problem).outputs, index, spec);
}

static std::int32_t sn_host_post_op(const sn_plugin_problem* problem, std::uint32_t index,
                                    sn_plugin_post_op* to) noexcept {
  const Problem& whole = problem_of(problem);
  if (index >= whole.post_ops.size()) return 0;
  const PostOp& from = whole.post_ops[index];
  sn_plugin_post_op op{};
  op.is_binary = from.kind == PostOp::Kind::binary ? 1 : 0;
  op.op = op.is_binary != 0 ? to_string(from.binary) : to_string(from.unary);
  op.alpha = from.alpha;
  op.beta = from.beta;
  op.input = from.input;
  op.is_swapped = from.swapped ? 1 : 0;
  give(op, to);
  return 1;
}

static std::int32_t sn_host_get_integer(const sn_plugin_params* params, const char* name,
                                        std::int64_t* value) noexcept {
  return get(params, name, value);
}

static std::int32_t sn_host_get_real(const sn_plugin_params* params, const char* name,
                                     double* value) noexcept {
  return get(params, name, value);
}

static std::int32_t sn_host_get_text(const sn_plugin_params* params, const char* name,
                                     const char** value) noexcept {
  const auto* found = parameter<std::string>(params, name);
  if (found == nullptr) return 0;
  *value = found->c_str();
  return 1;
}

static std::int32_t sn_host_get_integers(const sn_plugin_params* params, const char* name,
                                         std::size_t* count, const std::int64_t** values) noexcept {
  return get_list(params, name, count, values);
}

static std::int32_t sn_host_get_reals(const sn_plugin_params* params, const char* name,
                                      std::size_t* count, const double** values) noexcept {
  return get_list(params, name, count, values);
}

static std::int32_t sn_host_get_text_at(const sn_plugin_params* params, const char* name,
                                        std::size_t index, const char** value) noexcept {
  const auto* found = parameter<std::vector<std::string>>(params, name);
  if (found == nullptr || index >= found->size()) return 0;
  *value = (*found)[index].c_str();
  return 1;
}

static sn_plugin_status sn_host_set_integer(sn_plugin_params* params, const char* name,
                                            std::int64_t value) noexcept {
  return set(params, name, value);
}

static sn_plugin_status sn_host_set_text(sn_plugin_params* params, const char* name,
                                         const char* value) noexcept {
  if (value == nullptr) return SN_PLUGIN_INVALID_ARGUMENT;
  return set(params, name, value);
}

static sn_plugin_status sn_host_set_real(sn_plugin_params* params, const char* name,
                                         double value) noexcept {
  return set(params, name, value);
}

static sn_plugin_status sn_host_set_integers(sn_plugin_params* params, const char* name,
                                             std::size_t count,
                                             const std::int64_t* values) noexcept {
  return set(params, name, std::span<const std::int64_t>(values, count));
}

static void sn_host_parallel_for(const sn_plugin_context* context, std::size_t count,
                                 sn_plugin_task task, void* data) noexcept {
  ThreadPool& pool = context_of(context).pool();
  if (count > 1 && pool.concurrency() > 1) {
    pool.run(count, task, data);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) task(data, i);
}

static sn_plugin_status sn_host_allocate_output(const sn_plugin_context* context,
                                                std::uint32_t index, std::int32_t rank,
                                                const std::int64_t* dims) noexcept {
  if (rank < 0 || rank > kMaxRank || index >= context->output_count)
    return SN_PLUGIN_INVALID_ARGUMENT;
  const Shape shape(std::span<const std::int64_t>(dims, static_cast<std::size_t>(rank)));
  if (shape.elements() < 0) return SN_PLUGIN_INVALID_ARGUMENT;
  return context_of(context).allocate(index, shape);
}

}  // extern "C"

const sn_plugin_host& plugin_host() noexcept {
  static constexpr sn_plugin_host host = {
      sizeof(sn_plugin_host), SN_PLUGIN_ABI_VERSION, SOFTNEURO_VERSION,    sn_host_input,
      sn_host_output,         sn_host_post_op,       sn_host_get_integer,  sn_host_get_real,
      sn_host_get_text,       sn_host_get_integers,  sn_host_get_reals,    sn_host_get_text_at,
      sn_host_set_integer,    sn_host_set_text,      sn_host_parallel_for, sn_host_allocate_output,
      sn_host_net_input,      sn_host_net_constant,  sn_host_net_params,   sn_host_net_layer,
      sn_host_set_real,       sn_host_set_integers};
  return host;
}

// --- views ---------------------------------------------------------------------------------------

PluginProblem::PluginProblem(const Problem& whole) noexcept
    : sn_plugin_problem{sizeof(sn_plugin_problem),
                        static_cast<std::uint32_t>(whole.inputs.size()),
                        whole.layer_inputs,
                        static_cast<std::uint32_t>(whole.outputs.size()),
                        static_cast<std::uint32_t>(whole.post_ops.size()),
                        &plugin_host(),
                        whole.type->name.c_str(),
                        whole.layer_name.c_str(),
                        to_plugin(whole.params),
                        nullptr},
      problem(&whole) {}

namespace {

void show(const TensorView& from, sn_plugin_tensor& to) noexcept {
  to.struct_size = sizeof(sn_plugin_tensor);
  set_shape(to, from.type, from.layout, from.shape);
  to.data = from.data;
}

}  // namespace

std::size_t PluginContext::bytes(std::size_t inputs, std::size_t outputs) noexcept {
  return (inputs + outputs) * (sizeof(sn_plugin_tensor) + sizeof(sn_plugin_tensor*));
}

PluginContext::PluginContext(Context& context, std::byte* memory) noexcept
    : sn_plugin_context{}, context_(&context) {
  const std::size_t tensor_count = context.input_count() + context.output_count();
  auto* tensors = reinterpret_cast<sn_plugin_tensor*>(memory);
  auto* pointers = reinterpret_cast<const sn_plugin_tensor**>(tensors + tensor_count);
  output_tensors_ = tensors + context.input_count();
  for (std::size_t i = 0; i < tensor_count; ++i) {
    const bool is_input = i < context.input_count();
    ::new (&tensors[i]) sn_plugin_tensor{};
    show(is_input ? context.input(i) : context.output(i - context.input_count()), tensors[i]);
    ::new (&pointers[i]) const sn_plugin_tensor*(&tensors[i]);
  }
  struct_size = sizeof(sn_plugin_context);
  input_count = static_cast<std::uint32_t>(context.input_count());
  output_count = static_cast<std::uint32_t>(context.output_count());
  host = &plugin_host();
  inputs = pointers;
  outputs = pointers + context.input_count();
  workspace = context.workspace();
}

sn_plugin_status PluginContext::allocate(std::size_t index, const Shape& shape) const noexcept {
  failure_ = context_->allocate_output(index, shape);
  if (!failure_.ok()) return static_cast<sn_plugin_status>(failure_.code());
  show(context_->output(index), output_tensors_[index]);
  return SN_PLUGIN_OK;
}

// --- messages ------------------------------------------------------------------------------------

std::string PluginMessage::text() const {
  std::string text(text_, std::find(text_, text_ + kSize - 1, '\0'));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

Status plugin_status(sn_plugin_status code, const PluginMessage& message) {
  if (code == SN_PLUGIN_OK) return {};
  std::string text = message.text();
  if (text.empty()) text = fmt::format("failed with the status {} and no message", code);
  const bool is_known = code > 0 && code <= SN_PLUGIN_INTERNAL;
  return Status(is_known ? static_cast<StatusCode>(code) : StatusCode::internal, std::move(text));
}

}  // namespace softneuro
#endif  // !SOFTNEURO_NO_PLUGINS
