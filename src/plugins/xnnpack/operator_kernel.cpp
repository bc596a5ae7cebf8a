#include "plugins/xnnpack/operator_kernel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/routine/layer_cost.h"
#include "plugins/partition/chunks.h"

namespace softneuro::xnnpack {
namespace {

struct OperatorDeleter {
  void operator()(xnn_operator_t op) const { (void)xnn_delete_operator(op); }
};
using Operator = std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, OperatorDeleter>;

class OperatorState final : public KernelState {
 public:
  struct Bound {
    Operator op;
    const float* x = nullptr;
    const float* second = nullptr;
    float* y = nullptr;
  };
  std::vector<Bound> chunks;
};

// NaN where the clamp made an infinity of it.
void restore_nan(const OperatorChunk& chunk, const float* x, const float* second,
                 float* y) noexcept {
  constexpr std::int64_t kBlock = 1024;
  if (!chunk.element) return;
  for (std::int64_t begin = 0; begin < chunk.y_count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, chunk.y_count);
    int infinite = 0;  // in integers, which compilers make vectors of
    for (std::int64_t i = begin; i < end; ++i)
      infinite += (std::bit_cast<std::uint32_t>(y[i]) & 0x7fffffffu) == 0x7f800000u;
    if (infinite == 0) continue;
    for (std::int64_t i = begin; i < end; ++i)
      if (std::isinf(y[i]) && std::isnan(chunk.element(x, second, i)))
        y[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

class OperatorKernel final : public Kernel {
 public:
  explicit OperatorKernel(OperatorWork work) : work_(std::move(work)) {}

  int in_place_input() const noexcept override { return work_.in_place_input; }

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto state = std::make_unique<OperatorState>();
    for (const OperatorChunk& chunk : work_.chunks) {
      xnn_operator_t op = nullptr;
      SN_RETURN_IF_ERROR(status_of(chunk.create(&op), "making an operator"));
      state->chunks.emplace_back().op = Operator(op);
      // Addresses that are only computed with: the tables are allocated here, not when running.
      static float somewhere[1];
      SN_RETURN_IF_ERROR(
          status_of(chunk.setup(op, somewhere, somewhere, somewhere), "setting up an operator"));
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(Context& context) const noexcept override {
    auto* const state = static_cast<OperatorState*>(context.state());
    if (state == nullptr) return internal_error("XNNPACK: run() without the kernel's state");
    std::atomic<int> failure{xnn_status_success};
    parallel_for(
        context.pool(), static_cast<std::int64_t>(work_.chunks.size()), [&](std::int64_t i) {
          const auto index = static_cast<std::size_t>(i);
          const xnn_status status = run_chunk(context, work_.chunks[index], state->chunks[index]);
          if (status != xnn_status_success) failure = status;
        });
    return status_of(static_cast<xnn_status>(failure.load()), "running an operator");
  }

 private:
  xnn_status run_chunk(Context& context, const OperatorChunk& chunk,
                       OperatorState::Bound& bound) const noexcept {
    const float* const x = context.input(0).as<float>() + chunk.x_at;
    float* const y = context.output(0).as_mutable<float>() + chunk.y_at;
    const float* const second =
        chunk.takes_two ? context.input(1).as<float>() + chunk.second_at : nullptr;
    if (x != bound.x || second != bound.second || y != bound.y) {
      const xnn_status status = chunk.setup(bound.op.get(), x, second, y);
      if (status != xnn_status_success) return status;
      bound.x = x;
      bound.second = second;
      bound.y = y;
    }
    const xnn_status status = xnn_run_operator(bound.op.get(), nullptr);
    if (status != xnn_status_success) return status;
    restore_nan(chunk, x, second, y);
    if (chunk.repair) chunk.repair(y);
    if (!work_.tail.empty()) work_.tail.apply(context.inputs(), y, chunk.y_at, chunk.y_count);
    return status;
  }

  OperatorWork work_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_operator_kernel(OperatorWork work) {
  auto kernel = std::make_unique<OperatorKernel>(std::move(work));
  // What cannot be made is an error now, not when a session comes.
  SN_ASSIGN_OR_RETURN(const auto state, kernel->make_state());
  return std::unique_ptr<Kernel>(std::move(kernel));
}

Applicability takes_inputs(const Problem& problem) {
  for (std::size_t i = 0; i < problem.layer_inputs; ++i) {
    if (!problem.has_input(i)) continue;
    const TensorSpec& spec = problem.inputs[i];
    if (spec.type != DataType::float32) return Applicability::no("needs float32");
    if (i > 0 && (!spec.constant || spec.value.empty()))
      return Applicability::no("weights or bias are not constant");
  }
  return has_work(problem);
}

RoutineParams SplitImplementation::default_params() const {
  RoutineParams params;
  params.set(kSplit, std::string(kSplitThreads));
  return params;
}

ParamSpace SplitImplementation::param_space() const {
  ParamAxis split{kSplit, {std::string(kSplitThreads)}};
  if (context().threads() > 1) split.values.emplace_back(std::string(kSplitWhole));
  ParamSpace space;
  space.axes = {std::move(split)};
  if (layer_cost(problem()).macs >= kWorthPartitioning)
    space.promising = [](const Params& params) { return !is_whole(params); };
  return space;
}

Applicability SplitImplementation::check_params(const RoutineParams& params) const {
  return Implementation::check_params(as_listed(params, context().threads()));
}

}  // namespace softneuro::xnnpack
