#include "verify/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "verify/tensor_difference.h"

namespace softneuro {
namespace {

constexpr std::uint64_t kSeed = 42;  // of inputs; any will do

// About normal: the sum of four uniform numbers has the right centre and width.
double normal(SplitMix64& random) {
  return (random.unit() + random.unit() + random.unit() + random.unit() - 2) * 1.7320508;
}

double between(SplitMix64& random, double low, double high) {
  return low + (high - low) * random.unit();
}

// Of any magnitude.
double tail(SplitMix64& random) {
  constexpr double kExponential = 110;          // exp underflows at −104, and overflows at 89
  constexpr double kLeast = -149, kMost = 127;  // exponents of float32
  const double kind = random.unit();
  if (kind < 0.5) return between(random, -kExponential, kExponential);
  if (kind < 0.75) {
    const double magnitude = std::exp2(between(random, kLeast, kMost));
    return random.unit() < 0.5 ? -magnitude : magnitude;
  }
  if (kind < 0.9) return normal(random);
  return 0.5 * std::nearbyint(between(random, -kExponential, kExponential));
}

// Large tensors repeat one period: making millions of numbers would take longer than measuring.
constexpr std::int64_t kPeriod = 1 << 14;

// `draw` gives the numbers of a real tensor.
template <class Draw>
void fill_with(const TensorSpec& spec, Tensor& tensor, Draw draw) {
  if (!is_float(spec.type)) {
    if (tensor.bytes() > 0) std::memset(tensor.mutable_data(), 0, tensor.bytes());
    return;
  }
  const TensorView view = {spec.type, Layout::plain, spec.shape, tensor.mutable_data()};
  const std::int64_t count = std::min(tensor.elements(), kPeriod);
  for (std::int64_t i = 0; i < count; ++i) store(view, i, draw());
  const std::size_t period = static_cast<std::size_t>(count) * size_of(spec.type);
  auto* const bytes = static_cast<std::byte*>(tensor.mutable_data());
  for (std::size_t at = period; at < tensor.bytes(); at += period)
    std::memcpy(bytes + at, bytes, std::min(period, tensor.bytes() - at));
}

void fill(const TensorSpec& spec, Tensor& tensor, SplitMix64& random) {
  RealRange range = {-3, 3};
  if (spec.quantization && spec.quantization->axis < 0) range = range_of(*spec.quantization);
  const auto [low, high] = range;
  const double centre = (low + high) / 2, width = (high - low) / 6;
  fill_with(spec, tensor, [&, low = low, high = high] {
    return std::fmin(std::fmax(centre + width * normal(random), low), high);
  });
}

void fill_tails(const TensorSpec& spec, Tensor& tensor, SplitMix64& random) {
  fill_with(spec, tensor, [&] { return tail(random); });
}

using Fill = void (*)(const TensorSpec&, Tensor&, SplitMix64&);
Result<std::vector<Tensor>> made_inputs(const Problem& problem, Allocator& allocator, Fill make) {
  SplitMix64 random(kSeed);
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : problem.inputs) {
    if (!spec.present()) {
      inputs.emplace_back();
    } else if (!spec.value.empty()) {
      inputs.push_back(spec.value);
    } else {
      SN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::create(spec.type, spec.shape, allocator));
      make(spec, tensor, random);
      inputs.push_back(std::move(tensor));
    }
  }
  return inputs;
}

}  // namespace

void fill_random(const TensorSpec& spec, Tensor& tensor) {
  SplitMix64 random(kSeed);
  fill(spec, tensor, random);
}

Result<std::vector<Tensor>> random_inputs(const Problem& problem, Allocator& allocator) {
  return made_inputs(problem, allocator, fill);
}

Result<std::vector<Tensor>> tail_inputs(const Problem& problem, Allocator& allocator) {
  return made_inputs(problem, allocator, fill_tails);
}

}  // namespace softneuro
