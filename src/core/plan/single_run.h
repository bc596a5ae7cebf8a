// What runs once, apart from a plan: a kernel, and an adapt of one tensor.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/runtime.h"

namespace softneuro {

// The outputs of a kernel of `routine` for `problem`. Tensors are on the host, in the problem's
// types and layouts, empty where left out; what the kernel leaves out of a padded layout is zero.
Result<std::vector<Tensor>> run_once(Runtime& runtime, const Kernel& kernel, const Routine& routine,
                                     const Problem& problem, std::vector<Tensor> inputs);
// The same with default parameters; packs the problem's constants.
Result<std::vector<Tensor>> run_once(Runtime& runtime, const Implementation& implementation,
                                     std::vector<Tensor> inputs);

// The layer that takes `tensor` from one format to another.
Problem adapt_problem(Runtime& runtime, TensorSpec tensor, const Format& from, const Format& to);

// `tensor` in another type and layout, by the default adapt routine of the host. `quantization`
// says what 8-bit numbers mean on either side; null where there are none.
Result<Tensor> in_format(Runtime& runtime, const Tensor& tensor, const Format& to,
                         const std::optional<Quantization>& quantization);

}  // namespace softneuro
