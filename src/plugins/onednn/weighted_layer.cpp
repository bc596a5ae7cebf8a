#include "plugins/onednn/weighted_layer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/routine/layer_cost.h"
#include "plugins/onednn/implementations.h"
#include "plugins/onednn/partitioned_kernel.h"
#include "plugins/partition/chunks.h"
#include "plugins/partition/thread_parts.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

constexpr const char* kImpl = "impl";

bool is_byte(const FusedStep& step) {
  return step.extent != FusedStep::Extent::none && step.type != memory::data_type::f32;
}

bool is_simple(dnnl::algorithm algorithm) {
  return algorithm == dnnl::algorithm::eltwise_relu ||
         algorithm == dnnl::algorithm::eltwise_linear || algorithm == dnnl::algorithm::eltwise_clip;
}

// "gemm" with a sigmoid makes a number of NaN; "jit_int8_wino" of 2.6 is offered, but not the
// reorder that would pack its weights. Wrong results that were seen in 2.6.3, each kept out with
// some margin: "gemm" with operands (add of a tensor like y, with groups or several images); 8-bit
// operands between element-wise steps in everything but the brgemm kernels, and there beside a
// gelu.
bool is_trusted(std::string_view impl, const FusedOps& ops) {
  const bool has_operand = std::any_of(ops.steps.begin(), ops.steps.end(), [](const auto& step) {
    return step.extent != FusedStep::Extent::none;
  });
  const bool has_sigmoid = std::any_of(ops.steps.begin(), ops.steps.end(), [](const auto& step) {
    return step.algorithm == dnnl::algorithm::eltwise_logistic;
  });
  if (has_sigmoid && impl.starts_with("gemm")) return false;
  if (impl == "jit_int8_wino") return false;
  if (!has_operand || !workarounds::kFewFusedOperands) return true;
  if (std::none_of(ops.steps.begin(), ops.steps.end(), is_byte)) return !impl.starts_with("gemm");
  return impl.starts_with("br") &&
         std::all_of(ops.steps.begin(), ops.steps.end(), [](const FusedStep& step) {
           return step.extent != FusedStep::Extent::none || is_simple(step.algorithm);
         });
}

bool exists(const WeightedTask& task, std::span<const WeightedPart> parts, const FusedOps& ops,
            std::string_view impl) {
  return std::all_of(parts.begin(), parts.end(), [&](const WeightedPart& part) {
    return find_implementation(part.operation, part_attributes(task, part, ops), impl).has_value();
  });
}

}  // namespace

WeightedLayer::~WeightedLayer() = default;

memory::desc operand_desc(const FusedStep& step, const WeightedPart& part) {
  memory::dims dims(dims_of(part.y).size(), 1);
  if (step.extent == FusedStep::Extent::whole) {
    return with_type(part.y, step.type);
  }
  if (step.extent == FusedStep::Extent::channel)
    dims[static_cast<std::size_t>(part.channel)] = part.outs;
  return desc_of(dims, step.type, Layout::plain);
}

std::vector<float> part_factors(const WeightedTask& task, const WeightedPart& part,
                                const FusedOps& ops) {
  if (task.scales.empty()) return {};
  const auto first = task.scales.begin() + part.first_out;
  std::vector<float> factors(first, first + part.outs);
  for (float& factor : factors) factor /= ops.unit;
  return factors;
}

dnnl::primitive_attr part_attributes(const WeightedTask& task, const WeightedPart& part,
                                     const FusedOps& ops) {
  dnnl::post_ops chain;
  for (const FusedStep& step : ops.steps) {
    if (step.extent == FusedStep::Extent::none)
      append_eltwise(chain, step.algorithm, step.alpha, step.beta);
    else
      chain.append_binary(step.algorithm, operand_desc(step, part));
  }
  dnnl::primitive_attr made = attributes_of(chain);
  set_numbers(made, part_factors(task, part, ops), part.channel, part.weights_mask,
              task.x_zero_point);
  return made;
}

std::vector<WeightedChoice> weighted_choices(const WeightedLayer& layer, const Problem& problem,
                                             const WeightedTask& task,
                                             std::span<const FusedOps> ways) {
  std::vector<WeightedChoice> choices;
  for (const bool winograd : {false, true}) {
    if (winograd && !layer.has_winograd()) break;
    const auto whole = layer.parts(problem, task, 1, winograd);
    const auto partition = layer.parts(problem, task, problem.threads, winograd);
    if (!whole.ok() || whole->empty()) continue;
    const bool is_partitioned = partition.ok() && partition->size() > 1;
    for (const FusedOps& ops : ways)
      for (const std::string& impl : implementation_names(
               whole->front().operation, part_attributes(task, whole->front(), ops))) {
        const bool known =
            std::any_of(choices.begin(), choices.end(),
                        [&](const WeightedChoice& choice) { return choice.impl == impl; });
        if (known || !is_trusted(impl, ops)) continue;
        if (is_partitioned && exists(task, *partition, ops, impl))
          choices.push_back({impl, problem.threads, ops.taken});
        choices.push_back({impl, 1, ops.taken});
      }
  }
  return choices;
}

RoutineParams choice_params(const WeightedChoice& choice, int threads) {
  RoutineParams params;
  params.set(kImpl, choice.impl);
  params.set(kSplit, std::string(threads > 1 && choice.split == 1 ? kSplitWhole : kSplitThreads));
  return params;
}

ParamSpace choice_space(const std::vector<WeightedChoice>& choices, const Problem& problem) {
  ParamAxis impl{kImpl, {}}, split{kSplit, {}};
  const auto add = [](ParamAxis& axis, const ParamValue& value) {
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  };
  std::vector<RoutineParams> known;
  for (const WeightedChoice& choice : choices) {
    known.push_back(choice_params(choice, problem.threads));
    add(impl, choice.impl);
    add(split, std::string(known.back().text(kSplit)));
  }
  ParamSpace space;
  space.axes = {std::move(impl), std::move(split)};
  space.allows = [known](const Params& params) {
    return std::find(known.begin(), known.end(), params) != known.end();
  };
  // An implementation that can be partitioned is not promising whole.
  if (layer_cost(problem).macs >= kWorthPartitioning)
    space.promising = [known](const Params& params) {
      Params divided = params;
      divided.set(kSplit, std::string(kSplitThreads));
      return !is_whole(params) || std::find(known.begin(), known.end(), divided) == known.end();
    };
  return space;
}

const WeightedChoice* find_choice(const std::vector<WeightedChoice>& choices,
                                  const RoutineParams& params) {
  const WeightedChoice* found = nullptr;
  for (const WeightedChoice& choice : choices) {
    if (params.text(kImpl) != choice.impl || (is_whole(params) && choice.split > 1)) continue;
    if (found == nullptr || choice.split > found->split) found = &choice;
  }
  return found;
}

RoutineParams as_listed(const std::vector<WeightedChoice>& choices, RoutineParams params,
                        int threads) {
  const WeightedChoice* const choice = find_choice(choices, params);
  if (choice != nullptr && params.has(kSplit))
    params.set(kSplit, std::string(choice_params(*choice, threads).text(kSplit)));
  return params;
}

}  // namespace softneuro::onednn
