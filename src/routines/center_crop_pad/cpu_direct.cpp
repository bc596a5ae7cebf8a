// center_crop_pad cpu/direct: the middle is copied in runs, in all data types and in nhwc.
#include "core/layers/center_crop_pad.h"
#include "routines/data_movement_routine.h"
#include "routines/moves.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_center_crop_pad_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const Shape& y = problem.outputs[0].shape;
  std::vector<PadAmount> amounts;
  amounts.reserve(static_cast<std::size_t>(x.rank()));
  for (int a = 0; a < x.rank(); ++a) amounts.push_back(center_crop_pad_amount(x[a], y[a]));
  return make_pad_move(problem, amounts);
}

}  // namespace

Status register_routine_center_crop_pad_cpu_direct(Registry& registry) {
  return register_moves<make_center_crop_pad_move>(registry, "center_crop_pad", {.nhwc = true});
}

}  // namespace softneuro
