#include "core/routine/layer_cost.h"

#include <algorithm>

#include "core/base/tensor_view.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

LayerSizes sizes_of(const Problem& problem) {
  LayerSizes sizes{problem.params, {}, {}, problem.own_inputs};
  for (const TensorSpec& spec : problem.inputs)
    sizes.inputs.push_back(spec.present() ? &spec.shape : nullptr);
  for (const TensorSpec& spec : problem.outputs)
    sizes.outputs.push_back(spec.present() && !problem.type->data_dependent_output ? &spec.shape
                                                                                   : nullptr);
  return sizes;
}

double macs_of(const LayerType& type, const LayerSizes& sizes) {
  return type.macs == nullptr ? 0 : type.macs(sizes);
}

double bytes_of(const TensorSpec& spec) {
  if (!spec.present()) return 0;
  const std::int64_t bytes = storage_bytes(spec.type, spec.shape, spec.layout);
  return bytes > 0 ? static_cast<double>(bytes) : 0;
}

}  // namespace

LayerCost layer_cost(const Problem& problem) {
  LayerCost cost;
  cost.macs = macs_of(*problem.type, sizes_of(problem));
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
  const double steps = type.steps == nullptr ? 0 : type.steps(sizes);
  return std::max({macs_of(type, sizes), moved, steps});
}

}  // namespace softneuro
