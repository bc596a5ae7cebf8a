// wgconv cpu:float32:nhwc/amx: for each image and point one product, tiles · weights, on weights
// that were packed. Parameters: see gemm_layer.h.
#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/packed_layer.h"
#include "cpu/gemm/split_precision_gemm.h"

namespace softneuro {
namespace {

using Gemm = SplitPrecisionGemm<float>;

GemmShape gemm_shape(const Problem& problem) {
  const Shape &v = problem.inputs[0].shape, &u = problem.inputs[1].shape;
  GemmShape shape;
  shape.matrices = v[0] * v[2];
  shape.rows = v[3];
  shape.columns = u[1];
  shape.length = v[1];
  shape.c_row_stride = shape.columns;
  return shape;
}
std::int64_t points_of(const Problem& problem) {
  return problem.inputs[0].shape[2];
}

class WgconvOperands final : public GemmOperands<float> {
 public:
  WgconvOperands(const GemmShape& shape, std::int64_t points, std::int64_t point_bytes)
      : shape_(shape), points_(points), point_bytes_(point_bytes) {}
  GemmMatrix matrix(std::int64_t index) const noexcept override {
    return {b + index % points_ * point_bytes_, nullptr, index * shape_.rows * shape_.columns};
  }
  void point(const GemmRows& rows, const float** pointers, float*) const noexcept override {
    const float* from = x + (rows.matrix * shape_.rows + rows.row) * shape_.length;
    for (int r = 0; r < rows.rows; ++r, from += shape_.length) pointers[r] = from;
  }

  const float* x = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;  // none

 private:
  const GemmShape& shape_;
  std::int64_t points_, point_bytes_;
};

class AmxWgconvKernel final : public PackedLayerKernel<Gemm> {
 public:
  AmxWgconvKernel(const Problem& problem, const Gemm::Ops& ops, const GemmLimits& limits,
                  GemmLayerParts parts)
      : PackedLayerKernel(gemm_shape(problem), ops, limits, 0, 0, std::move(parts)),
        shape_(gemm_shape(problem)),
        points_(points_of(problem)),
        point_bytes_(product_bytes(shape_, ops)) {}

  Status run(Context& context) const noexcept override {
    WgconvOperands operands(shape_, points_, point_bytes_);
    multiply(context, operands);
    return {};
  }

 private:
  GemmShape shape_;
  std::int64_t points_, point_bytes_;  // of one point's packed weights
};

class AmxWgconvImplementation final : public PackedLayerImplementation<Gemm> {
 public:
  using PackedLayerImplementation::PackedLayerImplementation;

  ParamSpace param_space() const override {
    const GemmShape& s = shape();
    return gemm_param_space(0, s.matrices * s.rows * s.columns * s.length);
  }
  Result<Packing> packing(const RoutineParams& params) const override {
    SN_ASSIGN_OR_RETURN(Packing packing, PackedLayerImplementation::packing(params));
    packing.replaces_constants = true;
    return packing;
  }

 protected:
  void fill(const float* weights, std::int64_t point, std::int64_t first, std::int64_t columns,
            float* panel) const noexcept override {
    const GemmShape& s = shape();
    pack_b({weights + (point * s.columns + first) * s.length, 1, s.length}, s.length, columns,
           panel);
  }
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts, parts_of(packed, 0, 0));
    return make_kernel<AmxWgconvKernel>(problem(), ops(), limits(params), std::move(parts));
  }
};

class AmxWgconv final : public PackedLayerRoutine<Gemm> {
 public:
  explicit AmxWgconv(const Gemm::Ops& ops) : PackedLayerRoutine("wgconv", ":nhwc", "amx", 5, ops) {}

 protected:
  bool supports_post_ops(const Problem&) const override { return false; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
    if (!problem.inputs[1].constant || !is_span_float(problem.inputs[1].type))
      return Applicability::no("weights must be constant floats of 16 or 32 bits");
    return Applicability::yes();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    const std::int64_t points = points_of(*problem);
    const GemmShape shape = gemm_shape(*problem);
    return make_implementation_of<AmxWgconvImplementation>(std::move(problem), context, ops(),
                                                           points, shape);
  }
};

}  // namespace

Status register_routine_wgconv_cpu_nhwc_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<float>();
  return ops == nullptr ? Status() : registry.add(std::make_unique<AmxWgconv>(*ops));
}

}  // namespace softneuro
