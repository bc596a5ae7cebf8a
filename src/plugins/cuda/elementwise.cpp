// unary, binary and clip cuda/nvrtc: the layer and its post-ops as one generated kernel.
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "cpu/post_ops/post_ops.h"
#include "plugins/cuda/chain.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

class ChainKernel final : public Kernel {
 public:
  ChainKernel(Chain chain, PackedConstants constants, int in_place)
      : chain_(std::move(chain)), constants_(std::move(constants)), in_place_(in_place) {}
  int in_place_input() const noexcept override { return in_place_; }
  Status run(Context& context) const noexcept override {
    return chain_.launch(context, constants_);
  }

 private:
  Chain chain_;
  PackedConstants constants_;
  int in_place_;
};

// An input that each thread reads where it writes.
int in_place_input(const Problem& problem) {
  for (std::uint32_t i = 0; i < problem.layer_inputs; ++i) {
    const TensorSpec& input = problem.inputs[i];
    if (input.present() && !input.constant && input.shape == problem.outputs[0].shape &&
        post_ops_allow_in_place(problem, static_cast<int>(i)))
      return static_cast<int>(i);
  }
  return -1;
}

// The layer itself as an op behind its input 0.
using LayerOp = Result<PostOp> (*)(const Problem& problem);

class ElementwiseImplementation final : public PackingImplementation {
 public:
  ElementwiseImplementation(ProblemPtr problem, const RoutineContext& context, CudaDevice& device,
                            const Nvrtc& compiler, const PostOp& op)
      : PackingImplementation(std::move(problem), context),
        device_(device),
        compiler_(compiler),
        ops_{op} {
    ops_.insert(ops_.end(), this->problem().post_ops.begin(), this->problem().post_ops.end());
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(Gpu* const gpu, device_.gpu());
    SN_ASSIGN_OR_RETURN(Chain chain, Chain::create(*gpu, compiler_, problem(), 0, ops_));
    return make_kernel<ChainKernel>(std::move(chain), PackedConstants(problem(), packed),
                                    in_place_input(problem()));
  }

 private:
  CudaDevice& device_;
  const Nvrtc& compiler_;
  std::vector<PostOp> ops_;  // the layer itself first
};

class ElementwiseRoutine final : public Routine {
 public:
  ElementwiseRoutine(const char* layer_type, LayerOp layer_op, CudaDevice& device)
      : Routine(layer_type, "cuda/nvrtc"), layer_op_(layer_op), device_(device) {}

  RoutineFacts facts() const override {
    if (!device_.is_started()) return {};
    const auto compiler = device_.toolkit().nvrtc();
    return {.library = compiler.ok() ? "nvrtc " + (*compiler)->version() : std::string()};
  }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return Chain::supports(problem, problem.post_ops).ok();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    if (problem->inputs[0].type != DataType::float32) return unsupported("needs float32");
    SN_ASSIGN_OR_RETURN(const PostOp op, layer_op_(*problem));
    SN_RETURN_IF_ERROR(Chain::supports(*problem, {op}).status());
    SN_ASSIGN_OR_RETURN(const Nvrtc* const compiler, device_.toolkit().nvrtc());
    return make_implementation_of<ElementwiseImplementation>(std::move(problem), context, device_,
                                                             *compiler, op);
  }

 private:
  LayerOp layer_op_;
  CudaDevice& device_;
};

Result<PostOp> unary_op(const Problem& problem) {
  PostOp op;
  if (!parse(problem.params.text("op"), op.unary)) return unsupported("there is no such op");
  op.alpha = static_cast<float>(problem.params.real("alpha"));
  op.beta = static_cast<float>(problem.params.real("beta"));
  return op;
}

Result<PostOp> binary_op(const Problem& problem) {
  PostOp op;
  op.kind = PostOp::Kind::binary;
  if (!parse(problem.params.text("op"), op.binary)) return unsupported("there is no such op");
  op.input = 1;
  return op;
}

Result<PostOp> clip_op(const Problem& problem) {
  PostOp op;
  op.unary = UnaryOp::clip;
  op.alpha = -INFINITY;
  op.beta = INFINITY;
  for (std::size_t i = 1; i < 3; ++i) {
    if (!problem.has_input(i)) continue;
    const TensorSpec& limit = problem.inputs[i];
    if (!limit.constant || limit.value.empty() || limit.shape.elements() != 1)
      return unsupported("a limit is not one constant number");
    (i == 1 ? op.alpha : op.beta) = static_cast<float>(load(view_of(limit.value), 0));
  }
  return op;
}

}  // namespace

Status register_elementwise(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<ElementwiseRoutine>("unary", unary_op, device)));
  SN_RETURN_IF_ERROR(
      registry.add(std::make_unique<ElementwiseRoutine>("binary", binary_op, device)));
  return registry.add(std::make_unique<ElementwiseRoutine>("clip", clip_op, device));
}

}  // namespace softneuro::cuda
