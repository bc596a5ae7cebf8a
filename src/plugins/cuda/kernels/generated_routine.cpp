#include "plugins/cuda/kernels/generated_routine.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/tail.h"
#include "plugins/cuda/kernels/launched.h"

namespace softneuro::cuda {
namespace {

// Of all generated sources. Raised whenever their results or speed may change.
constexpr int kGeneratorVersion = 2;

class GeneratedKernel final : public Kernel {
 public:
  GeneratedKernel(Launched launched, PackedConstants constants, const Program& program)
      : launched_(std::move(launched)),
        constants_(std::move(constants)),
        workspace_bytes_(program.workspace_bytes),
        in_place_(program.in_place_input) {}

  std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }
  int in_place_input() const noexcept override { return in_place_; }
  Status run(Context& context) const noexcept override {
    return launched_.launch(context, constants_);
  }

 private:
  Launched launched_;
  PackedConstants constants_;
  std::size_t workspace_bytes_;
  int in_place_;
};

class GeneratedImplementation final : public PackingImplementation {
 public:
  GeneratedImplementation(ProblemPtr problem, const RoutineContext& context, CudaDevice& device,
                          Program program)
      : PackingImplementation(std::move(problem), context),
        device_(device),
        program_(std::move(program)) {}

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(Launched launched, Launched::create(device_, program_));
    return make_kernel<GeneratedKernel>(std::move(launched), PackedConstants(problem(), packed),
                                        program_);
  }

 private:
  CudaDevice& device_;
  Program program_;
};

class Generated final : public Routine {
 public:
  Generated(const GeneratedRoutine& routine, const std::string& descriptor, CudaDevice& device)
      : Routine(routine.layer_type, descriptor), routine_(routine), device_(device) {}

  RoutineFacts facts() const override {
    RoutineFacts facts;
    facts.default_rank = 1;
    facts.version = kGeneratorVersion;
    if (!device_.is_started()) return facts;
    if (const auto compiler = device_.toolkit().nvrtc(); compiler.ok())
      facts.library = "nvrtc " + (*compiler)->version();
    return facts;
  }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return routine_.fuses_post_ops && supports_tail(problem, problem.post_ops).ok();
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(Program program, routine_.generate(*problem));
    SN_RETURN_IF_ERROR(device_.toolkit().nvrtc().status());
    return make_implementation_of<GeneratedImplementation>(std::move(problem), context, device_,
                                                           std::move(program));
  }

 private:
  GeneratedRoutine routine_;
  CudaDevice& device_;
};

}  // namespace

Status add_generated(Registry& registry, CudaDevice& device, const GeneratedRoutine& routine,
                     std::initializer_list<const char*> schemas) {
  for (const char* const schema : schemas)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<Generated>(
        routine, fmt::format("{}/{}", schema, routine.algorithm), device)));
  return {};
}

}  // namespace softneuro::cuda
