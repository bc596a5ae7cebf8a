// conv2 cpu:float32:nhwc/onednn and cpu:float32:nchw16c/onednn: oneDNN's convolutions, one thread
// per piece of the work. `impl` names the implementation, among them Winograd's (nchw16c), which
// the library would not choose by itself; `split` says in how many pieces the work is cut.
// Post-ops that an implementation does not know are applied to each piece when it is done.
#include "core/error.h"
#include "core/registry.h"
#include "plugins/onednn/choice_cache.h"
#include "plugins/onednn/conv_work.h"
#include "plugins/onednn/routines.h"

namespace softneuro::onednn {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

using Choices = std::vector<ConvChoice>;

ConvTask task_of(const Problem& problem, const ConvShape& shape) {
  ConvTask task;
  task.shape = shape;
  task.bias = problem.has_input(kBias);
  return task;
}

// From all post-ops to none: what an implementation does not fuse, others may.
std::vector<FusedOps> ways_to_fuse(const Problem& problem) {
  std::vector<FusedOps> ways = {fuse_float32(problem, problem.post_ops.size())};
  while (ways.back().taken > 0) ways.push_back(fuse_float32(problem, ways.back().taken - 1));
  return ways;
}

class Float32Conv final : public Routine {
 public:
  explicit Float32Conv(const char* descriptor) : Routine("conv2", descriptor) {}

  std::string library() const override { return library_name(); }

  Applicability applicable(const Problem& problem) const override {
    for (std::size_t i = kX; i <= kBias; ++i)
      if (problem.has_input(i) && problem.inputs[i].type != DataType::float32)
        return Applicability::no("only float32");
    if (!is_known(problem, kWeights) || !is_known(problem, kBias))
      return Applicability::no("weights or bias are not constant");
    if (problem.inputs[kX].shape.elements() == 0 || problem.outputs[0].shape.elements() == 0)
      return Applicability::no("there is nothing to compute");
    const auto choices = choices_of(problem);
    return choices->empty() ? Applicability::no("the library has only reference code for it")
                            : Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return PostOpProgram::supports(problem).ok();
  }

  RoutineParams default_params(const Problem& problem) const override {
    const auto choices = choices_of(problem);
    return choices->empty() ? RoutineParams{} : conv_params(choices->front());
  }
  ParamSpace param_space(const Problem& problem) const override {
    return conv_param_space(*choices_of(problem));
  }

  std::string pack_key(const Problem& problem, const RoutineParams& params) const override {
    const auto work = work_of(problem, params);
    return work.ok() ? work->pack_key() : std::string();
  }
  Result<PackedWeights> pack(const Problem& problem, const RoutineParams& params,
                             Allocator& allocator) const override {
    SN_ASSIGN_OR_RETURN(const ConvWork work, work_of(problem, params));
    PackedWeights packed;
    const auto bytes = static_cast<std::int64_t>(work.packed_bytes());
    SN_ASSIGN_OR_RETURN(packed.bytes, Tensor::create(DataType::uint8, Shape{bytes}, allocator));
    SN_RETURN_IF_ERROR(work.pack(problem.inputs[kWeights].value.data(),
                                 static_cast<std::byte*>(packed.bytes.mutable_data())));
    return packed;
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvChoice choice, choice_of(problem, params));
    SN_ASSIGN_OR_RETURN(const ConvWork work, work_of(problem, params));
    if (packed.bytes.bytes() != work.packed_bytes())
      return invalid_argument("packed weights have {} bytes, {} are wanted", packed.bytes.bytes(),
                              work.packed_bytes());
    ConvWork::Constants constants;
    constants.packed = packed.bytes;
    if (problem.has_input(kBias)) constants.bias = problem.inputs[kBias].value;
    Problem rest = problem;
    rest.post_ops.erase(rest.post_ops.begin(),
                        rest.post_ops.begin() + static_cast<std::ptrdiff_t>(choice.fused));
    PostOpProgram tail;
    if (!rest.post_ops.empty()) {
      SN_ASSIGN_OR_RETURN(tail, PostOpProgram::create(rest));
    }
    return work.kernel(std::move(constants), fuse_float32(problem, choice.fused), std::move(tail));
  }

 private:
  static bool is_known(const Problem& problem, std::size_t input) {
    if (!problem.has_input(input)) return true;
    return problem.inputs[input].constant && !problem.inputs[input].value.empty();
  }

  // Empty if there is none, or if the library fails.
  static ChoiceCache<Choices>::Entry choices_of(const Problem& problem) {
    static ChoiceCache<Choices> cache;
    return cache.get(fmt::format("{} {}", problem.threads, problem.str()), [&] {
      const Result<Choices> found = guarded([&]() -> Result<Choices> {
        SN_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(problem));
        return conv_choices(task_of(problem, shape), ways_to_fuse(problem), problem.threads);
      });
      return found.ok() ? *found : Choices{};
    });
  }

  static Result<ConvChoice> choice_of(const Problem& problem, const RoutineParams& params) {
    const auto choices = choices_of(problem);
    const ConvChoice* const choice = find_choice(*choices, params);
    if (choice == nullptr)
      return invalid_argument("oneDNN: no implementation for parameters {}", params.str());
    return *choice;
  }

  static Result<ConvWork> work_of(const Problem& problem, const RoutineParams& params) {
    SN_ASSIGN_OR_RETURN(const ConvChoice choice, choice_of(problem, params));
    SN_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(problem));
    return ConvWork::make(task_of(problem, shape), choice, fuse_float32(problem, choice.fused));
  }
};

}  // namespace

Status register_conv2_float32(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<Float32Conv>("cpu:float32:nhwc/onednn")));
  return registry.add(std::make_unique<Float32Conv>("cpu:float32:nchw16c/onednn"));
}

}  // namespace softneuro::onednn
