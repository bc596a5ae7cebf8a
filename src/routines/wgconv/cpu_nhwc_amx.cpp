// wgconv cpu:float32:nhwc/amx: for each image and point one product, tiles · weights, on weights
// that were packed. Parameters: see gemm_layer.h.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/gemm_layer.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

struct Sizes {
  std::int64_t points = 0;
  PackedShape shape;             // of the products of all images and points
  std::int64_t point_bytes = 0;  // of one point's packed weights

  Sizes(const Problem& problem, const SplitTileOps<float>& ops) {
    const Shape &v = problem.inputs[0].shape, &u = problem.inputs[1].shape;
    points = v[2];
    shape.matrices = v[0] * points;
    shape.rows = v[3];
    shape.columns = u[1];
    shape.length = v[1];
    shape.c_row_stride = shape.columns;
    point_bytes = product_bytes(shape, ops);
  }
};

class WgconvOperands final : public PackedOperands<float> {
 public:
  WgconvOperands(const Sizes& sizes, const float* v, const Tensor& packed)
      : s_(sizes), v_(v), packed_(static_cast<const std::byte*>(packed.data())) {}
  PackedMatrix matrix(std::int64_t index) const noexcept override {
    return {packed_ + index % s_.points * s_.point_bytes, nullptr,
            index * s_.shape.rows * s_.shape.columns};
  }
  void point(const GemmRows& rows, const float** pointers, float*) const noexcept override {
    const float* from = v_ + (rows.matrix * s_.shape.rows + rows.row) * s_.shape.length;
    for (int r = 0; r < rows.rows; ++r, from += s_.shape.length) pointers[r] = from;
  }

 private:
  const Sizes& s_;
  const float* v_;
  const std::byte* packed_;
};

class AmxWgconvKernel final : public Kernel {
 public:
  AmxWgconvKernel(const Sizes& sizes, const SplitTileOps<float>& ops, const GemmLimits& limits,
                  int threads, Tensor packed)
      : s_(sizes), gemm_(s_.shape, limits, ops, threads), packed_(std::move(packed)) {}

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(gemm_.workspace_floats()) * sizeof(float);
  }

  Status run(Context& context) const noexcept override {
    gemm_.run(context.pool(), context.inputs(), context.output(0).as_mutable<float>(),
              WgconvOperands(s_, context.input(0).as<float>(), packed_), {},
              reinterpret_cast<float*>(context.workspace()));
    return {};
  }

 private:
  Sizes s_;
  SplitPrecisionGemm<float> gemm_;
  Tensor packed_;
};

class AmxWgconv final : public Routine {
 public:
  explicit AmxWgconv(const SplitTileOps<float>& ops)
      : Routine("wgconv", "cpu:float32:nhwc/amx"), ops_(ops) {}
  int version() const override { return SplitPrecisionGemm<float>::kVersion; }
  CpuFeatures needs() const override { return ops_.needs; }
  int default_rank() const override { return 5; }

  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("only float32");
    if (!problem.inputs[1].constant || !is_span_float(problem.inputs[1].type))
      return Applicability::no("weights must be constant floats of 16 or 32 bits");
    return Applicability::yes();
  }

  RoutineParams default_params(const Problem&) const override { return default_gemm_params(); }
  ParamSpace param_space(const Problem& problem) const override {
    const Sizes s(problem, ops_);
    return gemm_param_space(0, s.shape.matrices * s.shape.rows * s.shape.columns * s.shape.length);
  }

  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[1].value, scratch));
    const Sizes s(problem, ops_);
    SN_ASSIGN_OR_RETURN(
        Tensor panel,
        Tensor::create(DataType::float32, Shape{s.shape.length * kPackedPanel}, scratch));
    std::byte* to = packed;
    const auto* from = static_cast<const float*>(floats.data());
    for (std::int64_t p = 0; p < s.points; ++p, to += s.point_bytes) {
      pack_product(
          s.shape, ops_,
          [&](std::int64_t first, std::int64_t columns, float* floats_of_panel) {
            pack_b({from + first * s.shape.length, 1, s.shape.length}, s.shape.length, columns,
                   floats_of_panel);
          },
          static_cast<float*>(panel.mutable_data()), to);
      from += s.shape.columns * s.shape.length;
    }
    return {};
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const Sizes s(problem, ops_);
    return static_cast<std::size_t>(s.points * s.point_bytes);
  }
  bool reads_constants(const Problem&) const override { return false; }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    return std::unique_ptr<Kernel>(std::make_unique<AmxWgconvKernel>(
        Sizes(problem, ops_), ops_, gemm_limits(params), problem.threads, packed.bytes));
  }

 private:
  const SplitTileOps<float>& ops_;
};

}  // namespace

Status register_routine_wgconv_cpu_nhwc_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<float>();
  return ops == nullptr ? Status() : registry.add(std::make_unique<AmxWgconv>(*ops));
}

}  // namespace softneuro
