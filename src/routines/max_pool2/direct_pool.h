// The kernel behind max_pool and avg_pool cpu/direct.
#pragma once

#include "core/post_ops.h"
#include "core/routine.h"
#include "routines/max_pool2/pool_rows.h"

namespace softneuro {

class DirectPoolKernel final : public Kernel {
 public:
  // `function` is one of PoolFunctions; `planes` = N·C.
  DirectPoolKernel(const Window& window, std::int64_t planes, bool count_padding,
                   void (*function)(const PoolRows&) noexcept, PostOpProgram post_ops);
  Status run(Context& context) const noexcept override;

 private:
  Window window_;
  std::int64_t planes_;
  bool count_padding_;
  void (*function_)(const PoolRows&) noexcept;
  PostOpProgram post_ops_;
};

}  // namespace softneuro
