// wgweights cpu/direct: G g Gᵀ of a panel of kernels at a time.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/layers/winograd_matrices.h"
#include "core/routine/function_routine.h"
#include "routines/conv2/winograd.h"

namespace softneuro {
namespace {

class DirectWgweightsKernel final : public Kernel {
 public:
  explicit DirectWgweightsKernel(const WinogradMatrices& matrices) : w_(matrices) {}

  Status run(Context& context) const noexcept override {
    const Shape& u = context.output(0).shape;
    const std::int64_t kernels = u[1] * u[2];
    const auto* const g = context.input(0).as<float>();
    auto* const to = context.output(0).as_mutable<float>();
    parallel_ranges(context.pool(), (kernels + kWgPanel - 1) / kWgPanel, 8,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i)
                        transform(g, i * kWgPanel, std::min((i + 1) * kWgPanel, kernels), kernels,
                                  to);
                    });
    return {};
  }

 private:
  // Kernels [first, last).
  void transform(const float* g, std::int64_t first, std::int64_t last, std::int64_t kernels,
                 float* to) const noexcept {
    constexpr std::int64_t kMost = kMaxWinogradTile * kMaxWinogradTile * kWgPanel;
    const std::int64_t taps = w_.taps * w_.taps, points = w_.tile * w_.tile, count = last - first;
    float panel[kMost] = {}, u[kMost];
    for (std::int64_t l = 0; l < count; ++l)
      for (std::int64_t k = 0; k < taps; ++k) panel[k * kWgPanel + l] = g[(first + l) * taps + k];
    ops_.transform_weights(w_, panel, u);
    for (std::int64_t p = 0; p < points; ++p)
      std::copy_n(u + p * kWgPanel, count, to + p * kernels + first);
  }

  const WgOps& ops_ = wg_ops();
  WinogradMatrices w_;
};

Applicability applicable(const Problem& problem) {
  if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_wgweights(const Problem& problem) {
  return make_kernel<DirectWgweightsKernel>(winograd_matrices(problem.params));
}

}  // namespace

Status register_routine_wgweights_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"wgweights"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 10}, .applicable = applicable, .create = make_direct_wgweights});
}

}  // namespace softneuro
