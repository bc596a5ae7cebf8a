#include "routines/max_pool2/direct_pool.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/tensor/kernel_types.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTaskOutputs = 8192;  // a task's rows make about that many elements

// Planes (one per image and channel in the plain layout, per image in nhwc, per image and block in
// the others), each partitioned into rows.
class DirectPoolKernel final : public Kernel {
 public:
  DirectPoolKernel(const Problem& problem, PoolKind kind, const Window& window,
                   PostOpProgram post_ops)
      : window_(window),
        shares_(kind == PoolKind::mean
                    ? PoolShares(window, problem.params.integer("count_include_pad") != 0)
                    : PoolShares()),
        function_(kind == PoolKind::max ? pool_functions().max : pool_functions().mean),
        post_ops_(std::move(post_ops)) {
    const TensorSpec& x = problem.inputs[0];
    const bool is_last = x.layout == Layout::channels_last;
    task_.inner = is_last ? x.shape[1] : block_of(x.layout);
    planes_ = x.shape[0] * (is_last ? 1 : (x.shape[1] + task_.inner - 1) / task_.inner);
    task_.type = x.type;
    element_bytes_ = static_cast<std::int64_t>(size_of(x.type));
    if (x.type == DataType::qint8) quantize(problem, kind);
  }

  Status run(Context& context) const noexcept override {
    const std::int64_t row = window_.axes[2].output * task_.inner;
    const std::int64_t rows = window_.axes[0].output * window_.axes[1].output;
    if (planes_ * rows * row == 0) return {};
    const std::int64_t grain = std::clamp<std::int64_t>(kTaskOutputs / row, 1, rows);
    const std::int64_t chunks = (rows + grain - 1) / grain;
    const std::int64_t together = std::max<std::int64_t>(kTaskOutputs / (grain * row), 1);
    parallel_ranges(context.pool(), planes_ * chunks, together,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t first = i % chunks * grain;
                        run_rows(context, i / chunks, first, std::min(first + grain, rows));
                      }
                    });
    return {};
  }

 private:
  void quantize(const Problem& problem, PoolKind kind) {
    const Quantization& from = *problem.inputs[0].quantization;
    const Quantization& to = *problem.outputs[0].quantization;
    task_.type = from.is_signed ? DataType::int8 : DataType::uint8;
    if (kind == PoolKind::max) {  // of what the bytes mean, which is in the order of the bytes
      table_ = make_output_table(problem, 0);
      maps_ = !is_identity(table_);
      return;
    }
    // Given in the output's own numbers, from where post-ops can only bound it.
    task_.zero_point = static_cast<float>(from.zero_points[0]);
    task_.scale = from.scales[0] / to.scales[0];
    task_.to_zero_point = to.zero_points[0];
    flips_ = from.is_signed != to.is_signed;
    if (flips_) task_.to_zero_point += to.is_signed ? 128 : -128;
    if (problem.post_ops.empty()) return;
    table_ = make_qint8_table(to, to, [&](float x) { return apply_unary_post_ops(problem, x); });
    maps_ = true;
  }

  void run_rows(Context& context, std::int64_t plane, std::int64_t first,
                std::int64_t last) const noexcept {
    const std::int64_t row = window_.axes[2].output * task_.inner;
    const std::int64_t rows = window_.axes[0].output * window_.axes[1].output;
    const std::int64_t offset = (plane * rows + first) * row, count = (last - first) * row;
    PoolRows task = task_;
    task.window = &window_;
    task.shares = &shares_;
    task.input = context.input(0).as<std::byte>() +
                 plane * window_.input_elements() * task_.inner * element_bytes_;
    std::byte* const output = context.output(0).as_mutable<std::byte>();
    task.output = output + plane * rows * row * element_bytes_;
    task.first = first;
    task.last = last;
    function_(task);
    std::byte* const results = output + offset * element_bytes_;
    if (task_.type == DataType::float32)
      return post_ops_.apply(context.inputs(), reinterpret_cast<float*>(results), offset, count);
    auto* bytes = reinterpret_cast<std::uint8_t*>(results);
    if (flips_)
      for (std::int64_t i = 0; i < count; ++i) bytes[i] ^= 0x80;
    if (maps_) qint8_rows().map(table_, bytes, bytes, count);
  }

  Window window_;
  PoolShares shares_;
  void (*function_)(const PoolRows&) noexcept;
  PostOpProgram post_ops_;
  PoolRows task_;
  std::int64_t planes_ = 0, element_bytes_ = 4;
  bool maps_ = false, flips_ = false;  // qint8: a table, or another signedness, afterwards
  Qint8Table table_{};
};

template <PoolKind kind>
Applicability applicable(const Problem& problem) {
  if (problem.outputs.size() > 1 && problem.outputs[1].present())
    return Applicability::no("the indices output is not supported");
  return check_pool(problem, kind);
}

template <PoolKind kind>
Result<std::unique_ptr<Kernel>> make_direct_pool(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, problem.inputs[0].shape));
  return make_pool(problem, kind, window);
}

template <PoolKind kind>
RoutineFunctions direct_pool() {
  return {.facts = {.default_rank = 20, .version = 3},
          .applicable = applicable<kind>,
          .supports_post_ops = if_qint8_or<PostOpProgram::supports>,
          .create = make_direct_pool<kind>};
}

}  // namespace

Applicability check_pool(const Problem& problem, PoolKind kind) {
  const DataType type = problem.inputs[0].type;
  if (!has_kernels_of(type)) return Applicability::no("this build has kernels for float32 only");
  if (type == DataType::qint8) {
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
    if (kind == PoolKind::mean)
      if (Applicability bounds = supports_qint8_bounds(problem); !bounds) return bounds;
  } else if (!is_span_float(type)) {
    return Applicability::no("input 0 is not float32, float16, bfloat16 or qint8");
  }
  if (problem.outputs[0].type != type) return Applicability::no("input and output differ in type");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_pool(const Problem& problem, PoolKind kind,
                                          const Window& window) {
  PostOpProgram post_ops;
  if (problem.outputs[0].type != DataType::qint8) {
    SN_ASSIGN_OR_RETURN(post_ops, PostOpProgram::create(problem));
  }
  return make_kernel<DirectPoolKernel>(problem, kind, window, std::move(post_ops));
}

Status register_direct_pools(Registry& registry, std::initializer_list<const char*> layer_types,
                             PoolKind kind) {
  return add_routines(
      registry, layer_types, kSchemas, "direct",
      kind == PoolKind::max ? direct_pool<PoolKind::max>() : direct_pool<PoolKind::mean>());
}

}  // namespace softneuro
