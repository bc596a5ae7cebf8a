// The workspace of kernels that compute in float32.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// Where the parts of a workspace of floats begin, each aligned to kTensorAlignment.
class FloatRegions {
 public:
  // Reserves `floats` floats; gives the offset of the first.
  std::int64_t add(std::int64_t floats) noexcept {
    constexpr std::int64_t kStep = kTensorAlignment / sizeof(float);
    const std::int64_t offset = total_;
    total_ += (floats + kStep - 1) / kStep * kStep;
    return offset;
  }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(total_) * sizeof(float); }

 private:
  std::int64_t total_ = 0;
};

// A kernel whose workspace is made of such parts.
class FloatWorkspaceKernel : public Kernel {
 public:
  std::size_t workspace_bytes() const noexcept final { return regions_.bytes(); }

 protected:
  // For constructors: where so many floats of the workspace begin.
  std::int64_t reserve(std::int64_t floats) noexcept { return regions_.add(floats); }
  static float* workspace_of(const Context& context) noexcept {
    return reinterpret_cast<float*>(context.workspace());
  }

 private:
  FloatRegions regions_;
};

}  // namespace softneuro
