#include "core/routine/precision.h"

#include <algorithm>
#include <iterator>

namespace softneuro {
namespace {

// Arithmetic that has a name of its own.
struct NamedArithmetic {
  const char* name = "";
  Precision precision;
  DataType digits = DataType::undefined;
};
constexpr NamedArithmetic kNamed[] = {
    {"tf32", {Arithmetic::tf32, DataType::float32}, DataType::float16},
};

const NamedArithmetic* find(const Precision& precision) {
  const auto* const found = std::ranges::find(kNamed, precision, &NamedArithmetic::precision);
  return found == std::end(kNamed) ? nullptr : found;
}

}  // namespace

const char* to_string(const Precision& precision) {
  const NamedArithmetic* const named = find(precision);
  return named != nullptr ? named->name : to_string(precision.type);
}

std::optional<Precision> parse_precision(std::string_view name) {
  if (const DataType type = parse_data_type(name); type != DataType::undefined) return type;
  for (const NamedArithmetic& named : kNamed)
    if (name == named.name) return named.precision;
  return {};
}

DataType digits_of(const Precision& precision) {
  const NamedArithmetic* const named = find(precision);
  return named != nullptr ? named->digits : precision.type;
}

}  // namespace softneuro
