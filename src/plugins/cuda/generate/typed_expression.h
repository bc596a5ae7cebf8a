// Element-wise functions as CUDA C++ for the types that expression.h leaves out: integers,
// booleans, float64; and conversions between types.
#pragma once

#include <string>

#include "core/graph/graph.h"
#include "plugins/cuda/generate/kernel_source.h"

namespace softneuro::cuda {

// In which a function of integers and booleans is computed: "int" where all bits that count are in
// it, "long long" or "unsigned long long".
const char* integer_type(DataType type);
const char* integer_type(DataType first, DataType second);

// Of variables x, or p and q, of an integer_type() W, named W in the text. Null: there is no such
// function of integers, or it has parameters.
const char* integer_expression(UnaryOp op);
const char* integer_expression(BinaryOp op);
// The functions that these call, for KernelSource::add_function().
const char* integer_functions();

// With a boolean result, of real numbers x (and a, b), or p and q; null: none.
const char* predicate(UnaryOp op);
const char* predicate(BinaryOp op);

// As expression(), of double variables; empty: none.
std::string double_expression(UnaryOp op);
std::string double_expression(BinaryOp op);
// The functions that these call.
std::string double_functions();

// The number that `x`, an expression of a number of type `from`, becomes in type `to`, as the layer
// type cast has it. Puts the functions that it calls into `source`.
std::string conversion(KernelSource& source, const std::string& x, DataType from, DataType to);

}  // namespace softneuro::cuda
