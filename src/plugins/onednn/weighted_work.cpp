#include "plugins/onednn/weighted_work.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "plugins/onednn/implementations.h"

namespace softneuro::onednn {
namespace {

using dnnl::memory;

constexpr std::size_t kWeightsAlignment = 64;
enum Constant : std::size_t { kPacked, kBias, kFactors, kZeroPoint };

std::size_t bytes_of(std::int64_t elements, memory::data_type type) {
  return static_cast<std::size_t>(elements) * memory::data_type_size(type);
}

Argument operand(const FusedStep& step, int position, const WeightedPart& part) {
  Argument made;
  made.id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1;
  made.from = Argument::From::input;
  made.index = step.input;
  made.desc = operand_desc(step, part);
  if (step.extent == FusedStep::Extent::whole) made.offset = bytes_of(part.y_at, step.type);
  if (step.extent == FusedStep::Extent::channel) made.offset = bytes_of(part.first_out, step.type);
  return made;
}

}  // namespace

Result<WeightedWork> WeightedWork::make(const WeightedLayer& layer, const Problem& problem,
                                        const WeightedTask& task, const WeightedChoice& choice,
                                        const FusedOps& ops) {
  return guarded([&]() -> Result<WeightedWork> {
    const std::vector<WeightedPart> partition =
        layer.parts(problem, task, choice.split, choice.is_winograd());
    if (partition.empty()) return unsupported("oneDNN does not know this operation");
    WeightedWork work;
    work.task_ = task;
    work.packs_ = layer.packs_weights();
    auto known = choice.descs.begin();
    for (const WeightedPart& part : partition) {
      const auto alike =
          std::find_if(work.parts_.begin(), work.parts_.end(),
                       [&](const Part& other) { return asks_the_same(task, other.part, part); });
      std::optional<dnnl::primitive_desc_base> desc;
      if (alike != work.parts_.end())
        desc = alike->desc;
      else if (known != choice.descs.end())
        desc = *known++;
      else
        desc = find_implementation(part.operation, part_attributes(task, part, ops), choice.impl);
      if (!desc)
        return unsupported("oneDNN has no implementation '{}' of this problem here", choice.impl);
      Part made{part, *desc, desc->query_md(dnnl::query::weights_md, 0), work.packed_bytes_};
      const auto same =
          std::find_if(work.parts_.begin(), work.parts_.end(), [&](const Part& other) {
            return other.part.weights_at == part.weights_at && other.weights == made.weights;
          });
      if (same != work.parts_.end())
        made.weights_at = same->weights_at;
      else if (work.packs_)
        work.packed_bytes_ += (made.weights.get_size() + kWeightsAlignment - 1) /
                              kWeightsAlignment * kWeightsAlignment;
      work.parts_.push_back(std::move(made));
    }
    return work;
  });
}

std::string WeightedWork::pack_key() const {
  std::string key;
  for (const Part& part : parts_)
    key += fmt::format("{}:{}:{}:{};", part.part.weights_at, part.weights_at,
                       part.desc.impl_info_str(), format_key(part.weights));
  // What is added behind weights depends on them.
  return key + fmt::format("{}{}", static_cast<int>(task_.x), task_.x_zero_point != 0);
}

Status WeightedWork::pack(const void* weights, std::byte* packed) const {
  return guarded([&]() -> Status {
    const OneThread one;
    dnnl::stream stream(engine());
    if (packed_bytes_ > 0) std::memset(packed, 0, packed_bytes_);
    std::size_t done = 0;
    for (const Part& part : parts_) {
      if (part.weights_at < done) continue;  // another part's, too
      done = part.weights_at + 1;
      const auto* const from = static_cast<const std::byte*>(weights) +
                               bytes_of(part.part.weights_at, task_.stored_weights);
      memory source(part.part.weights, engine(), const_cast<std::byte*>(from));
      memory target(part.weights, engine(), packed + part.weights_at);
      dnnl::reorder(source, target).execute(stream, source, target);
    }
    stream.wait();
    return {};
  });
}

Chunk WeightedWork::chunk_of(const Part& made, const FusedOps& ops, std::size_t bias_at) const {
  using From = Argument::From;
  const WeightedPart& part = made.part;
  Chunk chunk;
  chunk.primitive = dnnl::primitive(made.desc.get());
  chunk.first = part.y_at;
  chunk.count = part.count;
  chunk.repeats = part.repeats;
  chunk.stride = part.stride;
  chunk.arguments = {
      {DNNL_ARG_SRC, From::input, WeightedLayer::kX, bytes_of(part.x_at, task_.x), part.x},
      {DNNL_ARG_DST, From::output, 0, bytes_of(part.y_at, task_.y), part.y}};
  if (packs_)
    chunk.arguments.push_back(
        {DNNL_ARG_WEIGHTS, From::constant, kPacked, made.weights_at, made.weights});
  else
    chunk.arguments.push_back({DNNL_ARG_WEIGHTS, From::input, WeightedLayer::kWeights,
                               bytes_of(part.weights_at, task_.stored_weights), part.weights});
  if (task_.bias)
    chunk.arguments.push_back({DNNL_ARG_BIAS, From::constant, kBias,
                               bias_at + bytes_of(part.first_out, memory::data_type::f32),
                               desc_of({part.outs}, memory::data_type::f32, Layout::plain)});
  if constexpr (kFactorsArgument != 0) add_numbers(chunk, part);
  for (std::size_t i = 0; i < ops.steps.size(); ++i)
    if (ops.steps[i].extent != FusedStep::Extent::none)
      chunk.arguments.push_back(operand(ops.steps[i], static_cast<int>(i), part));
  return chunk;
}

void WeightedWork::add_numbers(Chunk& chunk, const WeightedPart& part) const {
  using From = Argument::From;
  if (!task_.scales.empty())
    chunk.arguments.push_back({kFactorsArgument, From::constant, kFactors,
                               bytes_of(part.first_out, memory::data_type::f32),
                               desc_of({part.outs}, memory::data_type::f32, Layout::plain)});
  if (task_.x_zero_point != 0)
    chunk.arguments.push_back({kZeroPointArgument, From::constant, kZeroPoint, 0,
                               desc_of({1}, memory::data_type::s32, Layout::plain)});
}

Status WeightedWork::make_numbers(const FusedOps& ops, Constants& constants,
                                  std::vector<Tensor>& made) const {
  made = {constants.packed, constants.bias, {}, {}};
  if (task_.scales.empty()) return {};
  const auto channels = static_cast<std::int64_t>(task_.scales.size());
  SN_ASSIGN_OR_RETURN(made[kBias], Tensor::create(DataType::float32, Shape{channels}));
  SN_ASSIGN_OR_RETURN(made[kFactors], Tensor::create(DataType::float32, Shape{channels}));
  SN_ASSIGN_OR_RETURN(made[kZeroPoint], Tensor::create(DataType::int32, Shape{1}));
  const auto* const of_sums = reinterpret_cast<const float*>(
      static_cast<const std::byte*>(constants.bias.data()) + constants.bias_at);
  auto* const bias = static_cast<float*>(made[kBias].mutable_data());
  auto* const factors = static_cast<float*>(made[kFactors].mutable_data());
  for (std::size_t m = 0; m < task_.scales.size(); ++m) {
    factors[m] = task_.scales[m] / ops.unit;
    bias[m] = of_sums[m] * factors[m];
  }
  *static_cast<std::int32_t*>(made[kZeroPoint].mutable_data()) = task_.x_zero_point;
  constants.bias_at = 0;
  return {};
}

Result<std::unique_ptr<Kernel>> WeightedWork::kernel(Constants constants, const FusedOps& ops,
                                                     PostOpProgram tail) const {
  return guarded([&]() -> Result<std::unique_ptr<Kernel>> {
    const OneThread one;
    PartitionedWork work;
    if constexpr (kFactorsArgument != 0)
      SN_RETURN_IF_ERROR(make_numbers(ops, constants, work.constants));
    else
      work.constants = {constants.packed, constants.bias};
    work.tail = std::move(tail);
    if (task_.y == memory::data_type::bf16) work.tail_type = DataType::bfloat16;
    for (const Part& part : parts_) {
      Chunk chunk = chunk_of(part, ops, constants.bias_at);
      work.add_scratchpad(chunk, part.desc);
      work.chunks.push_back(std::move(chunk));
    }
    return make_partitioned_kernel(std::move(work));
  });
}

}  // namespace softneuro::onednn
