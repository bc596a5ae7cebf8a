// Kernels that are one function.
#pragma once

#include <type_traits>

#include "core/routine/kernel.h"

namespace softneuro {

// What Kernel's functions of these names return.
struct FunctionKernelNeeds {
  int in_place_input = -1;
  std::size_t workspace_bytes = 0;
};

// F is called with the Context, and returns a Status or nothing. It must not throw.
template <class F>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(const FunctionKernelNeeds& needs, F run) : needs_(needs), run_(std::move(run)) {}
  int in_place_input() const noexcept override { return needs_.in_place_input; }
  std::size_t workspace_bytes() const noexcept override { return needs_.workspace_bytes; }
  Status run(Context& context) const noexcept override {
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, Context&>>) {
      run_(context);
      return {};
    } else {
      return run_(context);
    }
  }

 private:
  FunctionKernelNeeds needs_;
  F run_;
};

// `run` keeps copies of what it needs; it does not refer to the problem.
template <class F>
Result<std::unique_ptr<Kernel>> make_function_kernel(const FunctionKernelNeeds& needs, F run) {
  return make_kernel<FunctionKernel<F>>(needs, std::move(run));
}
template <class F>
Result<std::unique_ptr<Kernel>> make_function_kernel(F run) {
  return make_function_kernel({}, std::move(run));
}

}  // namespace softneuro
