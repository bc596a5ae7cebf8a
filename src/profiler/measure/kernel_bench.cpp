#include "profiler/measure/kernel_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/random.h"
#include "core/routine/registry.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/departure.h"
#include "profiler/measure/timer.h"

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

Result<PackedWeights> packed_for(Runtime& core, const Implementation& implementation,
                                 const RoutineParams& params, LastPacking* last) {
  if (last == nullptr) return implementation.pack_weights(params, core.allocator());
  SN_ASSIGN_OR_RETURN(const Packing packing, implementation.packing(params));
  std::string key = implementation.routine().descriptor().str() + '|' +
                    formats_of(implementation.problem()).str() + '|' + packing.key;
  if (last->key != key) {
    *last = {};  // first, so that there are never two
    SN_ASSIGN_OR_RETURN(last->packed, implementation.pack_weights(params, core.allocator()));
    last->key = std::move(key);
  }
  return last->packed;
}

}  // namespace

Result<KernelBench> KernelBench::create(Runtime& core, const Implementation& implementation,
                                        const RoutineParams& params, std::vector<Tensor> inputs,
                                        LastPacking* last) {
  SN_ASSIGN_OR_RETURN(PackedWeights packed, packed_for(core, implementation, params, last));
  SN_RETURN_IF_ERROR(core.registry().upload(implementation.routine(), packed));
  SN_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, implementation.create(params, packed));
  SN_ASSIGN_OR_RETURN(KernelBench bench, of(core, std::move(kernel), implementation.routine(),
                                            implementation.whole_problem(), std::move(inputs)));
  bench.packed_ = std::move(packed);
  return bench;
}

Result<KernelBench> KernelBench::of(Runtime& core, std::shared_ptr<const Kernel> kernel,
                                    const Routine& routine, const Problem& problem,
                                    std::vector<Tensor> inputs) {
  KernelBench bench;
  bench.core_ = &core;
  bench.kernel_ = std::move(kernel);
  SN_ASSIGN_OR_RETURN(bench.run_,
                      KernelRun::create(*bench.kernel_, problem,
                                        core.registry().device(routine.descriptor().device),
                                        std::move(inputs), core.allocator()));
  for (Tensor& output : bench.run_.outputs())
    if (output.bytes() > 0) std::memset(output.mutable_data(), 0, output.bytes());
  return bench;
}

Status KernelBench::run() noexcept {
  SN_RETURN_IF_ERROR(run_.start(core_->pool()));
  return run_.finish();
}

// By the clock of where the work is done; what also touches the host keeps the caller so long.
Result<double> KernelBench::runs_us(int runs) noexcept {
  Stream* const stream = run_.stream();
  const bool by_device = stream != nullptr && !run_.touches_host();
  std::unique_ptr<DeviceEvent> first, last;
  if (by_device) {
    SN_ASSIGN_OR_RETURN(first, stream->record());
  }
  const std::int64_t begin = clock_ns();
  for (int i = 0; i < runs; ++i) SN_RETURN_IF_ERROR(run_.start(core_->pool()));
  if (by_device) {
    SN_ASSIGN_OR_RETURN(last, stream->record());
  }
  if (stream != nullptr) SN_RETURN_IF_ERROR(stream->synchronize());
  if (by_device) return stream->microseconds(*first, *last);
  return static_cast<double>(clock_ns() - begin) * 1e-3;
}

double KernelBench::time_us(int runs, PoolBarrier& barrier) noexcept {
  const PoolBurst burst(core_->pool());  // as inside of a session's run
  double best = INFINITY;
  barrier.synchronize();
  for (int attempt = 0; attempt < constants::kAttempts; ++attempt)
    if (time_once(runs, barrier, best)) break;
  return best;
}

// Whether there is no need to repeat them.
bool KernelBench::time_once(int runs, PoolBarrier& barrier, double& best) noexcept {
  const Result<double> us = runs_us(runs);
  if (!us.ok()) {
    best = -1;
    return true;
  }
  best = std::min(best, *us / runs);
  return barrier.synchronize() || *us * 1e3 > static_cast<double>(constants::kTimeSliceNs);
}

Problem adapt_problem(Runtime& core, TensorSpec tensor, const Format& from, const Format& to) {
  Problem problem;
  problem.type = core.registry().layer_types().find("adapt");
  problem.layer_name = "adapt";
  problem.own_inputs = 1;
  tensor.constant = false;
  tensor.value = Tensor();
  set_format(tensor, from);
  problem.inputs = {tensor};
  set_format(tensor, to);
  problem.outputs = {std::move(tensor)};
  return problem;
}

Result<Tensor> in_format(Runtime& core, const Tensor& tensor, const Format& to,
                         const std::optional<Quantization>& quantization) {
  if (tensor.data_type() == to.type && tensor.layout() == to.layout) return tensor;
  TensorSpec spec;
  spec.shape = tensor.shape();
  spec.quantization = quantization;
  Problem problem = adapt_problem(core, spec, {tensor.data_type(), tensor.layout()},
                                  {to.type, to.layout});  // both on the host
  SN_ASSIGN_OR_RETURN(const ImplementationPtr usual,
                      core.routine_context().default_choice(std::move(problem)));
  SN_ASSIGN_OR_RETURN(KernelBench bench,
                      KernelBench::create(core, *usual, usual->default_params(), {tensor}));
  SN_RETURN_IF_ERROR(bench.run());
  return bench.outputs()[0];
}

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
