// wgconv cpu/gemm and cpu:float32:nhwc/gemm: one product of matrices for each point and image, on
// weights that were packed. Plain: weights · v; nhwc: v · weights, whose rows are tiles.
//
// Routine parameter: rows of a product that one task computes.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "cpu/gemm/gemm.h"
#include "cpu/simd/float_span.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

constexpr std::int64_t kDefaultRows = 96;
constexpr std::int64_t kRowChoices[] = {24, 96, 384};
static_assert(kDefaultRows % kGemmRows == 0);

struct Sizes {
  std::int64_t images = 0, points = 0, channels = 0, outputs = 0, tiles = 0;
  bool last = false;  // channels are last

  explicit Sizes(const Problem& problem) {
    const Shape &v = problem.inputs[0].shape, &u = problem.inputs[1].shape;
    images = v[0];
    channels = v[1];
    points = v[2];
    tiles = v[3];
    outputs = u[1];
    last = problem.inputs[0].layout == Layout::channels_last;
  }
  std::int64_t rows() const { return last ? tiles : outputs; }
  std::int64_t columns() const { return last ? outputs : tiles; }
  // Floats of packed weights, and of a packed part of v, for one point.
  std::int64_t weight_floats() const {
    return last ? packed_b_floats(channels, outputs) : packed_a_floats(outputs, channels);
  }
  std::int64_t v_floats() const {
    return last ? packed_a_floats(tiles, channels) : packed_b_floats(channels, tiles);
  }
};

class GemmWgconvKernel final : public Kernel {
 public:
  GemmWgconvKernel(const Sizes& sizes, std::int64_t task_rows, Tensor packed)
      : s_(sizes), task_rows_(task_rows), packed_(std::move(packed)) {}

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(s_.images * s_.points * s_.v_floats()) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    auto* const packed_v = reinterpret_cast<float*>(context.workspace());
    const auto* const v = context.input(0).as<float>();
    const std::int64_t matrices = s_.images * s_.points;
    parallel_for(context.pool(), matrices, [&](std::int64_t i) {
      float* const to = packed_v + i * s_.v_floats();
      if (s_.last)
        pack_a({v + i * s_.tiles * s_.channels, s_.channels, 1}, s_.tiles, s_.channels, to);
      else
        pack_b({v + plane(i, s_.channels), s_.points * s_.tiles, 1}, s_.channels, s_.tiles, to);
    });
    const std::int64_t parts = (s_.rows() + task_rows_ - 1) / task_rows_;
    parallel_for(context.pool(), matrices * parts, [&](std::int64_t i) {
      multiply(context, packed_v + i / parts * s_.v_floats(), i / parts, i % parts * task_rows_);
    });
    return {};
  }

 private:
  // Plain layout: where matrix i of a tensor with `channels` begins.
  std::int64_t plane(std::int64_t i, std::int64_t channels) const noexcept {
    return (i / s_.points * channels * s_.points + i % s_.points) * s_.tiles;
  }

  void multiply(Context& context, const float* v, std::int64_t i, std::int64_t row) const noexcept {
    const float* const weights =
        static_cast<const float*>(packed_.data()) + i % s_.points * s_.weight_floats();
    GemmTask task;
    task.m = std::min(task_rows_, s_.rows() - row);
    task.n = s_.columns();
    task.k = s_.channels;
    task.a = (s_.last ? v : weights) + row * s_.channels;
    task.b = s_.last ? weights : v;
    task.c_row_stride = s_.last ? s_.outputs : s_.points * s_.tiles;
    task.c = context.output(0).as_mutable<float>() +
             (s_.last ? i * s_.tiles * s_.outputs : plane(i, s_.outputs)) + row * task.c_row_stride;
    gemm(task);
  }

  Sizes s_;
  std::int64_t task_rows_;
  Tensor packed_;
};

class GemmWgconvImplementation final : public Implementation {
 public:
  GemmWgconvImplementation(ProblemPtr problem, const RoutineContext& context)
      : Implementation(std::move(problem), context), sizes_(this->problem()) {}

  RoutineParams default_params() const override {
    RoutineParams params;
    params.set("rows", kDefaultRows);
    return params;
  }
  ParamSpace param_space() const override {
    ParamAxis rows{"rows", {}};
    for (const std::int64_t choice : kRowChoices) rows.values.emplace_back(choice);
    ParamSpace space;
    space.axes.push_back(std::move(rows));
    return space;
  }

  Result<Packing> packing(const RoutineParams&) const override {
    const std::int64_t floats = sizes_.points * sizes_.weight_floats();
    return Packing{static_cast<std::size_t>(floats) * sizeof(float), {}, true};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem().inputs[1].value, scratch));
    const Sizes& s = sizes_;
    auto* to = reinterpret_cast<float*>(packed);
    const auto* from = static_cast<const float*>(floats.data());
    for (std::int64_t p = 0; p < s.points; ++p) {
      if (s.last)
        pack_b({from, 1, s.channels}, s.channels, s.outputs, to);
      else
        pack_a({from, s.channels, 1}, s.outputs, s.channels, to);
      from += s.outputs * s.channels;
      to += s.weight_floats();
    }
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    return make_kernel<GemmWgconvKernel>(sizes_, params.integer("rows"), packed.bytes);
  }

 private:
  Sizes sizes_;
};

class GemmWgconv final : public Routine {
 public:
  explicit GemmWgconv(const char* descriptor) : Routine("wgconv", descriptor) {}
  RoutineFacts facts() const override { return {.default_rank = 10}; }

 protected:
  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
    if (!problem.inputs[1].constant || !is_span_float(problem.inputs[1].type))
      return Applicability::no("weights must be constant floats of 16 or 32 bits");
    return Applicability::yes();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<GemmWgconvImplementation>(std::move(problem), context);
  }
};

}  // namespace

Status register_routine_wgconv_cpu_gemm(Registry& registry) {
  return add_each<GemmWgconv>(registry, {"cpu/gemm", "cpu:float32:nhwc/gemm"});
}

}  // namespace softneuro
