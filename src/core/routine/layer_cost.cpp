#include "core/routine/layer_cost.h"

#include <algorithm>

#include "core/base/tensor_view.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

LayerSizes sizes_of(const Problem& problem) {
  LayerSizes sizes{problem.params, {}, {}, problem.layer_inputs};
  for (const TensorSpec& spec : problem.inputs)
    sizes.inputs.push_back(spec.present() ? &spec.shape : nullptr);
  for (const TensorSpec& spec : problem.outputs)
    sizes.outputs.push_back(spec.present() && !problem.type->data_dependent_output ? &spec.shape
                                                                                   : nullptr);
  return sizes;
}

double steps_of(const LayerType& type, const LayerSizes& sizes) {
  const double macs = type.macs == nullptr ? 0 : type.macs(sizes);
  return type.steps == nullptr ? macs : std::max(macs, type.steps(sizes));
}

double bytes_of(const TensorSpec& spec) {
  if (!spec.present()) return 0;
  const std::int64_t bytes = storage_bytes(spec.type, spec.shape, spec.layout);
  return bytes > 0 ? static_cast<double>(bytes) : 0;
}

}  // namespace

LayerCost layer_cost(const Problem& problem) {
  const LayerType& type = *problem.type;
  const LayerSizes sizes = sizes_of(problem);
  LayerCost cost;
  cost.macs = type.macs == nullptr ? 0 : type.macs(sizes);
  cost.steps = steps_of(type, sizes);
  for (const TensorSpec& spec : problem.inputs) cost.bytes += bytes_of(spec);
  if (!problem.type->data_dependent_output)
    for (const TensorSpec& spec : problem.outputs) cost.bytes += bytes_of(spec);
  return cost;
}

double layer_steps(const Problem& problem) {
  const LayerType& type = *problem.type;
  const LayerSizes sizes = sizes_of(problem);
  const double moved =
      (type.reads_shape_only ? 0 : sizes.input_elements()) + sizes.output_elements();
  return std::max(moved, steps_of(type, sizes));
}

}  // namespace softneuro
