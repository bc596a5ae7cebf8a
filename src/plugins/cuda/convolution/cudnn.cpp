// conv2 and conv_transpose2 cuda/cudnn: an operation graph of cuDNN's, with the bias and the first
// post-ops in it where an engine takes them; what is left by a generated kernel behind it.
#include "plugins/cuda/routines.h"

#if defined(SOFTNEURO_HAS_CUDNN)
#include <algorithm>

#include "core/base/element.h"
#include "core/base/error.h"
#include "cpu/tensor/element_place.h"
#include "plugins/cuda/convolution/cudnn_plan.h"
#include "plugins/cuda/convolution/cudnn_problem.h"
#include "plugins/cuda/generate/chain.h"
#include "plugins/cuda/kernels/launched.h"

namespace softneuro::cuda {
namespace {

constexpr const char* kEngine = "engine";  // the routine's parameter
enum Input : std::size_t { kX, kWeights, kBias };

// --- what is left to generated kernels -----------------------------------------------------------

// The bias and post-ops behind the first `done` steps of steps_of(), in place on output 0.
Result<Launched> make_tail(CudaDevice& device, const Problem& problem, std::size_t done) {
  Problem left = problem;
  std::vector<PostOp> ops;
  if (problem.has_input(kBias)) {
    if (done == 0) {
      PostOp bias;
      bias.kind = PostOp::Kind::binary;
      bias.input = kBias;
      ops.push_back(bias);
      left.inputs[kBias].shape = Shape{problem.inputs[kBias].shape[0], 1, 1};
    } else {
      --done;
    }
  }
  ops.insert(ops.end(), problem.post_ops.begin() + static_cast<std::ptrdiff_t>(done),
             problem.post_ops.end());
  if (ops.empty()) return Launched();
  SN_RETURN_IF_ERROR(supports_tail(left, ops).status());
  Program program;
  SN_ASSIGN_OR_RETURN(Launch launch, chain(left, -1, ops));
  program.launches.push_back(std::move(launch));
  return Launched::create(device, program);
}

// --- routine, implementation, kernel -------------------------------------------------------------

class CudnnKernel final : public Kernel {
 public:
  CudnnKernel(CudnnGpu& cudnn, std::shared_ptr<CudnnConvolution> convolution,
              std::shared_ptr<const CudnnPlan> plan, std::vector<FusedStep> steps, Launched tail,
              PackedConstants constants)
      : cudnn_(cudnn),
        convolution_(std::move(convolution)),
        plan_(std::move(plan)),
        steps_(std::move(steps)),
        tail_(std::move(tail)),
        constants_(std::move(constants)) {}

  std::size_t workspace_bytes() const noexcept override { return plan_->workspace_bytes; }
  Status run(Context& context) const noexcept override {
    std::int64_t ids[kMostTensors] = {kXId, kWId, kYId};
    const void* places[kMostTensors] = {constants_.data(context, kX),
                                        constants_.data(context, kWeights), context.output(0).data};
    std::size_t count = 3;
    for (std::size_t i = 0; i < plan_->steps; ++i) {
      if (steps_[i].kind == FusedStep::Kind::relu) continue;
      ids[count] = kFirstOperandId + static_cast<std::int64_t>(i);
      places[count++] = constants_.data(context, steps_[i].input);
    }
    SN_RETURN_IF_ERROR(cudnn_.execute(*plan_, static_cast<CudaStream&>(*context.stream()),
                                      {ids, count}, {places, count}, context.workspace()));
    return tail_.launch(context, constants_);
  }

  static constexpr std::size_t kMostTensors = 16;

 private:
  CudnnGpu& cudnn_;
  std::shared_ptr<CudnnConvolution> convolution_;  // has the plan's graph
  std::shared_ptr<const CudnnPlan> plan_;
  std::vector<FusedStep> steps_;
  Launched tail_;
  PackedConstants constants_;
};

Result<Tensor> converted(const TensorSpec& constant, DataType type, Layout layout,
                         Allocator& scratch) {
  SN_ASSIGN_OR_RETURN(Tensor to, Tensor::create(type, constant.shape, scratch, layout));
  const TensorView from = view_of(constant.value);
  const TensorView view = {type, layout, constant.shape, to.mutable_data()};
  for (std::int64_t i = 0; i < constant.shape.elements(); ++i)
    store(view, element_place(i, constant.shape, layout), load(from, i));
  return to;
}

class CudnnImplementation final : public Implementation {
 public:
  CudnnImplementation(ProblemPtr problem, const RoutineContext& context, CudaDevice& device,
                      CudnnGpu& cudnn, ConvolutionSpec spec, const Precision& precision)
      : Implementation(std::move(problem), context),
        device_(device),
        cudnn_(cudnn),
        spec_(std::move(spec)),
        precision_(precision),
        stored_(stored_problem(this->problem())) {}

  Applicability applicable() const override {
    const Status status = convolution().status();
    return status.ok() ? Applicability::yes() : Applicability::no(status.message());
  }
  RoutineParams default_params() const override {
    RoutineParams params;
    if (const auto found = convolution(); found.ok())
      params.set(kEngine, (*found)->names().front());
    return params;
  }
  ParamSpace param_space() const override {
    ParamSpace space;
    const auto found = convolution();
    if (!found.ok()) return space;
    const std::vector<std::string>& names = (*found)->names();
    space.axes.push_back({kEngine, {names.begin(), names.end()}});
    space.rank = [names](const Params& params) {
      return static_cast<double>(std::find(names.begin(), names.end(), params.text(kEngine)) -
                                 names.begin());
    };
    return space;
  }
  // An engine of another version of cuDNN, or of another GPU, stands for the default here.
  Applicability check_params(const RoutineParams& params) const override {
    if (params.entries().empty() || (params.entries().size() == 1 && !params.text(kEngine).empty()))
      return Applicability::yes();
    return Applicability::no("the routine does not have the parameters " + params.str());
  }
  Result<Packing> packing(const RoutineParams&) const override {
    return Packing{PackedConstants::bytes(stored_), {}, true};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    Problem stored = stored_;
    for (const std::size_t i : {kWeights, kBias}) {
      if (!stored.has_input(i) || !stored.inputs[i].constant) continue;
      TensorSpec& spec = stored.inputs[i];
      SN_ASSIGN_OR_RETURN(spec.value, converted(spec, spec.type, spec.layout, scratch));
    }
    PackedConstants::pack(stored, packed);
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(std::shared_ptr<CudnnConvolution> convolution, this->convolution());
    SN_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan, make_plan(*convolution, params));
    SN_ASSIGN_OR_RETURN(Launched tail, make_tail(device_, stored_, plan->steps));
    return make_kernel<CudnnKernel>(cudnn_, std::move(convolution), std::move(plan), spec_.steps,
                                    std::move(tail), PackedConstants(stored_, packed));
  }

 private:
  Result<std::shared_ptr<CudnnConvolution>> convolution() const {
    return cudnn_.convolution(spec_, precision_);
  }
  // With the engine that is named if it can be had, else with the default.
  Result<std::shared_ptr<const CudnnPlan>> make_plan(CudnnConvolution& convolution,
                                                     const RoutineParams& params) const {
    SN_ASSIGN_OR_RETURN(const CUcontext context, cudnn_.gpu().context());
    const CurrentContext current(cudnn_.gpu().driver(), context);
    SN_RETURN_IF_ERROR(current.status());
    auto plan = convolution.plan(params.text(kEngine));
    return plan.ok() ? plan : convolution.default_plan();
  }

  CudaDevice& device_;
  CudnnGpu& cudnn_;
  const ConvolutionSpec spec_;
  const Precision precision_;
  const Problem stored_;
};

class CudnnRoutine final : public Routine {
 public:
  CudnnRoutine(const char* layer_type, const std::string& descriptor, CudaDevice& device)
      : Routine(layer_type, descriptor), device_(device) {}

  RoutineFacts facts() const override {
    RoutineFacts facts;
    facts.default_rank = 3;  // above generated kernels
    // What an engine computes without the bias and post-ops is stored as the tensors are.
    facts.accumulator = descriptor().type;
    if (!device_.is_started() || device_.toolkit().cudnn == nullptr) return facts;
    if (const auto library = device_.toolkit().cudnn(); library.ok())
      facts.library = "cuDNN " + (*library)->version();
    return facts;
  }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return supports_tail(problem, problem.post_ops).ok() &&
           problem.inputs.size() + 1 < CudnnKernel::kMostTensors;
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    if (device_.toolkit().cudnn == nullptr)
      return unsupported("the plugin was built without cuDNN's headers");
    SN_ASSIGN_OR_RETURN(ConvolutionSpec spec, describe_convolution(*problem, descriptor().type));
    SN_ASSIGN_OR_RETURN(const Cudnn* const library, device_.toolkit().cudnn());
    if (problem->has_input(kBias) || !problem->post_ops.empty())
      SN_RETURN_IF_ERROR(device_.toolkit().nvrtc().status());
    SN_ASSIGN_OR_RETURN(Gpu* const gpu, device_.gpu());
    SN_ASSIGN_OR_RETURN(CudnnGpu* const cudnn, CudnnGpu::find(*gpu, *library));
    return make_implementation_of<CudnnImplementation>(std::move(problem), context, device_, *cudnn,
                                                       std::move(spec), descriptor().precision());
  }

 private:
  CudaDevice& device_;
};

}  // namespace

Status register_cudnn_convolution(Registry& registry, CudaDevice& device) {
  for (const char* const layer_type : {"conv2", "conv_transpose2"})
    for (const char* const precision : {"float32", "tf32", "float16", "bfloat16"})
      for (const char* const layout : {"", ":nhwc"})
        SN_RETURN_IF_ERROR(registry.add(std::make_unique<CudnnRoutine>(
            layer_type, fmt::format("cuda:{}{}/cudnn", precision, layout), device)));
  return {};
}

}  // namespace softneuro::cuda
#else
namespace softneuro::cuda {

Status register_cudnn_convolution(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
#endif
