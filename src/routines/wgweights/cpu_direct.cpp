// wgweights cpu/direct: G g, then (G g) Gᵀ, of 16 kernels at a time.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/layers/winograd_matrices.h"
#include "core/routine/registry.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTogether = 16;  // kernels: a cache line of each point's row

class DirectWgweightsKernel final : public Kernel {
 public:
  explicit DirectWgweightsKernel(const WinogradMatrices& matrices) : w_(matrices) {}

  Status run(Context& context) const noexcept override {
    const Shape& u = context.output(0).shape;
    const std::int64_t kernels = u[1] * u[2];
    const auto* const g = context.input(0).as<float>();
    auto* const to = context.output(0).as_mutable<float>();
    parallel_ranges(context.pool(), (kernels + kTogether - 1) / kTogether, 16,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i)
                        transform(g, i * kTogether, std::min((i + 1) * kTogether, kernels), kernels,
                                  to);
                    });
    return {};
  }

 private:
  using Lanes = double[kTogether];

  // Kernels [first, last). In double: G's fractions should not add to Winograd's own rounding.
  void transform(const float* g, std::int64_t first, std::int64_t last, std::int64_t kernels,
                 float* to) const noexcept {
    const int tile = w_.tile, taps = w_.taps;
    const std::int64_t count = last - first;
    Lanes half[kMaxWinogradTile][kMaxWinogradTile] = {};  // G g: row, column of the kernel
    for (int j = 0; j < taps; ++j)
      for (int i = 0; i < taps; ++i) {
        Lanes tap = {};
        for (std::int64_t l = 0; l < count; ++l) tap[l] = g[((first + l) * taps + i) * taps + j];
        for (int row = 0; row < tile; ++row) add(half[row][j], w_.weights[row][i], tap);
      }
    for (int row = 0; row < tile; ++row)
      for (int column = 0; column < tile; ++column) {
        Lanes sum = {};
        for (int j = 0; j < taps; ++j) add(sum, w_.weights[column][j], half[row][j]);
        float* const point = to + (row * tile + column) * kernels + first;
        for (std::int64_t l = 0; l < count; ++l) point[l] = static_cast<float>(sum[l]);
      }
  }

  static void add(Lanes& sum, double factor, const Lanes& values) noexcept {
    for (std::int64_t l = 0; l < kTogether; ++l) sum[l] += factor * values[l];
  }

  WinogradMatrices w_;
};

class DirectWgweights final : public Routine {
 public:
  DirectWgweights() : Routine("wgweights", "cpu/direct") {}
  int default_rank() const override { return 10; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_kernel<DirectWgweightsKernel>(
        winograd_matrices(static_cast<int>(problem.params.integer("tile_size")),
                          static_cast<int>(problem.params.integer("taps"))));
  }
};

}  // namespace

Status register_routine_wgweights_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectWgweights>());
}

}  // namespace softneuro
