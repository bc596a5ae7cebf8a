// matmul with rounded factors, under a name of a test's choosing.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include "core/routine/registry.h"
#include "support/simple_routine.h"

namespace softneuro::test {

class RoundingMatmul final : public SimpleRoutine {
 public:
  static constexpr int kTf32Bits = 13;  // that TF32 has not

  // Rounds off the lowest `bits` of each factor.
  explicit RoundingMatmul(std::string_view descriptor, int bits = kTf32Bits, int rank = 1)
      : SimpleRoutine("matmul", descriptor), bits_(bits), rank_(rank) {}
  RoutineFacts facts() const override { return {.default_rank = rank_}; }
  // Called in each run.
  std::function<void()> on_run;

 protected:
  Applicability applicable(const Problem& problem) const override {
    for (const TensorSpec& spec : {problem.inputs[0], problem.inputs[1], problem.outputs[0]})
      if (spec.type != DataType::float32) return Applicability::no("needs float32");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext& context) const override {
    const Routine& naive = *context.registry().find("matmul", "cpu/naive");
    SN_ASSIGN_OR_RETURN(const ImplementationPtr exact, context.implement(naive, problem));
    SN_ASSIGN_OR_RETURN(auto product, exact->create(exact->default_params()));
    return make_kernel<RoundingKernel>(*this, problem, std::move(product));
  }

 private:
  class RoundingKernel final : public Kernel {
   public:
    RoundingKernel(const RoundingMatmul& routine, const Problem& problem,
                   std::unique_ptr<Kernel> product)
        : routine_(routine),
          product_(std::move(product)),
          first_(problem.inputs[0].shape.elements()),
          second_(problem.inputs[1].shape.elements()) {}
    std::size_t workspace_bytes() const noexcept override {
      return sizeof(float) * static_cast<std::size_t>(first_ + second_);
    }
    Status run(Context& context) const noexcept override {
      if (routine_.on_run) routine_.on_run();
      auto* rounded = reinterpret_cast<float*>(context.workspace());
      TensorView factors[] = {context.input(0), context.input(1)};
      for (TensorView& factor : factors) {
        const std::int64_t count = factor.elements();
        for (std::int64_t i = 0; i < count; ++i) rounded[i] = routine_.round(factor.as<float>()[i]);
        factor.data = rounded;
        rounded += count;
      }
      Context inside(factors, context.outputs(), nullptr, context.pool());
      return product_->run(inside);
    }

   private:
    const RoundingMatmul& routine_;
    std::unique_ptr<Kernel> product_;
    std::int64_t first_, second_;
  };

  float round(float value) const {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;  // infinite or NaN
    const std::uint32_t step = 1u << bits_;
    return std::bit_cast<float>((bits + step / 2) & ~(step - 1));
  }

  int bits_, rank_;
};

}  // namespace softneuro::test
