// non_max_suppression cpu/naive: greedy, per batch and class.
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/tensor/indexing.h"

namespace softneuro {
namespace {

struct Box {
  double low[2], high[2];
  double area() const noexcept {
    return std::max(high[0] - low[0], 0.0) * std::max(high[1] - low[1], 0.0);
  }
};

Box box_at(const TensorView& boxes, std::int64_t index, bool center) noexcept {
  double v[4];
  for (int i = 0; i < 4; ++i) v[i] = load(boxes, index * 4 + i);
  if (center) return {{v[0] - v[2] / 2, v[1] - v[3] / 2}, {v[0] + v[2] / 2, v[1] + v[3] / 2}};
  return {{std::min(v[0], v[2]), std::min(v[1], v[3])},
          {std::max(v[0], v[2]), std::max(v[1], v[3])}};
}

// Intersection over union; 0 where either box is empty.
double overlap(const Box& a, const Box& b) noexcept {
  const Box both = {{std::max(a.low[0], b.low[0]), std::max(a.low[1], b.low[1])},
                    {std::min(a.high[0], b.high[0]), std::min(a.high[1], b.high[1])}};
  const double shared = both.area();
  return shared > 0 ? shared / (a.area() + b.area() - shared) : 0;
}

class NaiveNmsKernel final : public Kernel {
 public:
  NaiveNmsKernel(bool center, const Shape& scores)
      : center_(center), groups_(scores[0] * scores[1]), boxes_(scores[2]) {}
  // Per batch and class: how many boxes were taken, and which (numbers below 2³¹).
  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(groups_) * sizeof(std::int64_t) +
           static_cast<std::size_t>(groups_ * boxes_) * sizeof(std::int32_t);
  }

  Status run(Context& context) const noexcept override {
    const std::int64_t limit = context.has_input(2) ? IndexReader(context.input(2))[0] : 0;
    const double threshold = context.has_input(3) ? load(context.input(3), 0) : 0;
    if (!(threshold >= 0 && threshold <= 1))
      return invalid_argument("iou_threshold is {}, must be in [0, 1]", threshold);

    auto* taken = reinterpret_cast<std::int64_t*>(context.workspace());
    auto* numbers = reinterpret_cast<std::int32_t*>(taken + groups_);
    parallel_for(context.pool(), groups_, [&](std::int64_t group) {
      taken[group] =
          limit > 0 ? take(context, group, limit, threshold, numbers + group * boxes_) : 0;
    });
    std::int64_t total = 0;
    for (std::int64_t group = 0; group < groups_; ++group) total += taken[group];
    SN_RETURN_IF_ERROR(context.allocate_output(0, Shape{total, 3}));

    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t classes = context.input(1).shape[1];
    for (std::int64_t group = 0; group < groups_; ++group)
      for (std::int64_t i = 0; i < taken[group]; ++i) {
        *y++ = group / classes;
        *y++ = group % classes;
        *y++ = numbers[group * boxes_ + i];
      }
    return {};
  }

 private:
  // Fills `numbers` with the boxes that one batch and class keep; returns how many.
  std::int64_t take(const Context& context, std::int64_t group, std::int64_t limit,
                    double threshold, std::int32_t* numbers) const noexcept {
    const TensorView& scores = context.input(1);
    const std::int64_t base = group * boxes_;
    const double least = context.has_input(4) ? load(context.input(4), 0) : -INFINITY;
    std::int64_t candidates = 0;
    for (std::int64_t i = 0; i < boxes_; ++i) {
      const double score = load(scores, base + i);
      if (context.has_input(4) ? score > least : !std::isnan(score))
        numbers[candidates++] = static_cast<std::int32_t>(i);
    }
    std::sort(numbers, numbers + candidates, [&](std::int32_t a, std::int32_t b) {
      const double score_a = load(scores, base + a), score_b = load(scores, base + b);
      return score_a != score_b ? score_a > score_b : a < b;
    });

    const std::int64_t first_box = group / scores.shape[1] * boxes_;
    std::int64_t kept = 0;
    for (std::int64_t c = 0; c < candidates && kept < limit; ++c) {
      const Box box = box_at(context.input(0), first_box + numbers[c], center_);
      bool keep = true;
      for (std::int64_t k = 0; keep && k < kept; ++k)
        keep = overlap(box, box_at(context.input(0), first_box + numbers[k], center_)) <= threshold;
      if (keep) numbers[kept++] = numbers[c];
    }
    return kept;
  }

  bool center_;
  std::int64_t groups_;
  std::int64_t boxes_;
};

Applicability applicable(const Problem& problem) {
  return problem.inputs[1].shape[2] <= INT32_MAX
             ? Applicability::yes()
             : Applicability::no("2³¹ boxes or more are not supported");
}

Result<std::unique_ptr<Kernel>> make_naive_nms(const Problem& problem) {
  return make_kernel<NaiveNmsKernel>(problem.params.integer("center_point_box") != 0,
                                     problem.inputs[1].shape);
}

}  // namespace

Status register_routine_non_max_suppression_cpu_naive(Registry& registry) {
  return add_routines(registry, {"non_max_suppression"}, {"cpu"}, "naive",
                      {.applicable = applicable, .create = make_naive_nms});
}

}  // namespace softneuro
