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

bool has_narrow_operand(const FusedStep& step) {
  return step.extent != FusedStep::Extent::none && step.type != memory::data_type::f32;
}

bool is_simple(dnnl::algorithm algorithm) {
  return algorithm == dnnl::algorithm::eltwise_relu ||
         algorithm == dnnl::algorithm::eltwise_linear || algorithm == dnnl::algorithm::eltwise_clip;
}

// "gemm" with a sigmoid makes a number of NaN; "jit_int8_wino" of 2.6 is offered, but not the
// reorder that would pack its weights. Wrong results that were seen in 2.6.3, each kept out with
// some margin: "gemm" with operands (add of a tensor like y, with groups or several images); 8-bit
// operands (those of bfloat16 are kept out with them) between element-wise steps in everything but
// the brgemm kernels, and there beside a gelu.
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
  if (std::none_of(ops.steps.begin(), ops.steps.end(), has_narrow_operand))
    return !impl.starts_with("gemm");
  return impl.starts_with("br") &&
         std::all_of(ops.steps.begin(), ops.steps.end(), [](const FusedStep& step) {
           return step.extent != FusedStep::Extent::none || is_simple(step.algorithm);
         });
}

// What the library has for the parts, each kind once; nothing where it lacks one of them.
std::optional<std::vector<dnnl::primitive_desc_base>> find_all(const WeightedTask& task,
                                                               std::span<const WeightedPart> parts,
                                                               const FusedOps& ops,
                                                               std::string_view impl) {
  std::vector<dnnl::primitive_desc_base> descs;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto begin = parts.begin(), end = begin + static_cast<std::ptrdiff_t>(p);
    const bool is_known = std::any_of(begin, end, [&](const WeightedPart& other) {
      return asks_the_same(task, other, parts[p]);
    });
    if (is_known) continue;
    auto desc = find_implementation(parts[p].operation, part_attributes(task, parts[p], ops), impl);
    if (!desc) return std::nullopt;
    descs.push_back(*std::move(desc));
  }
  return descs;
}

}  // namespace

WeightedLayer::~WeightedLayer() = default;

std::vector<WeightedPart> WeightedLayer::parts(const Problem& problem, const WeightedTask& task,
                                               std::int64_t split, bool winograd) const {
  if (winograd && !has_winograd()) return {};
  try {
    Result<std::vector<WeightedPart>> made = make_parts(problem, task, split, winograd);
    return made.ok() ? *std::move(made) : std::vector<WeightedPart>{};
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw;
    return {};
  }
}

bool asks_the_same(const WeightedTask& task, const WeightedPart& a, const WeightedPart& b) {
  // 2.6 has the factors in the attributes.
  const bool same_factors =
      kFactorsArgument != 0 || task.scales.empty() || a.first_out == b.first_out;
  return same_factors && a.x == b.x && a.y == b.y && a.weights == b.weights &&
         a.padding == b.padding && a.outs == b.outs;
}

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
                                             int threads, const WeightedTask& task,
                                             std::span<const FusedOps> ways) {
  std::vector<WeightedChoice> choices;
  for (const bool winograd : {false, true}) {
    const auto whole = layer.parts(problem, task, 1, winograd);
    const auto partition = layer.parts(problem, task, threads, winograd);
    if (whole.empty()) continue;
    for (const FusedOps& ops : ways)
      for (const std::string& impl : implementation_names(
               whole.front().operation, part_attributes(task, whole.front(), ops))) {
        const bool known =
            std::any_of(choices.begin(), choices.end(),
                        [&](const WeightedChoice& choice) { return choice.impl == impl; });
        if (known || !is_trusted(impl, ops)) continue;
        if (partition.size() > 1 && find_all(task, partition, ops, impl))
          choices.push_back({impl, threads, ops.taken, {}});
        choices.push_back({impl, 1, ops.taken, {}});
      }
  }
  return choices;
}

bool has_choices(const WeightedLayer& layer, const Problem& problem, const WeightedTask& task,
                 std::span<const FusedOps> ways) {
  for (const bool winograd : {false, true}) {
    const auto whole = layer.parts(problem, task, 1, winograd);
    if (whole.empty()) continue;
    const WeightedPart& part = whole.front();
    for (const FusedOps& ops : ways)
      if (has_implementation(part.operation, part_attributes(task, part, ops),
                             [&](std::string_view impl) { return is_trusted(impl, ops); }))
        return true;
  }
  return false;
}

std::optional<WeightedChoice> named_choice(const WeightedLayer& layer, const Problem& problem,
                                           int threads, const WeightedTask& task,
                                           std::span<const FusedOps> ways,
                                           const RoutineParams& params) {
  WeightedChoice choice;
  choice.impl = params.text(kImpl);
  std::vector<std::int64_t> splits = {1};
  if (!is_whole(params) && threads > 1) splits.insert(splits.begin(), threads);
  for (const FusedOps& ops : ways)
    for (const std::int64_t split : splits) {
      const auto parts = layer.parts(problem, task, split, choice.is_winograd());
      if (!is_trusted(choice.impl, ops) || parts.empty() || (split > 1 && parts.size() < 2))
        continue;
      auto descs = find_all(task, parts, ops, choice.impl);
      if (!descs) continue;
      choice.fused = ops.taken;
      choice.split = split;
      choice.descs = *std::move(descs);
      return choice;
    }
  return std::nullopt;
}

RoutineParams choice_params(const WeightedChoice& choice, int threads) {
  RoutineParams params;
  params.set(kImpl, choice.impl);
  params.set(kSplit, std::string(threads > 1 && choice.split == 1 ? kSplitWhole : kSplitThreads));
  return params;
}

ParamSpace choice_space(const std::vector<WeightedChoice>& choices, const Problem& problem,
                        int threads) {
  ParamAxis impl{kImpl, {}}, split{kSplit, {}};
  const auto add = [](ParamAxis& axis, const ParamValue& value) {
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
  };
  std::vector<RoutineParams> known;
  for (const WeightedChoice& choice : choices) {
    known.push_back(choice_params(choice, threads));
    add(impl, choice.impl);
    add(split, std::string(known.back().text(kSplit)));
  }
  ParamSpace space;
  space.axes = {std::move(impl), std::move(split)};
  space.allows = [known](const Params& params) {
    return std::find(known.begin(), known.end(), params) != known.end();
  };
  // The library lists first what it takes to be fast.
  space.rank = [known](const Params& params) {
    return static_cast<double>(std::ranges::find(known, params) - known.begin());
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

bool is_listed(const WeightedChoice& choice, RoutineParams params, int threads) {
  const RoutineParams listed = choice_params(choice, threads);
  if (params.has(kSplit)) params.set(kSplit, std::string(listed.text(kSplit)));
  return params == listed;
}

}  // namespace softneuro::onednn
