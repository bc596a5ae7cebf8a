// Functions of one number that are right in the middle of their range, and wrong in a tail.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/routine/registry.h"
#include "support/simple_routine.h"

namespace softneuro::test {

struct PlantedFault {
  const char* name;
  UnaryOp op;
  bool (*is_hit)(double x);  // where
  double result;             // instead of the right one
};
inline constexpr PlantedFault kPlantedFaults[] = {
    {"cpu/softplus_ends", UnaryOp::softplus, [](double x) { return x < -13; }, 0},
    {"cpu/exp_flushes", UnaryOp::exp, [](double x) { return std::exp(x) < 1e-6; }, 0},
    {"cpu/tanh_saturates", UnaryOp::tanh, [](double x) { return x > 5 && x < 9; }, 1},
    {"cpu/gelu_ends", UnaryOp::gelu, [](double x) { return x < -3.5; }, -0.0},
};

// unary in float32 and the plain layout: one function, faulty, or as exact as it can be.
class PlantedUnary final : public SimpleRoutine {
 public:
  PlantedUnary(const PlantedFault& fault, bool is_faulty)
      : SimpleRoutine("unary", fault.name), fault_(fault), is_faulty_(is_faulty) {}
  RoutineFacts facts() const override { return {.default_rank = 1}; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.params.text("op") != to_string(fault_.op) ||
        problem.inputs[0].type != DataType::float32)
      return Applicability::no("another function");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineContext&) const override {
    return make_kernel<PlantedKernel>(*this);
  }

 private:
  class PlantedKernel final : public Kernel {
   public:
    explicit PlantedKernel(const PlantedUnary& routine) : routine_(routine) {}
    Status run(Context& context) const noexcept override {
      const TensorView& x = context.input(0);
      const TensorView& y = context.output(0);
      std::transform(x.as<float>(), x.as<float>() + x.elements(), y.as_mutable<float>(),
                     [&](float value) { return routine_.value_of(static_cast<double>(value)); });
      return {};
    }

   private:
    const PlantedUnary& routine_;
  };

  float value_of(double x) const {
    return static_cast<float>(is_faulty_ && fault_.is_hit(x) ? fault_.result
                                                             : apply(fault_.op, x, 0, 0));
  }

  PlantedFault fault_;
  bool is_faulty_;
};

}  // namespace softneuro::test
