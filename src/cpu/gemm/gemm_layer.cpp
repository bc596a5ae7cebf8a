#include "cpu/gemm/gemm_layer.h"

#include "core/base/error.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

constexpr std::int64_t kDefaultCache = 512, kSmallestCache = 128;  // KiB
constexpr std::int64_t kDefaultTaskOps = 1 << 20;

bool is_constant(const TensorSpec& spec) {
  return spec.constant && !spec.value.empty();
}

}  // namespace

Applicability GemmLayerRoutine::applicable(const Problem& problem) const {
  if (problem.inputs[kGemmLayerX].type != descriptor().type)
    return Applicability::no(fmt::format("needs {}", to_string(descriptor().type)));
  const TensorSpec& weights = problem.inputs[kGemmLayerWeights];
  if (!is_constant(weights)) return Applicability::no("the weights are not constant");
  if (!is_span_float(weights.type))
    return Applicability::no(
        fmt::format("weights of {} are not supported", to_string(weights.type)));
  if (!problem.has_input(kGemmLayerBias)) return Applicability::yes();
  const TensorSpec& bias = problem.inputs[kGemmLayerBias];
  if (bias.type != DataType::float32 && !(is_span_float(bias.type) && is_constant(bias)))
    return Applicability::no("needs a bias that is float32 or constant");
  return Applicability::yes();
}

Result<GemmLayerParts> GemmLayerImplementation::make_parts(const PackedWeights& packed,
                                                           std::int64_t matrices,
                                                           std::int64_t columns,
                                                           bool takes_addend) const {
  GemmLayerParts parts;
  parts.packed = packed.bytes;
  SN_ASSIGN_OR_RETURN(parts.bias,
                      EpilogueBias::create(problem(), kGemmLayerBias, matrices, columns));
  SN_ASSIGN_OR_RETURN(parts.post_ops, EpiloguePostOps::create(problem(), takes_addend,
                                                              problem().inputs[kGemmLayerX].type));
  return parts;
}

RoutineParams GemmLayerImplementation::default_params() const {
  RoutineParams params;
  params.set("cache", kDefaultCache);
  params.set("task_ops", kDefaultTaskOps);
  return params;
}

ParamSpace gemm_param_space(std::int64_t reused_bytes, std::int64_t operations) {
  ParamAxis cache{"cache", {kDefaultCache}};
  if (reused_bytes > kSmallestCache * 1024)
    cache.values = {kSmallestCache, 2 * kSmallestCache, kDefaultCache};
  ParamAxis task{"task_ops", {kDefaultTaskOps}};
  if (operations > 2 * kDefaultTaskOps) task.values = {kDefaultTaskOps, 8 * kDefaultTaskOps};
  ParamSpace space;
  space.axes = {std::move(cache), std::move(task)};
  // Of ten nets' convolutions the others were the fastest by no more than the noise of measuring.
  space.promising = [](const Params& params) {
    const std::int64_t kib = params.integer("cache", 0);
    return kib == kDefaultCache ||
           (kib == 2 * kSmallestCache && params.integer("task_ops", 0) == kDefaultTaskOps);
  };
  return space;
}

GemmLimits GemmLayerImplementation::limits(const RoutineParams& params) const {
  GemmLimits limits;
  limits.cache_bytes = params.integer("cache", kDefaultCache) * 1024;
  limits.task_operations = params.integer("task_ops", kDefaultTaskOps);
  limits.threads = context().threads();
  return limits;
}

}  // namespace softneuro
