// dense cuda/cublaslt: the matrix product with its bias by cuBLASLt, post-ops by a generated kernel
// behind it.
#include "core/base/error.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/kernels/launched.h"
#include "plugins/cuda/products/matmul.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

class DenseKernel final : public Kernel {
 public:
  DenseKernel(Matmul matmul, Launched tail, PackedConstants constants)
      : matmul_(std::move(matmul)), tail_(std::move(tail)), constants_(std::move(constants)) {}

  std::size_t workspace_bytes() const noexcept override { return matmul_.workspace_bytes(); }
  Status run(Context& context) const noexcept override {
    SN_RETURN_IF_ERROR(matmul_.launch(static_cast<CudaStream&>(*context.stream()),
                                      constants_.data(context, 0), constants_.data(context, 1),
                                      context.output(0).data, context.workspace()));
    return tail_.launch(context, constants_);
  }

 private:
  Matmul matmul_;
  Launched tail_;  // the post-ops
  PackedConstants constants_;
};

GemmShape gemm_shape(const Problem& problem) {
  const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape;
  GemmShape shape;
  shape.transpose_b = problem.params.integer("transpose_weights") != 0;
  shape.m = x.elements(0, x.rank() - 1);
  shape.k = w[shape.transpose_b ? 1 : 0];
  shape.n = w[shape.transpose_b ? 0 : 1];
  return shape;
}

class DenseImplementation final : public PackingImplementation {
 public:
  DenseImplementation(ProblemPtr problem, const RoutineContext& context, CudaDevice& device,
                      const CublasLt& library)
      : PackingImplementation(std::move(problem), context), device_(device), library_(library) {}

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    PackedConstants constants(problem(), packed);
    SN_ASSIGN_OR_RETURN(Gpu* const gpu, device_.gpu());
    SN_ASSIGN_OR_RETURN(Matmul matmul,
                        Matmul::create(*gpu, library_, gemm_shape(problem()),
                                       problem().has_input(2) ? constants.constant(2) : nullptr));
    Launched tail;
    if (!problem().post_ops.empty()) {
      Program program;
      SN_ASSIGN_OR_RETURN(Launch launch, chain(problem(), -1, problem().post_ops));
      program.launches.push_back(std::move(launch));
      SN_ASSIGN_OR_RETURN(tail, Launched::create(device_, program));
    }
    return make_kernel<DenseKernel>(std::move(matmul), std::move(tail), std::move(constants));
  }

 private:
  CudaDevice& device_;
  const CublasLt& library_;
};

class DenseRoutine final : public Routine {
 public:
  explicit DenseRoutine(CudaDevice& device) : Routine("dense", "cuda/cublaslt"), device_(device) {}

  RoutineFacts facts() const override {
    RoutineFacts facts;
    facts.default_rank = 2;  // before our own
    if (!device_.is_started()) return facts;
    if (const auto library = device_.toolkit().cublaslt(); library.ok())
      facts.library = "cublasLt " + (*library)->version();
    return facts;
  }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return supports_tail(problem, problem.post_ops).ok() && device_.toolkit().nvrtc().ok();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    for (std::size_t i = 0; i < problem->layer_inputs; ++i)
      if (problem->has_input(i) && problem->inputs[i].type != DataType::float32)
        return unsupported("needs float32");
    if (problem->has_input(2) && !problem->inputs[2].constant)
      return unsupported("the bias is not constant");
    const GemmShape shape = gemm_shape(*problem);
    if (shape.m == 0 || shape.k == 0 || shape.n == 0)
      return unsupported("empty matrices are not supported");
    SN_ASSIGN_OR_RETURN(const CublasLt* const library, device_.toolkit().cublaslt());
    return make_implementation_of<DenseImplementation>(std::move(problem), context, device_,
                                                       *library);
  }

 private:
  CudaDevice& device_;
};

}  // namespace

Status register_dense(Registry& registry, CudaDevice& device) {
  return registry.add(std::make_unique<DenseRoutine>(device));
}

}  // namespace softneuro::cuda
