// Routines whose times a test decides, by a SettableClock.
#pragma once

#include <atomic>
#include <memory>

#include "core/base/error.h"
#include "core/routine/routine.h"
#include "support/settable_clock.h"
#include "support/simple_routine.h"

namespace softneuro::test {

// cumsum whose kernel a test changes.
class ChangedCumsum : public SimpleRoutine {
 public:
  ChangedCumsum(const char* descriptor, const Routine& naive)
      : SimpleRoutine("cumsum", descriptor), naive_(naive) {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(const ImplementationPtr naive, context.implement(naive_, problem));
    SN_ASSIGN_OR_RETURN(auto work, naive->create({}));
    return changed(std::move(work));
  }

 private:
  virtual std::unique_ptr<Kernel> changed(std::unique_ptr<Kernel> work) const = 0;

  const Routine& naive_;
};

// cumsum, in a time that is known.
class TimedKernel final : public Kernel {
 public:
  TimedKernel(std::unique_ptr<Kernel> work, const std::atomic<std::int64_t>& us)
      : work_(std::move(work)), us_(us) {}
  Status run(Context& context) const noexcept override {
    SettableClock::pass_us(static_cast<double>(us_));
    return work_->run(context);
  }

 private:
  std::unique_ptr<Kernel> work_;
  const std::atomic<std::int64_t>& us_;
};

class TimedCumsum final : public ChangedCumsum {
 public:
  TimedCumsum(const char* descriptor, const Routine& naive, std::int64_t us, int version = 1)
      : ChangedCumsum(descriptor, naive), us_(us), rank_(static_cast<int>(us)), version_(version) {}
  RoutineFacts facts() const override { return {.default_rank = rank_, .version = version_}; }
  // Above naive's, which would win the final benchmark; the slow one's is the best.
  void take_from_now_on(std::int64_t us) { us_ = us; }

 private:
  std::unique_ptr<Kernel> changed(std::unique_ptr<Kernel> work) const override {
    return std::make_unique<TimedKernel>(std::move(work), us_);
  }
  std::atomic<std::int64_t> us_;
  int rank_, version_;
};

}  // namespace softneuro::test
