// What a routine computes in: a data type, or other arithmetic on tensors of one.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "softneuro/export.h"
#include "softneuro/types.h"

namespace softneuro {

// What products are computed in. What is not a sum of products is computed in the tensors' type.
enum class Arithmetic : std::uint8_t {
  of_type,  // that of the tensors' type: nothing else is rounded
  tf32,     // float32 tensors; factors are rounded to eleven significant bits
};

// What stands for a data type in a routine's name: "float32", "float16", "tf32".
struct Precision {
  DataType type = DataType::float32;  // of real-valued tensors
  Arithmetic arithmetic = Arithmetic::of_type;

  constexpr Precision() = default;
  constexpr Precision(DataType of) : type(of) {}  // NOLINT: implicit
  constexpr Precision(Arithmetic of, DataType tensors) : type(tensors), arithmetic(of) {}
  constexpr auto operator<=>(const Precision&) const = default;
};
// Static.
SN_INTREE const char* to_string(const Precision& precision);
// The inverse; nothing for other names.
SN_INTREE std::optional<Precision> parse_precision(std::string_view name);
// The data type that has as many significant digits.
SN_INTREE DataType digits_of(const Precision& precision);

}  // namespace softneuro
