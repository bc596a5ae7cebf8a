// Groups of data types that layer types accept, for InferContext::expect_type.
#pragma once

#include "softneuro/types.h"

namespace softneuro {

inline constexpr DataType kFloatTypes[] = {DataType::float32, DataType::float16, DataType::bfloat16,
                                           DataType::float64};
inline constexpr DataType kIntegerTypes[] = {DataType::int8,   DataType::uint8, DataType::int16,
                                             DataType::uint16, DataType::int32, DataType::uint32,
                                             DataType::int64,  DataType::uint64};
inline constexpr DataType kBoolean[] = {DataType::boolean};
// Of indices, axes, counts and shapes.
inline constexpr DataType kIndexTypes[] = {DataType::int64, DataType::int32};
// Floats and integers.
inline constexpr DataType kNumericTypes[] = {
    DataType::float32, DataType::float16, DataType::bfloat16, DataType::float64,
    DataType::int8,    DataType::uint8,   DataType::int16,    DataType::uint16,
    DataType::int32,   DataType::uint32,  DataType::int64,    DataType::uint64};

}  // namespace softneuro
