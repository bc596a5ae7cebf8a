// adapt cuda/nvrtc: between formats on the GPU, cast and layout in one pass.
#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/cuda/generate/kernel_source.h"
#include "plugins/cuda/generate/strides.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {
namespace {

Result<Program> adapt(const Problem& problem) {
  const TensorSpec &from = problem.inputs[0], &to = problem.outputs[0];
  if (from.device != to.device) return unsupported("both sides must be on the GPU");
  for (const TensorSpec* spec : {&from, &to}) {
    if (block_of(spec->layout) != 1) return unsupported("layouts in blocks are not supported");
    if (spec->type == DataType::qint8) return unsupported("quantised tensors are not supported");
  }
  KernelSource source(to.shape.elements());
  const std::vector<std::int64_t> strides = memory_strides(from.shape, from.layout);
  std::vector<std::int64_t> dims, from_strides;
  for (const int d : memory_order(to.shape.rank(), to.layout)) {
    dims.push_back(to.shape[d]);
    from_strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  const std::string y = source.output(problem, 0), x = source.input(problem, 0);
  const std::string walk = source.walk(dims, from_strides);
  Program program;
  program.launches.push_back(source.launch_elements(
      fmt::format("put({}[i], get({}[at(i, {})]));\n", y, x, walk), to.shape.elements()));
  return program;
}

}  // namespace

Status register_adapt(Registry& registry, CudaDevice& device) {
  return add_generated(registry, device, {"adapt", "nvrtc", &adapt, kNoPostOps}, {"cuda"});
}

}  // namespace softneuro::cuda
