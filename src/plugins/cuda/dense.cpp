// dense cuda/cublaslt: the product with its bias by cuBLASLt, post-ops by a generated kernel behind
// it.
#include <optional>

#include "core/base/error.h"
#include "plugins/cuda/chain.h"
#include "plugins/cuda/product.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

class DenseKernel final : public Kernel {
 public:
  DenseKernel(Product product, std::optional<Chain> tail, PackedConstants constants)
      : product_(std::move(product)), tail_(std::move(tail)), constants_(std::move(constants)) {}

  std::size_t workspace_bytes() const noexcept override { return product_.workspace_bytes(); }
  Status run(Context& context) const noexcept override {
    SN_RETURN_IF_ERROR(product_.launch(static_cast<CudaStream&>(*context.stream()),
                                       constants_.data(context, 0), constants_.data(context, 1),
                                       context.output(0).data, context.workspace()));
    return tail_ ? tail_->launch(context, constants_) : Status();
  }

 private:
  Product product_;
  std::optional<Chain> tail_;
  PackedConstants constants_;
};

class DenseRoutine final : public PackingRoutine {
 public:
  explicit DenseRoutine(const Gpu& gpu) : PackingRoutine("dense", "cuda/cublaslt"), gpu_(gpu) {}

  std::string library() const override {
    const auto library = gpu_.cublaslt();
    return library.ok() ? "cublasLt " + (*library)->version() : std::string();
  }
  bool supports_post_ops(const Problem& problem) const override {
    return Chain::supports(problem, problem.post_ops).ok() && gpu_.nvrtc().ok();
  }
  Applicability applicable(const Problem& problem) const override {
    for (std::size_t i = 0; i < problem.own_inputs; ++i)
      if (problem.has_input(i) && problem.inputs[i].type != DataType::float32)
        return Applicability::no("it is not float32");
    if (problem.has_input(2) && !problem.inputs[2].constant)
      return Applicability::no("the bias is not constant");
    const Product::Sizes sizes = sizes_of(problem);
    if (sizes.rows == 0 || sizes.depth == 0 || sizes.columns == 0)
      return Applicability::no("a matrix is empty");
    const auto library = gpu_.cublaslt();
    return library.ok() ? Applicability::yes() : Applicability::no(library.status().message());
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const CublasLt* const library, gpu_.cublaslt());
    PackedConstants constants(problem, packed);
    SN_ASSIGN_OR_RETURN(Product product,
                        Product::create(gpu_.device, *library, sizes_of(problem),
                                        problem.has_input(2) ? constants.constant(2) : nullptr));
    std::optional<Chain> tail;
    if (!problem.post_ops.empty()) {
      SN_ASSIGN_OR_RETURN(const Nvrtc* const compiler, gpu_.nvrtc());
      SN_ASSIGN_OR_RETURN(tail,
                          Chain::create(gpu_.device, *compiler, problem, -1, problem.post_ops));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<DenseKernel>(std::move(product), std::move(tail), std::move(constants)));
  }

 private:
  static Product::Sizes sizes_of(const Problem& problem) {
    const Shape &x = problem.inputs[0].shape, &w = problem.inputs[1].shape;
    Product::Sizes sizes;
    sizes.is_transposed = problem.params.integer("transpose_weights") != 0;
    sizes.rows = x.elements(0, x.rank() - 1);
    sizes.depth = w[sizes.is_transposed ? 1 : 0];
    sizes.columns = w[sizes.is_transposed ? 0 : 1];
    return sizes;
  }

  Gpu gpu_;
};

}  // namespace

Status register_dense(Registry& registry, const Gpu& gpu) {
  return registry.add(std::make_unique<DenseRoutine>(gpu));
}

}  // namespace softneuro::cuda
