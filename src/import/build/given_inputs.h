// What the user gives of a model's inputs: shapes and constants.
#pragma once

#include "core/graph/graph.h"
#include "softneuro/net.h"

namespace softneuro::build {

// `given`, as the value of an input that is declared so: a copy. invalid_argument if it does not
// fit; ImportOptions::constants says what fits.
Result<Tensor> constant_as(const std::string& name, const Tensor& given, const TensorDef& declared,
                           Allocator& allocator);

// Fills in the sizes of the graph's inputs: input name → shape. Inputs that carry a symbol get the
// size that it has in another one. not_found, invalid_argument.
Status fix_input_shapes(Graph& graph, const NamedShapes& shapes);

}  // namespace softneuro::build
