// Layers with weights in float32 and bfloat16: conv2, dense and matmul.
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "cpu/simd/float_span.h"
#include "plugins/onednn/answer_cache.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_answers.h"
#include "plugins/partition/chunks.h"

namespace softneuro::onednn {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// Of one layer.
class FloatImplementation final : public WeightedImplementation {
 public:
  using WeightedImplementation::WeightedImplementation;

  Applicability applicable() const override {
    return answers().has_choices()
               ? Applicability::yes()
               : Applicability::no("the library has only reference code for it");
  }
  Applicability check_params(const RoutineParams& params) const override {
    const auto solution = solution_of(params);
    if (solution.ok() && is_listed((*solution)->choice, params, context().threads()))
      return Applicability::yes();
    if (Applicability any = applicable(); !any) return any;
    return Implementation::check_params(params);
  }

  Result<Packing> packing(const RoutineParams& params) const override {
    SN_ASSIGN_OR_RETURN(const auto solution, solution_of(params));
    return Packing{layer().packs_weights() ? solution->work.packed_bytes() : 0,
                   solution->work.pack_key()};
  }
  Status pack(const RoutineParams& params, Allocator& scratch, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const auto solution, solution_of(params));
    SN_ASSIGN_OR_RETURN(const Tensor weights,
                        as_float32(problem().inputs[kWeights].value, scratch));
    return solution->work.pack(weights.data(), packed);
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const auto solution, solution_of(params));
    if (packed.bytes.bytes() != solution->work.packed_bytes())
      return invalid_argument("packed weights have {} bytes, expected {}", packed.bytes.bytes(),
                              solution->work.packed_bytes());
    WeightedWork::Constants constants;
    constants.packed = packed.bytes;
    if (problem().has_input(kBias)) {
      SN_ASSIGN_OR_RETURN(constants.bias,
                          as_float32(problem().inputs[kBias].value, default_allocator()));
    }
    const std::size_t fused = solution->choice.fused;
    Problem rest = problem();
    rest.post_ops.erase(rest.post_ops.begin(),
                        rest.post_ops.begin() + static_cast<std::ptrdiff_t>(fused));
    SN_ASSIGN_OR_RETURN(PostOpProgram tail, PostOpProgram::create(rest));
    return solution->work.kernel(std::move(constants), solution->fused, std::move(tail));
  }

 private:
  // Kept for the next question.
  Result<std::shared_ptr<const WeightedSolution>> solution_of(const RoutineParams& params) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (last_ == nullptr || !(last_params_ == params)) {
      SN_ASSIGN_OR_RETURN(last_, answers().solution(params));
      last_params_ = params;
    }
    return last_;
  }

  mutable std::mutex mutex_;
  mutable RoutineParams last_params_;
  mutable std::shared_ptr<const WeightedSolution> last_;
};

// The routine of `layer` (which lives as long as the process) in the descriptor's layout. `impl`
// names the implementation, among them Winograd's, which the library would not choose by itself;
// `split` says whether the work is partitioned for the threads. Post-ops that an implementation
// does not know are applied to each part when it is done; in bfloat16 the result is rounded before
// them, too. bfloat16 needs a processor that multiplies it: elsewhere the library computes in
// float32, and more slowly than it does on float32 tensors.
class FloatRoutine final : public FusesPostOps<PostOpProgram::supports_in_float32, Routine> {
 public:
  FloatRoutine(const WeightedLayer& layer, const char* descriptor)
      : FusesPostOps(layer.layer_type(), descriptor), layer_(layer) {}

  RoutineFacts facts() const override {
    RoutineFacts facts = {.library = library_name()};
    if (descriptor().type == DataType::bfloat16) facts.needs = {CpuFeature::avx512_bf16};
    return facts;
  }

 protected:
  Applicability applicable(const Problem& problem) const override {
    bool has_types = problem.outputs[0].type == descriptor().type;
    for (std::size_t i = kX; i <= kBias; ++i)
      has_types = has_types && (!problem.has_input(i) || takes(problem.inputs[i].type, i));
    if (!has_types) return Applicability::no(fmt::format("needs {}", to_string(descriptor().type)));
    if (layer_.packs_weights() && !(is_known(problem, kWeights) && is_known(problem, kBias)))
      return Applicability::no("weights or bias are not constant");
    return has_work(problem);
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    auto answers = answers_.get(fmt::format("{} {}", context.threads(), problem->str()), [&] {
      return std::make_shared<const WeightedAnswers>(layer_, *problem, context.threads(),
                                                     task_of(*problem), ways_of(*problem));
    });
    return make_implementation_of<FloatImplementation>(std::move(problem), context, layer_,
                                                       std::move(answers));
  }

 private:
  static bool is_known(const Problem& problem, std::size_t input) {
    if (!problem.has_input(input)) return true;
    return problem.inputs[input].constant && !problem.inputs[input].value.empty();
  }

  // Constants come in the model's type, and are packed as float32.
  bool takes(DataType type, std::size_t input) const {
    return layer_.packs_weights() && input != kX ? is_span_float(type) : type == descriptor().type;
  }

  WeightedTask task_of(const Problem& problem) const {
    WeightedTask task;
    task.x = task.weights = task.y = library_type(descriptor().type);
    task.stored_weights = layer_.packs_weights() ? dnnl::memory::data_type::f32 : task.weights;
    task.bias = problem.has_input(kBias);
    return task;
  }

  // From all post-ops to none: what an implementation does not fuse, others may.
  std::vector<FusedOps> ways_of(const Problem& problem) const {
    const auto fuse = [&](std::size_t most) {
      return fuse_float(problem, layer_.channel_axis(problem), most);
    };
    std::vector<FusedOps> ways = {fuse(problem.post_ops.size())};
    while (ways.back().taken > 0) ways.push_back(fuse(ways.back().taken - 1));
    return ways;
  }

  const WeightedLayer& layer_;
  mutable AnswerCache<WeightedAnswers> answers_;
};

}  // namespace

Status register_float(Registry& registry) {
  const std::pair<const WeightedLayer&, const char*> routines[] = {
      {conv2_layer(), "cpu:float32:nhwc/onednn"},  {conv2_layer(), "cpu:float32:nchw16c/onednn"},
      {conv2_layer(), "cpu:bfloat16:nhwc/onednn"}, {dense_layer(), "cpu/onednn"},
      {dense_layer(), "cpu:bfloat16/onednn"},      {matmul_layer(), "cpu/onednn"},
      {matmul_layer(), "cpu:bfloat16/onednn"}};
  for (const auto& [layer, descriptor] : routines)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<FloatRoutine>(layer, descriptor)));
  return {};
}

}  // namespace softneuro::onednn
