// What wgenc and wgdec cpu:float32:nhwc/direct have in common: what they take, and the tasks that
// their tiles are partitioned into.
//
// Routine parameter: tiles, those that one task transforms.
#pragma once

#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/registry.h"
#include "routines/conv2/winograd.h"

namespace softneuro {

class TransformImplementation : public Implementation {
 public:
  using Implementation::Implementation;

  RoutineParams default_params() const override {
    RoutineParams params;
    params.set("tiles", std::int64_t{4});
    return params;
  }
  ParamSpace param_space() const override {
    ParamSpace space;
    space.axes = {{"tiles", {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}}}};
    return space;
  }
};

class DirectTransform : public Routine {
 public:
  explicit DirectTransform(const char* layer_type)
      : Routine(layer_type, "cpu:float32:nhwc/direct") {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }

 protected:
  Applicability applicable(const Problem& problem) const override {
    for (std::size_t i = 0; i < problem.layer_inputs; ++i)
      if (problem.has_input(i) && problem.inputs[i].type != DataType::float32)
        return Applicability::no("needs float32");
    if (problem.inputs[0].shape[1] % kWgBlock != 0)
      return Applicability::no("needs a multiple of 16 channels");
    if (!has_wg(problem.params.integer("tile_size"), problem.params.integer("taps")))
      return Applicability::no("needs a kernel of 3x3 or 5x5");
    return Applicability::yes();
  }
};

// f(image, tile) for all tiles, `group` of them in each task.
template <class F>
void for_wg_tiles(const Workers& pool, std::int64_t images, std::int64_t tiles, std::int64_t group,
                  F&& f) noexcept {
  const std::int64_t groups = (tiles + group - 1) / group;
  parallel_for(pool, images * groups, [&](std::int64_t i) {
    const std::int64_t first = i % groups * group;
    for (std::int64_t t = first; t < std::min(first + group, tiles); ++t) f(i / groups, t);
  });
}

}  // namespace softneuro
