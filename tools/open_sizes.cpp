#include "open_sizes.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace softneuro::tool {
namespace {

using Sizes = std::map<std::string, std::int64_t>;  // by symbol

void bind_symbols(const DynamicShape& open, const Shape& given, Sizes& sizes) {
  if (!open.ranked() || open.dims().size() != static_cast<std::size_t>(given.rank())) return;
  for (std::size_t axis = 0; axis < open.dims().size(); ++axis)
    if (const Dim& dim = open.dims()[axis]; !dim.known() && !dim.symbol.empty())
      sizes.emplace(dim.symbol, given[static_cast<int>(axis)]);
}

std::optional<std::int64_t> size_of(const Dim& dim, const Sizes& sizes) {
  if (dim.known()) return dim.value;
  const auto bound = sizes.find(dim.symbol);
  if (dim.symbol.empty() || bound == sizes.end()) return std::nullopt;
  return bound->second;
}

// The symbols of `open` that have no size; "its rank (the whole shape)" if even that is open.
std::string unbound(const DynamicShape& open, const Sizes& sizes) {
  if (!open.ranked()) return "its rank (the whole shape)";
  std::string symbols;
  for (const Dim& dim : open.dims())
    if (!size_of(dim, sizes))
      symbols += (symbols.empty() ? "" : ", ") + (dim.symbol.empty() ? "?" : dim.symbol);
  return symbols;
}

// What the given shapes bind.
Sizes given_sizes(std::span<const TensorInfo> inputs, const NamedShapes& shapes) {
  Sizes sizes;
  for (const TensorInfo& input : inputs)
    if (const auto given = shapes.find(input.name); given != shapes.end())
      bind_symbols(input.shape, given->second, sizes);
  return sizes;
}

}  // namespace

void complete_shapes_from(const NamedShapes& tuned, std::span<const TensorInfo> inputs,
                          NamedShapes& shapes) {
  const Sizes sizes = given_sizes(inputs, shapes);
  for (const TensorInfo& input : inputs) {
    const auto known = tuned.find(input.name);
    if (shapes.count(input.name) > 0 || known == tuned.end() || input.shape.is_static() ||
        !input.shape.ranked() ||
        input.shape.dims().size() != static_cast<std::size_t>(known->second.rank()))
      continue;
    Shape shape;
    for (std::size_t axis = 0; axis < input.shape.dims().size(); ++axis)
      shape.push_back(
          size_of(input.shape.dims()[axis], sizes).value_or(known->second[static_cast<int>(axis)]));
    shapes[input.name] = shape;
  }
}

OpenSizes complete_shapes(std::span<const TensorInfo> inputs, NamedShapes& shapes) {
  constexpr std::int64_t kBatch = 1;
  OpenSizes result;
  Sizes sizes = given_sizes(inputs, shapes);

  std::string batches;
  for (const TensorInfo& input : inputs) {
    if (shapes.count(input.name) > 0 || !input.shape.ranked() || input.shape.dims().empty())
      continue;
    const Dim& first = input.shape.dims().front();
    if (size_of(first, sizes)) continue;
    if (!first.symbol.empty()) sizes.emplace(first.symbol, kBatch);
    batches += fmt::format("{}'{}' {}", batches.empty() ? "" : ", ", input.name, input.shape.str());
  }

  std::string example;
  for (const TensorInfo& input : inputs) {
    if (input.shape.is_static() || shapes.count(input.name) > 0) continue;
    Shape shape;
    bool complete = input.shape.ranked();
    for (std::size_t axis = 0; complete && axis < input.shape.dims().size(); ++axis) {
      const Dim& dim = input.shape.dims()[axis];
      const auto size = axis == 0 ? size_of(dim, sizes).value_or(kBatch) : size_of(dim, sizes);
      complete = size.has_value();
      if (complete) shape.push_back(*size);
    }
    if (complete) {
      shapes[input.name] = shape;
      if (example.empty()) example = input.name;
      continue;
    }
    result.missing += fmt::format("{}input '{}' is {}: give --shape '{}=…' for {}",
                                  result.missing.empty() ? "" : "; ", input.name, input.shape.str(),
                                  input.name, unbound(input.shape, sizes));
  }
  if (!batches.empty() && result.missing.empty())
    result.batch = fmt::format("dynamic batch size of {}: 1 is used (--shape '{}=…' sets another)",
                               batches, example);
  return result;
}

}  // namespace softneuro::tool
