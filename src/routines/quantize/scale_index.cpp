#include "routines/quantize/scale_index.h"

namespace softneuro {

Result<ScaleIndex> ScaleIndex::of(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const std::int64_t block = problem.params.integer("block_size");
  ScaleIndex index;
  if (block <= 0 && problem.inputs[1].shape.elements() == 1) return index;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), shape.rank()));
  index.per_tensor = false;
  index.per_element = block > 0;
  index.inner = shape.elements(axis + 1, shape.rank());
  index.dim = shape[axis];
  index.block = block > 0 ? block : 1;
  index.blocks = index.dim / index.block + (index.dim % index.block != 0);
  // Inference has checked this where it knew the shapes; routines index by it.
  const std::int64_t needed =
      index.per_element ? shape.elements(0, axis) * index.blocks * index.inner : index.dim;
  if (problem.inputs[1].shape.elements() != needed)
    return invalid_argument("input 1 (scale) has shape {}, but {} scales are needed",
                            problem.inputs[1].shape.str(), needed);
  return index;
}

}  // namespace softneuro
