// clip cpu/direct: float32, float16, bfloat16 and qint8, in any layout; the limits are read once
// per run.
#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/post_ops/qint8_post_ops.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/span_ops.h"
#include "cpu/tensor/broadcast_walk.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 4096;  // elements

class DirectClipKernel final : public Kernel {
 public:
  explicit DirectClipKernel(const Problem& problem)
      : elements_(stored_elements(problem.outputs[0].shape, problem.outputs[0].layout)),
        padding_(problem.outputs[0].shape, problem.outputs[0].layout),
        from_(problem.inputs[0].quantization),
        to_(problem.outputs[0].quantization) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const float low = limit(context, 1, -INFINITY), high = limit(context, 2, INFINITY);
    if (x.type == DataType::qint8) {
      run_table(context, low, high);
      return {};
    }
    parallel_chunks(context.pool(), elements_, kChunk, [&](std::int64_t begin, std::int64_t count) {
      alignas(64) float buffer[kChunk];
      const float* source = read_floats(x.data, x.type, begin, count, buffer);
      float* target = target_floats(y.data, y.type, begin, buffer);
      span_ops().unary(UnaryOp::clip, source, target, count, low, high);
      padding_.clear(target, begin, count);
      write_floats(y.data, y.type, begin, count, target);
    });
    return {};
  }

 private:
  static float limit(const Context& context, std::size_t i, float none) noexcept {
    if (!context.has_input(i)) return none;
    float buffer = 0;
    return *read_floats(context.input(i).data, context.input(i).type, 0, 1, &buffer);
  }

  // NaN does not occur; an upper limit below the lower one wins.
  void run_table(Context& context, float low, float high) const noexcept {
    const Qint8Table table =
        make_qint8_table(*from_, *to_, [&](float x) { return std::min(std::max(x, low), high); });
    map_bytes(context.pool(), table, context.input(0).data, context.output(0).data, elements_);
  }

  std::int64_t elements_;
  ChannelPadding padding_;
  std::optional<Quantization> from_, to_;
};

Applicability applicable(const Problem& problem) {
  const DataType type = problem.inputs[0].type;
  if (type == DataType::qint8) {
    if (Applicability qint8 = check_qint8(problem); !qint8) return qint8;
    if (!problem.post_ops.empty()) return Applicability::no("post-ops on qint8 are not supported");
  } else if (!is_span_float(type)) {
    return Applicability::no("input 0 is not float32, float16, bfloat16 or qint8");
  }
  if (problem.outputs[0].type != type) return Applicability::no("input and output differ in type");
  for (std::size_t i = 1; i < 3; ++i) {
    if (!problem.has_input(i)) continue;
    if (problem.inputs[i].shape.elements() != 1)
      return Applicability::no("a limit must have one element");
    if (!is_span_float(problem.inputs[i].type))
      return Applicability::no("a limit is not float32, float16 or bfloat16");
  }
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_clip(const Problem& problem) {
  return make_kernel<DirectClipKernel>(problem);
}

}  // namespace

Status register_routine_clip_cpu_direct(Registry& registry) {
  return add_routines(registry, {"clip"}, kSchemas, "direct",
                      {.facts = {.default_rank = 20},
                       .applicable = applicable,
                       .supports_post_ops = if_qint8,
                       .create = make_direct_clip});
}

}  // namespace softneuro
