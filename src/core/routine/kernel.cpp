#include "core/routine/kernel.h"

#include "core/base/error.h"

namespace softneuro {

Status Context::allocate_output(std::size_t i, const Shape&) noexcept {
  return internal_error("output {} does not depend on data: it has its memory", i);
}

Kernel::~Kernel() = default;
KernelState::~KernelState() = default;

}  // namespace softneuro
