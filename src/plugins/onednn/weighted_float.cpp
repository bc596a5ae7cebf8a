// Layers with weights in float32 and bfloat16: conv2, dense and matmul.
#include <utility>

#include "core/base/error.h"
#include "cpu/simd/float_span.h"
#include "plugins/onednn/choice_cache.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_work.h"

namespace softneuro::onednn {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

using Choices = std::vector<WeightedChoice>;

// Descriptors of a convolution take up to some hundred kilobytes. Threads that plan at once have
// one layer each.
constexpr std::size_t kWorksKept = 16;

// The routine of `layer` (which lives as long as the process) in the descriptor's layout. `impl`
// names the implementation, among them Winograd's, which the library would not choose by itself;
// `split` says whether the work is partitioned for the threads. Post-ops that an implementation
// does not know are applied to each part when it is done; in bfloat16 the result is rounded before
// them, too. bfloat16 needs a processor that multiplies it: elsewhere the library computes in
// float32, and more slowly than it does on float32 tensors. It has a method for each question that
// the registry, planning and tuning ask a routine.
class FloatRoutine final : public FusesPostOps<PostOpProgram::supports_in_float32> {
 public:
  FloatRoutine(const WeightedLayer& layer, const char* descriptor)
      : FusesPostOps(layer.layer_type(), descriptor), layer_(layer) {}

  std::string library() const override { return library_name(); }

  CpuFeatures needs() const override {
    return descriptor().type == DataType::bfloat16 ? CpuFeatures{CpuFeature::avx512_bf16}
                                                   : CpuFeatures{};
  }

  Applicability applicable(const Problem& problem) const override {
    bool has_types = problem.outputs[0].type == descriptor().type;
    for (std::size_t i = kX; i <= kBias; ++i)
      has_types = has_types && (!problem.has_input(i) || takes(problem.inputs[i].type, i));
    if (!has_types) return Applicability::no(fmt::format("needs {}", to_string(descriptor().type)));
    if (layer_.packs_weights() && !(is_known(problem, kWeights) && is_known(problem, kBias)))
      return Applicability::no("weights or bias are not constant");
    if (problem.inputs[kX].shape.elements() == 0 || problem.outputs[0].shape.elements() == 0)
      return Applicability::no("there is nothing to compute");
    return is_known_to_library(problem)
               ? Applicability::yes()
               : Applicability::no("the library has only reference code for it");
  }

  RoutineParams default_params(const Problem& problem) const override {
    const auto choices = choices_of(problem);
    return choices->empty() ? RoutineParams{} : choice_params(choices->front(), problem.threads);
  }
  ParamSpace param_space(const Problem& problem) const override {
    return choice_space(*choices_of(problem), problem);
  }
  Applicability check_params(const Problem& problem, const RoutineParams& params) const override {
    const auto choice = named(problem, params);
    if (*choice && is_listed(**choice, params, problem.threads)) return Applicability::yes();
    return Routine::check_params(problem, params);
  }

  std::string pack_key(const Problem& problem, const RoutineParams& params) const override {
    const auto work = work_of(problem, params);
    return work.ok() ? (*work)->pack_key() : std::string();
  }
  Result<std::size_t> packed_bytes(const Problem& problem,
                                   const RoutineParams& params) const override {
    if (!layer_.packs_weights()) return 0;
    SN_ASSIGN_OR_RETURN(const auto work, work_of(problem, params));
    return work->packed_bytes();
  }
  Status pack(const Problem& problem, const RoutineParams& params, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const auto work, work_of(problem, params));
    SN_ASSIGN_OR_RETURN(const Tensor weights, as_float32(problem.inputs[kWeights].value, scratch));
    return work->pack(weights.data(), packed);
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const WeightedChoice choice, choice_of(problem, params));
    SN_ASSIGN_OR_RETURN(const auto work, work_of(problem, params));
    if (packed.bytes.bytes() != work->packed_bytes())
      return invalid_argument("packed weights have {} bytes, expected {}", packed.bytes.bytes(),
                              work->packed_bytes());
    WeightedWork::Constants constants;
    constants.packed = packed.bytes;
    if (problem.has_input(kBias)) {
      SN_ASSIGN_OR_RETURN(constants.bias,
                          as_float32(problem.inputs[kBias].value, default_allocator()));
    }
    Problem rest = problem;
    rest.post_ops.erase(rest.post_ops.begin(),
                        rest.post_ops.begin() + static_cast<std::ptrdiff_t>(choice.fused));
    SN_ASSIGN_OR_RETURN(PostOpProgram tail, PostOpProgram::create(rest));
    return work->kernel(std::move(constants), fuse(problem, choice.fused), std::move(tail));
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

  FusedOps fuse(const Problem& problem, std::size_t most) const {
    return fuse_float(problem, layer_.channel_axis(problem), most);
  }

  // From all post-ops to none: what an implementation does not fuse, others may.
  std::vector<FusedOps> ways_of(const Problem& problem) const {
    std::vector<FusedOps> ways = {fuse(problem, problem.post_ops.size())};
    while (ways.back().taken > 0) ways.push_back(fuse(problem, ways.back().taken - 1));
    return ways;
  }

  static std::string key_of(const Problem& problem) {
    return fmt::format("{} {}", problem.threads, problem.str());
  }

  bool is_known_to_library(const Problem& problem) const {
    static ChoiceCache<bool> cache;
    return *cache.get(key_of(problem), [&] {
      return or_none<bool>(
          [&] { return has_choices(layer_, problem, task_of(problem), ways_of(problem)); });
    });
  }

  // Empty if there is none, or if the library fails.
  ChoiceCache<Choices>::Entry choices_of(const Problem& problem) const {
    static ChoiceCache<Choices> cache;
    return cache.get(key_of(problem), [&] {
      return or_none<Choices>(
          [&] { return weighted_choices(layer_, problem, task_of(problem), ways_of(problem)); });
    });
  }

  // Kept for the few questions about one layer that follow each other while a plan is made.
  using Work = Result<WeightedWork>;
  static ChoiceCache<Work, kWorksKept>& works() {
    static ChoiceCache<Work, kWorksKept> cache;
    return cache;
  }
  Work make_work(const Problem& problem, const WeightedChoice& choice) const {
    return WeightedWork::make(layer_, problem, task_of(problem), choice,
                              fuse(problem, choice.fused));
  }

  using Named = std::optional<WeightedChoice>;
  // The choice that `params` name.
  ChoiceCache<Named>::Entry named(const Problem& problem, const RoutineParams& params) const {
    static ChoiceCache<Named> cache;
    const std::string key = key_of(problem) + ' ' + params.str();
    return cache.get(key, [&] {
      return or_none<Named>([&] {
        Named choice = named_choice(layer_, problem, task_of(problem), ways_of(problem), params);
        if (!choice) return choice;
        // A plan asks for the work soon.
        works().get(key, [&] { return make_work(problem, *choice); });
        choice->descs.clear();
        return choice;
      });
    });
  }

  Result<WeightedChoice> choice_of(const Problem& problem, const RoutineParams& params) const {
    const auto choice = named(problem, params);
    if (!*choice)
      return invalid_argument("oneDNN: no implementation for parameters {}", params.str());
    return **choice;
  }

  Result<std::shared_ptr<const WeightedWork>> work_of(const Problem& problem,
                                                      const RoutineParams& params) const {
    const auto work = works().get(key_of(problem) + ' ' + params.str(), [&]() -> Work {
      SN_ASSIGN_OR_RETURN(const WeightedChoice choice, choice_of(problem, params));
      return make_work(problem, choice);
    });
    if (!work->ok()) return work->status();
    return std::shared_ptr<const WeightedWork>(work, &work->value());
  }

  const WeightedLayer& layer_;
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
