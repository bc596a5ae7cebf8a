// cast cpu/direct: one loop per pair of the common data types; 16-bit floats by vectors.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunk = 8192;  // elements

// As from_double, from the source's own type: truncates, saturates, NaN gives 0.
template <class To, class From>
To convert_one(From value) noexcept {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::lowest());
    // The first number beyond, a power of two: exact in From, unlike the largest To.
    constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
    constexpr From kBeyond = static_cast<From>(kHalf) * 2;
    if (value != value) return 0;
    if (value <= kLow) return std::numeric_limits<To>::lowest();
    return value >= kBeyond ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

using Convert = void (*)(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept;

template <class From, class To>
void convert(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept {
  const From* from = static_cast<const From*>(x) + offset;
  To* to = static_cast<To*>(y) + offset;
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert_one<To>(from[i]);
}

template <class From>
void to_boolean(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept {
  const From* from = static_cast<const From*>(x) + offset;
  std::uint8_t* to = static_cast<std::uint8_t*>(y) + offset;
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

template <std::size_t size>
void copy(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept {
  const auto at = static_cast<std::size_t>(offset) * size;
  if (x != y)
    std::memcpy(static_cast<char*>(y) + at, static_cast<const char*>(x) + at,
                static_cast<std::size_t>(count) * size);
}

template <DataType type>
void from_16_bits(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept {
  float_spans().load(type, static_cast<const std::uint16_t*>(x) + offset,
                     static_cast<float*>(y) + offset, count);
}
template <DataType type>
void to_16_bits(const void* x, void* y, std::int64_t offset, std::int64_t count) noexcept {
  float_spans().store(type, static_cast<const float*>(x) + offset,
                      static_cast<std::uint16_t*>(y) + offset, count);
}

template <class From>
Convert converter_from(DataType to) {
  switch (to) {
    case DataType::float32:
      return convert<From, float>;
    case DataType::float64:
      return convert<From, double>;
    case DataType::int8:
      return convert<From, std::int8_t>;
    case DataType::uint8:
      return convert<From, std::uint8_t>;
    case DataType::int32:
      return convert<From, std::int32_t>;
    case DataType::int64:
      return convert<From, std::int64_t>;
    case DataType::boolean:
      return to_boolean<From>;
    default:
      return nullptr;
  }
}

Convert copier(std::size_t size) {
  if (size == 1) return copy<1>;
  if (size == 2) return copy<2>;
  return size == 4 ? copy<4> : copy<8>;
}

// Null where there is no loop for the pair.
Convert converter(DataType from, DataType to) {
  if (from == to) return copier(size_of(from));
  switch (from) {
    case DataType::float32:
      if (to == DataType::float16) return to_16_bits<DataType::float16>;
      if (to == DataType::bfloat16) return to_16_bits<DataType::bfloat16>;
      return converter_from<float>(to);
    case DataType::float16:
      return to == DataType::float32 ? from_16_bits<DataType::float16> : nullptr;
    case DataType::bfloat16:
      return to == DataType::float32 ? from_16_bits<DataType::bfloat16> : nullptr;
    case DataType::float64:
      return converter_from<double>(to);
    case DataType::int8:
      return converter_from<std::int8_t>(to);
    case DataType::uint8:
    case DataType::boolean:  // 0 or 1
      return converter_from<std::uint8_t>(to);
    case DataType::int32:
      return converter_from<std::int32_t>(to);
    case DataType::int64:
      return converter_from<std::int64_t>(to);
    default:
      return nullptr;
  }
}

Applicability applicable(const Problem& problem) {
  if (converter(problem.inputs[0].type, problem.outputs[0].type) == nullptr)
    return Applicability::no(fmt::format("a cast from {} to {} is not supported",
                                         to_string(problem.inputs[0].type),
                                         to_string(problem.outputs[0].type)));
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_cast(const Problem& problem) {
  const DataType from = problem.inputs[0].type, to = problem.outputs[0].type;
  // Element over element of the same size; otherwise chunks would overtake each other.
  const Convert run = converter(from, to);
  const bool in_place = size_of(from) == size_of(to);
  return make_function_kernel({.in_place_input = in_place ? 0 : -1}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    parallel_chunks(
        context.pool(), x.elements(), kChunk,
        [&](std::int64_t begin, std::int64_t count) { run(x.data, y.data, begin, count); });
  });
}

}  // namespace

Status register_routine_cast_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"cast"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_cast});
}

}  // namespace softneuro
