// What all generated kernels have in common, as CUDA C++: types, conversions, index arithmetic. No
// header of CUDA is read, neither by this room nor by its sources.
#pragma once

#include <string>

#include "softneuro/types.h"

namespace softneuro::cuda {

// In front of every kernel. It declares
// - Half and BFloat16, which are stored as such; get(element): the number that a stored element
//   stands for, as float (of real numbers of 16 and 32 bits), double, or long long (of integers and
//   booleans; unsigned long long of uint64); put(element, number): the inverse, rounded to nearest;
// - Size and quotient(i, size): i / size;
// - report(fault, index, place, size): element `place` of the indices is `index`, which names none
// of
//   the `size` elements of an axis; it becomes an error of the run;
// - Walk<rank> and at(i, walk): where element i of a row-major walk stands;
// - the functions that expression.h calls.
// Index: an unsigned integer that counts elements; of 64 bits if `is_wide`, else for less than
// 2^31.
std::string prelude(bool is_wide);

// Those functions.
const char* float_functions();

// The stored type: "float", "Half", "signed char". qint8 is "signed char" or "unsigned char".
const char* stored_type(DataType type, bool is_signed = false);
// get() gives a float.
bool is_narrow_float(DataType type);
// The type of get(): "float", "double", "long long", "unsigned long long".
const char* number_type(DataType type);

}  // namespace softneuro::cuda
