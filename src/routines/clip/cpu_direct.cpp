// clip cpu/direct: float32, float16 and bfloat16; the limits are read once per run.
#include <algorithm>
#include <cmath>

#include "core/float_span.h"
#include "core/parallel.h"
#include "core/registry.h"
#include "core/span_ops.h"

namespace softneuro {
namespace {

constexpr std::int64_t kPiece = 4096;  // elements

class DirectClipKernel final : public Kernel {
 public:
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const float low = limit(context, 1, -INFINITY), high = limit(context, 2, INFINITY);
    const std::int64_t elements = x.elements();
    const std::int64_t pieces = (elements + kPiece - 1) / kPiece;
    parallel_for(context.pool(), pieces, [&](std::int64_t piece) {
      const std::int64_t offset = piece * kPiece;
      const std::int64_t count = std::min(kPiece, elements - offset);
      alignas(64) float buffer[kPiece];
      const float* source = read_floats(x.data, x.type, offset, count, buffer);
      float* target = target_floats(y.data, y.type, offset, buffer);
      span_ops().unary(UnaryOp::clip, source, target, count, low, high);
      write_floats(y.data, y.type, offset, count, target);
    });
    return {};
  }

 private:
  static float limit(const Context& context, std::size_t i, float none) noexcept {
    if (!context.has_input(i)) return none;
    float buffer = 0;
    return *read_floats(context.input(i).data, context.input(i).type, 0, 1, &buffer);
  }
};

class DirectClip final : public Routine {
 public:
  DirectClip() : Routine("clip", "cpu/direct") {}
  int default_rank() const override { return 20; }
  Applicability applicable(const Problem& problem) const override {
    if (!is_span_float(problem.inputs[0].type))
      return Applicability::no("input 0 is not float32, float16 or bfloat16");
    for (std::size_t i = 1; i < 3; ++i)
      if (problem.has_input(i) && problem.inputs[i].shape.elements() != 1)
        return Applicability::no("a limit must have one element");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineParams&,
                                         const PackedWeights&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<DirectClipKernel>());
  }
};

}  // namespace

Status register_routine_clip_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectClip>());
}

}  // namespace softneuro
