// Routines that make their kernel of the problem alone, as classes of tests.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

class SimpleRoutine : public Routine {
 public:
  using Routine::Routine;

 protected:
  // Implementation::speed() and create().
  virtual double default_speed(const Problem&) const { return 1; }
  virtual Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                                 const RoutineContext& context) const = 0;

 private:
  // Asks the routine, which outlives it.
  class Simple final : public Implementation {
   public:
    Simple(ProblemPtr problem, const RoutineContext& context, const SimpleRoutine& simple)
        : Implementation(std::move(problem), context), simple_(simple) {}
    double speed() const override { return simple_.default_speed(problem()); }

   protected:
    Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                  const PackedWeights&) const override {
      return simple_.create(problem(), context());
    }

   private:
    const SimpleRoutine& simple_;
  };

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const final {
    return make_implementation_of<Simple>(std::move(problem), context, *this);
  }
};

}  // namespace softneuro
