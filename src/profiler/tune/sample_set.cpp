#include "profiler/tune/sample_set.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace softneuro {
namespace {

bool is_held_back(std::size_t index, std::size_t count) {
  return count >= 5 ? index % 5 == 4 : count >= 2 && index + 1 == count;
}

// More than that are a negative number that was converted.
constexpr std::size_t kMostSamples = std::size_t{1} << 31;

}  // namespace

Status check_source(const char* kind, const SampleSource& source) {
  if (source.count > 0 && !source.make)
    return invalid_argument(
        "{} {} samples are to be made, but no function makes them: SampleSource::make is empty "
        "(sn_sample_callback is null)",
        source.count, kind);
  if (source.count > kMostSamples)
    return invalid_argument("{} {} samples are to be made: at most {} can be", source.count, kind,
                            kMostSamples);
  return {};
}

SampleSet::SampleSet(const char* kind, const std::vector<NamedTensors>& given,
                     const SampleSource& source, const Graph& graph,
                     const std::vector<Shape>& shapes)
    : kind_(kind), given_(&given), source_(&source), numbers_(given.size() + source.count) {
  std::iota(numbers_.begin(), numbers_.end(), std::size_t{0});
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorDef& def = graph.tensor(graph.inputs[i]);
    inputs_.push_back({def.name, def.type, shapes[i]});
  }
}

std::string SampleSet::place(std::size_t number) const {
  return fmt::format("{} sample {} (counted from 0, in memory first, then those of the source)",
                     kind_, number);
}

Result<std::vector<Tensor>> SampleSet::at(std::size_t i) const {
  const std::size_t number = numbers_[i];
  NamedTensors made;
  const bool is_made = number >= given_->size();
  if (is_made) {
    auto sample = source_->make(number - given_->size());
    if (!sample.ok())
      return Status(sample.status()).with_context(place(number) + " cannot be made");
    made = std::move(sample).value();
  }
  const NamedTensors& sample = is_made ? made : (*given_)[number];
  std::vector<Tensor> tensors;
  for (const Input& input : inputs_) {
    const auto found = sample.find(input.name);
    if (found == sample.end())
      return invalid_argument("{} has no input '{}'", place(number), input.name);
    const Tensor& tensor = found->second;
    if (tensor.data_type() != input.type || !(tensor.shape() == input.shape))
      return invalid_argument("{}: input '{}' is {} {}, but the net is tuned for {} {}",
                              place(number), input.name, to_string(tensor.data_type()),
                              tensor.shape().str(), to_string(input.type), input.shape.str());
    tensors.push_back(tensor);
  }
  return tensors;
}

Result<NamedTensors> SampleSet::named(std::size_t i) const {
  SN_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, at(i));
  NamedTensors sample;
  for (std::size_t t = 0; t < tensors.size(); ++t)
    sample.emplace(inputs_[t].name, std::move(tensors[t]));
  return sample;
}

Status SampleSet::check() const {
  for (std::size_t i = 0; i < size(); ++i)
    if (numbers_[i] < given_->size()) SN_RETURN_IF_ERROR(at(i).status());
  return {};
}

SampleSet SampleSet::part(bool held) const {
  SampleSet some = *this;
  some.numbers_.clear();
  for (std::size_t i = 0; i < size(); ++i)
    if (is_held_back(i, size()) == held) some.numbers_.push_back(numbers_[i]);
  return some;
}

}  // namespace softneuro
