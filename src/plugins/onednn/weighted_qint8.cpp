// Layers with weights in 8 bits: conv2 and dense.
#include <utility>

#include "core/base/error.h"
#include "cpu/qint8/weights.h"
#include "plugins/onednn/answer_cache.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_answers.h"
#include "plugins/partition/chunks.h"

namespace softneuro::onednn {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// The packed bytes: weights as the implementation wants them, then bias and scale per channel.
struct PackedPlace {
  std::size_t bias, scales, bytes;
};
PackedPlace place_of(const WeightedWork& work, std::int64_t channels) {
  const std::size_t numbers = static_cast<std::size_t>(channels) * sizeof(float);
  const std::size_t bias = work.packed_bytes();
  return {bias, bias + numbers, bias + 2 * numbers};
}

// Bias and scales for oneDNN: both in front of the sum's own factor.
void fill_numbers(const Problem& problem, const QuantizedWeights& weights, bool zero_point_in_bias,
                  float* bias, float* scales) {
  const TensorScale x = tensor_scale(problem.inputs[kX]);
  for (std::int64_t m = 0; m < weights.outputs; ++m) {
    const auto i = static_cast<std::size_t>(m);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; zero_point_in_bias && k < weights.depth; ++k)
      sum += weights.values[static_cast<std::size_t>(m * weights.depth + k)];
    scales[m] = x.scale * weights.scales[i];
    bias[m] = static_cast<float>(static_cast<double>(weights.bias[i]) / scales[m] -
                                 static_cast<double>(sum * x.zero_point));
  }
}

// `scales`: empty where only formats and implementations are asked for, which the numbers do not
// change.
WeightedTask task_of(const WeightedLayer& layer, const Problem& problem,
                     std::vector<float> scales = {}) {
  constexpr float kAnyScale = 0.5f;
  WeightedTask task;
  task.x = element_type(problem.inputs[kX]);
  task.weights = task.stored_weights = dnnl::memory::data_type::s8;
  task.y = element_type(problem.outputs[0]);
  task.bias = true;
  task.scales = std::move(scales);
  if (task.scales.empty())
    task.scales.assign(static_cast<std::size_t>(layer.outputs(problem)), kAnyScale);
  // Without padding the bias takes care of it, and every implementation will do.
  if (layer.has_padding(problem)) task.x_zero_point = tensor_scale(problem.inputs[kX]).zero_point;
  return task;
}

// Of one layer.
class QuantizedImplementation final : public WeightedImplementation {
 public:
  QuantizedImplementation(ProblemPtr problem, const RoutineContext& context,
                          const WeightedLayer& layer, FusedOps ops,
                          std::shared_ptr<const WeightedAnswers> answers)
      : WeightedImplementation(std::move(problem), context, layer, std::move(answers)),
        ops_(std::move(ops)) {}

  Applicability applicable() const override {
    return answers().has_choices()
               ? Applicability::yes()
               : Applicability::no(
                     "the library has only reference code for it, or sums of 8-bit products that "
                     "saturate, as they do without VNNI instructions");
  }
  Applicability check_params(const RoutineParams& params) const override {
    const auto choice = answers().named(params);
    if (choice && is_listed(*choice, params, context().threads())) return Applicability::yes();
    if (Applicability any = applicable(); !any) return any;
    return Implementation::check_params(params);
  }

  Result<Packing> packing(const RoutineParams& params) const override {
    SN_ASSIGN_OR_RETURN(const WeightedWork work, work_of(params, {}));
    return Packing{place_of(work, channels()).bytes, work.pack_key()};
  }
  Status pack(const RoutineParams& params, Allocator&, std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const WeightedWork work, work_of(params, {}));
    SN_ASSIGN_OR_RETURN(const QuantizedWeights weights, quantize_weights(problem()));
    const PackedPlace place = place_of(work, channels());
    SN_RETURN_IF_ERROR(work.pack(weights.values.data(), packed));
    fill_numbers(problem(), weights, !layer().has_padding(problem()),
                 reinterpret_cast<float*>(packed + place.bias),
                 reinterpret_cast<float*>(packed + place.scales));
    return {};
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    const std::size_t numbers = static_cast<std::size_t>(channels()) * sizeof(float);
    if (packed.bytes.bytes() < numbers || packed.bytes.bytes() % sizeof(float) != 0)
      return invalid_argument("packed weights have {} bytes, which do not end with {} scales",
                              packed.bytes.bytes(), channels());
    const auto* const scales = reinterpret_cast<const float*>(
        static_cast<const std::byte*>(packed.bytes.data()) + packed.bytes.bytes() - numbers);
    SN_ASSIGN_OR_RETURN(const WeightedWork work, work_of(params, {scales, scales + channels()}));
    const PackedPlace place = place_of(work, channels());
    if (packed.bytes.bytes() != place.bytes)
      return invalid_argument("packed weights have {} bytes, expected {}", packed.bytes.bytes(),
                              place.bytes);
    WeightedWork::Constants constants;
    constants.packed = packed.bytes;
    constants.bias = packed.bytes;
    constants.bias_at = place.bias;
    return work.kernel(std::move(constants), ops_, {});
  }

 private:
  std::int64_t channels() const { return layer().outputs(problem()); }

  Result<WeightedWork> work_of(const RoutineParams& params, std::vector<float> scales) const {
    const auto choice = answers().named(params);  // without descriptors: 2.6 has scales in them
    if (!choice)
      return invalid_argument("oneDNN: no implementation for parameters {}", params.str());
    return WeightedWork::make(layer(), problem(), task_of(layer(), problem(), std::move(scales)),
                              *choice, ops_);
  }

  FusedOps ops_;
};

// The routine of `layer` (which lives as long as the process) in the descriptor's layout. What is
// computed is said in cpu/qint8/weights.h; here the order of roundings in float32 is the
// library's: (acc + bias / scale) · scale, or acc · scale + bias over oneDNN 3, then post-ops, then
// the output's own scale.
class QuantizedRoutine final : public Routine {
 public:
  QuantizedRoutine(const WeightedLayer& layer, const char* descriptor)
      : Routine(layer.layer_type(), descriptor), layer_(layer) {}

  RoutineFacts facts() const override { return {.library = library_name()}; }

  std::vector<FormatTuple> formats(const Problem& problem) const override {
    return quantized_formats(problem, descriptor().layout);
  }

 protected:
  // The output is rounded when the library is done: there is no room for a tail.
  bool supports_post_ops(const Problem&) const override { return true; }

  Applicability applicable(const Problem& problem) const override {
    if (Applicability weights = takes_quantized_weights(problem); !weights) return weights;
    return has_work(problem);
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    auto ops = fuse_quantized(*problem, layer_.channel_axis(*problem));
    if (!ops) return unsupported("the library lacks one of the post-ops");
    auto answers = answers_.get(key_of(*problem, context.threads(), *ops), [&] {
      return std::make_shared<const WeightedAnswers>(layer_, *problem, context.threads(),
                                                     task_of(layer_, *problem),
                                                     std::vector<FusedOps>{*ops});
    });
    return make_implementation_of<QuantizedImplementation>(std::move(problem), context, layer_,
                                                           *std::move(ops), std::move(answers));
  }

 private:
  // What the string does not tell, but the library's answer depends on, too.
  static std::string key_of(const Problem& problem, int threads, const FusedOps& ops) {
    std::string key = fmt::format("{} {} {}", threads, ops.steps.size(),
                                  tensor_scale(problem.inputs[kX]).zero_point != 0);
    const auto add_sign = [&](const TensorSpec& spec) {
      if (spec.type == DataType::qint8) key += spec.quantization->is_signed ? 's' : 'u';
    };
    for (const TensorSpec& spec : problem.inputs) add_sign(spec);
    for (const TensorSpec& spec : problem.outputs) add_sign(spec);
    return key + problem.str();
  }

  const WeightedLayer& layer_;
  mutable AnswerCache<WeightedAnswers> answers_;
};

}  // namespace

Status register_qint8(Registry& registry) {
  const std::pair<const WeightedLayer&, const char*> routines[] = {
      {conv2_layer(), "cpu:qint8:nhwc/onednn"}, {dense_layer(), "cpu:qint8/onednn"}};
  for (const auto& [layer, descriptor] : routines)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<QuantizedRoutine>(layer, descriptor)));
  return {};
}

}  // namespace softneuro::onednn
